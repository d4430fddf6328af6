"""Guard 4: two wake-ups of one subscription are at least its cooldown apart."""

from sereno.execution_plane.guards.passage import Number, Passage


def cooldown(passage: Passage) -> Passage:
    """Object with `cooldown` before the interval since the last delivery is over (recorded clock, seconds)."""
    every, last = passage.subscription.cooldown, passage.given.state.last_delivered
    if every is None:
        return passage.is_not_asked("cooldown")
    if last is None:
        return passage.passes("cooldown", {"every_seconds": every.total_seconds()})
    since, ends = passage.given.clock.recorded - last, last + every
    numbers: dict[str, Number] = {
        "every_seconds": every.total_seconds(),
        "since_last_seconds": since.total_seconds(),
        "last_delivered": last,
        "ends": ends,
    }
    if passage.given.clock.recorded < ends:
        return passage.objects("cooldown", "dropped", "cooldown", numbers)
    return passage.passes("cooldown", numbers)
