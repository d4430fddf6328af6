"""A free port is kept for whoever is told of it, and for nobody else."""

import socket

import pytest

from sereno.deploy.ports import LOOPBACK, free_port, is_free


def test_the_system_gives_a_kept_port_to_nobody_else() -> None:
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    for port in ports:
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind((LOOPBACK, port))


def test_whoever_is_told_of_it_listens_there_again_and_again() -> None:
    port = free_port()
    for _ in range(3):
        assert is_free(port)
        with (
            socket.create_server((LOOPBACK, port)) as server,
            socket.create_connection((LOOPBACK, port)) as client,
        ):
            accepted, _ = server.accept()
            with accepted:
                accepted.sendall(b"here")
                assert client.recv(4) == b"here"
            assert not is_free(port)


def test_nobody_answers_on_a_kept_port() -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, free_port()))
