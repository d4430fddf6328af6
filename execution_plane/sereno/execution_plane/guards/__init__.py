"""The guards: seven pure functions that decide whether one event may wake one agent, and say why.

How state flows. A shell loads the rows that bear on a round of arrivals into a `Ledger`: subscription_state (`Memory`),
subject_state (`SubjectMemory`), dedup (`Occurrence`), budget (amount by `Account`), open_batch (`OpenBatch`, by `put`),
suspension (`Suspension`), evaluation_patience (`Patience`), the stops that stand, and how many messages are open for
subscriptions that ask for it. `Ledger.decide` makes of them the `GuardState` of one activation and sends that through
`order.run`: each guard is a function `decide(state, activation, policy, now) -> Verdict` that reads values and changes
nothing. From the decided `Passage` `effects.of_passage` derives `changes`: one frozen value a row to write. The ledger
evolves by them, so that the next event of the round is decided on what the one before left, and the shell writes the
same values, grouped by kind, in the transaction of the decision. `Ledger.flush` does the same for a batch that is due.
Rows are locked in the order subscription_state, dedup, budget, open_batch, each kind in key order.

A simulation keeps one ledger for all of its virtual time; nothing else is different.
"""

from sereno.execution_plane.guards.activation import Activation, Reading
from sereno.execution_plane.guards.ledger import Ledger, Moment
from sereno.execution_plane.guards.order import GUARDS, run
from sereno.execution_plane.guards.passage import Decision, Given, Passage
from sereno.execution_plane.guards.state import GuardState, Occurrence
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.verdict import Verdict

__all__ = [
    "GUARDS",
    "Activation",
    "Decision",
    "Given",
    "GuardState",
    "Ledger",
    "Moment",
    "Occurrence",
    "Passage",
    "Reading",
    "Subscription",
    "Verdict",
    "run",
]
