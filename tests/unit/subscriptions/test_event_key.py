"""Keys of batches and serial queues: what an expression takes from an event."""

from typing import Any

import pytest

from sereno.subscriptions.event_key import compile_key
from sereno.subscriptions.expression import FilterFault

EVENT: dict[str, Any] = {
    "id": "e-1",
    "subject": "ticket/7",
    "data": {
        "customer": "c-7",
        "order": {"number": 12, "paid": True, "total": 1.5},
        "tags": ["a", "b"],
        "no": None,
    },
}


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("data.customer", "c-7"),
        ("subject", "ticket/7"),
        ("data.order.number", "12"),
        ("data.order.paid", "true"),
        ("data.order.total", "1.5"),
        ("data.missing", None),
        ("data.no", None),
        ("data.customer.deeper", None),
        ("data.customer + '/' + string(data.order.number)", "c-7/12"),
        ("data.missing + 'x'", None),
    ],
)
def test_a_key_is_text_or_absent(source: str, key: str | None) -> None:
    assert compile_key(source)(EVENT) == key


@pytest.mark.parametrize("source", ["data.tags", "data.order", "data.tags.map(t, t)"])
def test_what_makes_no_key_is_a_fault(source: str) -> None:
    with pytest.raises(FilterFault, match="expected text, a number or a truth value"):
        compile_key(source)(EVENT)


def test_a_long_key_stands_as_its_digest() -> None:
    key = compile_key("data.customer")({"data": {"customer": "x" * 300}})
    assert key is not None
    assert key.startswith("sha256:")
    assert len(key) == 71


def test_a_faulty_expression_is_refused_with_its_position() -> None:
    with pytest.raises(ValueError, match="CEL at 1:"):
        compile_key("data.customer ==")
