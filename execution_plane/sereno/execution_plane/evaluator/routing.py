"""Routing: which evaluators may see an item, and which one is asked next."""

from collections.abc import Sequence

from sereno.execution_plane.evaluator.declared import DeclaredEvaluator
from sereno.execution_plane.evaluator.item import Item


def permitted(
    evaluators: Sequence[DeclaredEvaluator], items: Sequence[Item]
) -> tuple[DeclaredEvaluator, ...]:
    """Those that may be asked, in the order declared: what is confidential goes only to local ones."""
    confidential = any(item.sensitivity == "confidential" for item in items)
    return tuple(evaluator for evaluator in evaluators if evaluator.egress == "local" or not confidential)


def fallback(evaluators: Sequence[DeclaredEvaluator], failed: DeclaredEvaluator) -> DeclaredEvaluator | None:
    """Who is asked instead of a remote evaluator that could not be reached: the first local one, if any is declared."""
    if failed.egress == "local":
        return None
    return next((evaluator for evaluator in evaluators if evaluator.egress == "local"), None)
