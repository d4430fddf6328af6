"""The events that a command's result asks to send."""

from typing import Any

import pytest

from sereno.mailbox.exec import Emission, events_in
from sereno.mailbox.worker import Release

WRITTEN = {"type": "com.example.report.written", "data": {"pages": 3}, "subject": "week 12"}


@pytest.mark.parametrize(
    ("result", "events"),
    [
        ("text", []),
        ({"report": 1}, []),
        ({"emit": []}, []),
        ({"emit": WRITTEN}, [Emission("com.example.report.written", {"pages": 3}, "week 12")]),
        ({"emit": [{"type": "a"}, {"type": "b"}]}, [Emission("a", None, None), Emission("b", None, None)]),
    ],
)
def test_events_are_read_from_an_object(result: object, events: list[Emission]) -> None:
    assert events_in(result) == events


@pytest.mark.parametrize(
    "emit",
    [
        "text",
        7,
        [7],
        [{}],
        [{"type": ""}],
        [{"type": "a", "source": "forged"}],
        [{"type": "a", "subject": 1}],
    ],
)
def test_what_is_no_event_is_a_failure_that_says_where(emit: Any) -> None:
    with pytest.raises(Release, match=r"^failed: emit\[0\]: expected an object"):
        events_in({"emit": emit})
