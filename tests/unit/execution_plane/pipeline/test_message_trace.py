"""The place of a message in the trace of its cause: named by the message, below the event that led to it."""

from dataclasses import replace
from uuid import UUID

import pytest

from sereno.envelope.encode import flat
from sereno.execution_plane.guards import Ledger, Moment
from sereno.execution_plane.guards.keyed import activation_of
from sereno.execution_plane.pipeline.traced import activation_at
from sereno.execution_plane.pipeline.wake_up import Told, _trace, message_of
from tests.passages import NOON, received, subscription

KEPT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
LEFT_OUT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
MESSAGE = UUID("0190a1b2-71f4-7123-8456-612345678901")
SPAN = "8456612345678901"


def test_a_message_goes_on_in_the_trace_of_its_event() -> None:
    envelope = replace(received(), traceparent=KEPT, tracestate="a=b")
    policy = subscription()
    passage = Ledger().decide(
        activation_of(envelope, flat(envelope), policy, "arrival"), policy, Moment(NOON)
    )
    message = message_of(passage, flat(envelope), Told())
    below = f"{KEPT[:36]}{message.id.hex[16:]}-01"
    assert message.context["trace"] == {"traceparent": below, "tracestate": "a=b"}


@pytest.mark.parametrize(
    ("causes", "trace"),
    [
        ([None], {}),
        (["00-0", None], {}),
        ([LEFT_OUT], {"traceparent": f"{LEFT_OUT[:36]}{SPAN}-00"}),
        ([None, KEPT, LEFT_OUT, "00-0"], {"traceparent": f"{KEPT[:36]}{SPAN}-01"}),
    ],
)
def test_of_several_causes_the_last_that_is_kept_counts(
    causes: list[str | None], trace: dict[str, str]
) -> None:
    assert _trace(MESSAGE, [{} if one is None else {"traceparent": one} for one in causes]) == trace


def test_an_activation_without_a_message_is_found_by_its_names() -> None:
    place = activation_at(KEPT, "r-1", "watch")
    assert place == activation_at(KEPT, "r-1", "watch")
    assert place[:36] == KEPT[:36]
    assert len({place, activation_at(KEPT, "r-1", "other"), activation_at(KEPT, "r-2", "watch")}) == 3
