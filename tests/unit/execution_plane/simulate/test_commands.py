"""What the commands over history refuse before they ask anybody."""

import pytest

from sereno.execution_plane.simulate.calibrate_command import calibrate_subscription
from sereno.execution_plane.simulate.command import simulate
from sereno.mailbox.cli.exits import CommandError


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "expected --against-history"),
        ({"against_history": True, "zone": "Mars"}, "--zone: expected an IANA time zone"),
        ({"against_history": True, "zone": "../etc"}, "--zone: expected an IANA time zone"),
        ({"against_history": True, "from_": "yesterday"}, "--from: expected an instant"),
    ],
)
def test_calibrate_says_what_it_expected(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        calibrate_subscription("watch", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("both", [True, False])
def test_a_simulation_has_one_source_of_events(both: bool) -> None:
    from pathlib import Path

    with pytest.raises(CommandError, match="either --events FILE or --against-history"):
        simulate(
            subscriptions=Path("none.yaml"),
            events=Path("none.jsonl") if both else None,
            against_history=both,
        )
