"""What travels, what is withheld, and that nothing is shared between tenants or classes."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sereno.envelope.event import Event
from sereno.envelope.receipt import Receipt, receive
from sereno.execution_plane.large_data.claim_check import INLINE_BYTES, address, is_reference, withhold

KEY = b"k" * 32
EVENT = Event(id="1", source="/s", type="t", datacontenttype="text/plain", data="x" * (INLINE_BYTES + 1))
RECEIPT = Receipt(
    receiptid="r",
    tenantid="acme",
    origin="webhook/hub",
    recordedtime=datetime(2027, 1, 1, tzinfo=UTC),
    dedupkey="d",
    trust="untrusted",
)


def test_data_up_to_the_limit_travels() -> None:
    envelope = receive(replace(EVENT, data="x" * INLINE_BYTES), RECEIPT)
    assert withhold(envelope, KEY) == (envelope, None)


def test_larger_data_is_replaced_by_a_reference_and_kept_whole() -> None:
    envelope, kept = withhold(receive(EVENT, RECEIPT), KEY)
    assert kept is not None
    assert (envelope.data, envelope.dataref) == (None, kept.reference)
    assert (kept.tenant, kept.sensitivity, kept.media_type) == ("acme", "unclassified", "text/plain")
    assert kept.data == str(EVENT.data).encode()
    assert is_reference(kept.reference)
    assert withhold(receive(EVENT, RECEIPT._replace(receiptid="other")), KEY)[1] == kept


@pytest.mark.req(321)
def test_equal_data_of_two_tenants_or_classes_has_nothing_in_common() -> None:
    data = b"the same"
    addresses = {
        address(key, tenant, sensitivity, data)
        for key in (KEY, b"j" * 32)
        for tenant in ("acme", "other")
        for sensitivity in ("internal", "confidential")
    }
    assert len(addresses) == 8


@pytest.mark.parametrize(
    ("data", "declared", "media_type"),
    [
        (b"\xff" * (INLINE_BYTES + 1), None, "application/octet-stream"),
        (["x" * INLINE_BYTES], None, "application/json"),
        ("x" * (INLINE_BYTES + 1), 'text/plain; title="\u00e9\u4e2d"', "application/octet-stream"),
    ],
)
def test_the_media_type_fits_a_header(data: object, declared: str | None, media_type: str) -> None:
    envelope = receive(replace(EVENT, data=data, datacontenttype=declared), RECEIPT)
    kept = withhold(envelope, KEY)[1]
    assert kept is not None
    assert kept.media_type == media_type
