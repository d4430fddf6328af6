"""A corrupt envelope of our own stream is a fault that names what is wrong."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from sereno.envelope.decode import loads_batch, loads_envelope
from sereno.envelope.encode import dumps, flat
from sereno.envelope.envelope import Envelope, EnvelopeFault
from sereno.envelope.event import Event
from sereno.envelope.receipt import Receipt, receive

AT = datetime(2027, 3, 4, 5, 6, 7, tzinfo=UTC)
ENVELOPE = receive(
    Event(id="1", source="/s", type="t", extensions={"hops": 99, "region": "eu"}),
    Receipt(
        receiptid="r", tenantid="acme", origin="platform", recordedtime=AT, dedupkey="k", trust="platform"
    ),
)


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        (b"", "is not JSON"),
        (b"{}", "is not a JSON array"),
        (b"[1]", "is corrupt"),
        (b"[{}]", "lacks specversion"),
    ],
)
def test_a_corrupt_batch(payload: bytes, sentence: str) -> None:
    with pytest.raises(EnvelopeFault, match=sentence):
        loads_batch(payload)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"specversion": "0.3"}, "its specversion is '0.3'"),
        ({"tenantid": None}, "its tenantid is None"),
        ({"hops": "3"}, "its hops is '3'"),
        ({"recordedtime": "soon"}, "isoformat"),
        ({"time": 5}, "fromisoformat"),
        ({"outside": "{"}, "corrupt"),
        ({"data_base64": "*"}, "corrupt"),
    ],
)
def test_a_corrupt_envelope(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EnvelopeFault, match=sentence):
        loads_envelope(flat(ENVELOPE) | change)


@pytest.mark.parametrize("name", ["id", "receiptid", "tenantid", "recordedtime", "dedupkey", "hops"])
@pytest.mark.req(42)
def test_an_envelope_without_an_attribute_of_ours_is_none(name: str) -> None:
    document = flat(ENVELOPE)
    del document[name]
    with pytest.raises(EnvelopeFault, match=f"lacks {name}"):
        loads_envelope(document)


def test_what_is_read_is_a_whole_frozen_envelope() -> None:
    read = loads_envelope(orjson.loads(dumps(ENVELOPE)))
    assert read == ENVELOPE
    assert all(getattr(read, name) == getattr(ENVELOPE, name) for name in Envelope.__dataclass_fields__)
    assert (read.outside, read.extensions) == ({"hops": 99}, {"region": "eu"})
    with pytest.raises(AttributeError):
        read.tenantid = "other"  # type: ignore[misc]
