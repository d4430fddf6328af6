"""The order of the guards: fixed, and the first that objects decides."""

from collections.abc import Callable

from sereno.execution_plane.guards.batching import batching
from sereno.execution_plane.guards.cooldown import cooldown
from sereno.execution_plane.guards.cycle import cycle
from sereno.execution_plane.guards.dedup import dedup
from sereno.execution_plane.guards.delivery import delivery
from sereno.execution_plane.guards.passage import GuardName, Passage
from sereno.execution_plane.guards.rights import rights
from sereno.execution_plane.guards.storm import storm

Guard = Callable[[Passage], Passage]

GUARDS: tuple[tuple[GuardName, Guard], ...] = (
    ("dedup", dedup),  #       did this occurrence come before?
    ("cycle", cycle),  #       is the agent itself among its causes?
    ("rights", rights),  #     may this subscription wake anybody now?
    ("cooldown", cooldown),  # did it wake too recently?
    ("batching", batching),  # should it wait for its like?
    ("delivery", delivery),  # into the mailbox
    ("storm", storm),  #       were there too many? (its verdict still comes before the write)
)


def run(passage: Passage) -> Passage:
    """The passage after all seven guards; those behind the first objection are recorded as not reached."""
    for name, guard in GUARDS:
        passage = guard(passage) if passage.is_open else passage.leaves_out(name)
    return passage
