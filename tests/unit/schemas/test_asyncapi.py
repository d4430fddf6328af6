"""The AsyncAPI document names the subjects and streams that the code uses."""

import pytest

from sereno import schemas
from sereno.mailbox.engine import bus

DOCUMENT = schemas.read("nats.asyncapi")
HASH = "0" * 64


@pytest.mark.parametrize(
    ("channel", "values", "subject"),
    [
        ("ingress", {"tenant": "acme"}, bus.ingress_subject("acme")),
        ("reports", {"plane": "execution", "tenant": "acme"}, bus.report_subject("execution", "acme")),
        ("wake", {"tenant": "acme", "agent": "triage"}, bus.wake_subject("acme", "triage")),
        ("manifest", {"tenant": "acme"}, "$KV.sereno_manifests.manifest.acme"),
        ("blob", {"tenant": "acme", "sha256": HASH}, f"$KV.sereno_manifests.blob.acme.{HASH}"),
    ],
)
def test_addresses_are_the_subjects_of_the_bus(channel: str, values: dict[str, str], subject: str) -> None:
    described = DOCUMENT["channels"][channel]
    assert described["parameters"].keys() == values.keys()
    assert described["address"].format(**values) == subject


def test_every_stream_of_the_bus_is_described_as_it_is() -> None:
    described = [
        channel["x-jetstream"] for channel in DOCUMENT["channels"].values() if "x-jetstream" in channel
    ]
    assert [(one["stream"], one["subjects"], one["max_bytes"]) for one in described] == [
        (stream.name, stream.subjects, stream.max_bytes) for stream in bus.streams()
    ]


def test_every_operation_and_message_belongs_to_a_channel() -> None:
    assert DOCUMENT["operations"].keys() == DOCUMENT["channels"].keys()
    used = {name for channel in DOCUMENT["channels"].values() for name in channel["messages"]}
    assert used == DOCUMENT["components"]["messages"].keys()
