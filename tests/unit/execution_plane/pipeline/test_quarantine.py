"""Which faults set an event apart, and which are an engine's and pass."""

import asyncpg
import pytest

from sereno.execution_plane.pipeline.quarantine import is_fault_of_data


@pytest.mark.parametrize(
    "fault",
    [
        asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress"),
        asyncpg.InterfaceError("the connection is closed"),
        asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
        asyncpg.DeadlockDetectedError("deadlock detected"),
        asyncpg.DiskFullError("no space left on device"),
        ConnectionResetError(),
        TimeoutError(),
    ],
)
def test_an_engine_that_fails_sets_no_event_apart(fault: Exception) -> None:
    assert not is_fault_of_data(fault)


@pytest.mark.parametrize(
    "fault",
    [
        asyncpg.UntranslatableCharacterError("unsupported Unicode escape sequence"),
        asyncpg.ProgramLimitExceededError("index row size 5000 exceeds btree version 4 maximum 2704"),
        asyncpg.DataError("invalid input for query argument $1"),
        KeyError("data"),
    ],
)
def test_what_would_fail_again_sets_the_event_apart(fault: Exception) -> None:
    assert is_fault_of_data(fault)
