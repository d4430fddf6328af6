"""Cost budgets that nobody says what one activation reserves of: they could not be kept under concurrency."""

from collections.abc import Iterable, Iterator, Mapping

from sereno.subscriptions.documents import Document
from sereno.subscriptions.faults import Fault
from sereno.subscriptions.models import AgentSpec, SubscriptionSpec, TenantSpec
from sereno.subscriptions.models.limits import Budget
from sereno.subscriptions.rate import Money


def without_reserve(documents: Iterable[Document], defaults: Mapping[str, Money | None]) -> Iterator[Fault]:
    """A fault for each cost limit without a reserve in a tenant whose default has another currency, or that has none.

    `defaults` are those of tenants in force; what the documents themselves declare comes first.
    """
    read = list(documents)
    declared = {d.tenant: d.spec.reserve for d in read if isinstance(d.spec, TenantSpec)}
    known = {**defaults, **declared}
    for document in read:
        path, budget = _budget(document)
        if budget is None or budget.cost is None or budget.cost.reserve is not None:
            continue
        currency, default = budget.cost.limit.money.currency, known.get(document.tenant)
        if default is None or default.currency != currency:
            yield document.fault(
                f"{path}.cost.reserve",
                f"required, such as 0.30 {currency}: the tenant {document.tenant} declares no default in {currency}",
            )


def _budget(document: Document) -> tuple[str, Budget | None]:
    if isinstance(document.spec, SubscriptionSpec):
        return "spec.limits.budget", document.spec.limits.budget
    if isinstance(document.spec, AgentSpec | TenantSpec):
        return "spec.budget", document.spec.budget
    return "spec", None
