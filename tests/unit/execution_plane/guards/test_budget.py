"""Budgets: given what was used, when one more activation comes, then whether there is room; and what reports change."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.execution_plane.guards import Ledger, Moment, rights
from sereno.execution_plane.guards.account import ACTIVATIONS, Account, Limit, Scope
from sereno.execution_plane.guards.budget import Budgets, Line, Reservation, bury, exceeded, refund, settle
from sereno.execution_plane.guards.tenancy import Tenancy, budgets_of
from sereno.execution_plane.guards.usage import cost_of
from sereno.subscriptions.models.limits import Budget
from sereno.subscriptions.rate import Money
from tests.passages import NOON, activation, received, subscription

UTC_ZONE = ZoneInfo("UTC")
MESSAGE = UUID(int=1)


def money(text: str) -> Money:
    amount, currency = text.split()
    return Money(Decimal(amount), currency)


def limit(measure: str, amount: str, reserve: str, scope: Scope = "subscription") -> Limit:
    return Limit(scope, "watch", measure, "day", Decimal(amount), Decimal(reserve))


def budgets(*limits: Limit) -> Budgets:
    return Budgets("acme", UTC_ZONE, limits)


def used(of: Budgets, *amounts: str) -> Mapping[Account, Decimal]:
    return {entry.account: Decimal(amount) for entry, amount in zip(of.entries(NOON), amounts, strict=True)}


COUNT, COST = limit(ACTIVATIONS, "3", "1"), limit("EUR", "0.50", "0.30")


@pytest.mark.req(102)
@pytest.mark.parametrize(
    ("limits", "taken", "over"),
    [
        ((COUNT,), ("0",), None),
        ((COUNT,), ("2",), None),
        ((COUNT,), ("3",), COUNT),
        ((COST,), ("0",), None),
        ((COST,), ("0.20",), None),
        ((COST,), ("0.21",), COST),
        ((COST,), ("5.11",), COST),
        ((limit("EUR", "1", "0"),), ("1",), limit("EUR", "1", "0")),
        ((COUNT, COST), ("3", "0.5"), COUNT),
        ((COUNT, COST), ("0", "0.5"), COST),
    ],
)
def test_the_first_limit_without_room_is_named(
    limits: tuple[Limit, ...], taken: tuple[str, ...], over: Limit | None
) -> None:
    of = budgets(*limits)
    found = exceeded(of, used(of, *taken), NOON)
    assert (None if found is None else found.limit) == over


def test_another_period_is_another_account() -> None:
    of = budgets(COUNT)
    tomorrow = datetime(2026, 3, 3, tzinfo=UTC)
    assert exceeded(of, used(of, "3"), NOON) is not None
    assert exceeded(of, used(of, "3"), tomorrow) is None


def reserved(*lines: tuple[Limit, str]) -> Reservation:
    of = budgets(*(one for one, _ in lines))
    return Reservation(
        "acme",
        MESSAGE,
        tuple(
            Line(entry.account, Decimal(amount))
            for entry, (_, amount) in zip(of.entries(NOON), lines, strict=True)
        ),
    )


BOTH = reserved((COUNT, "1"), (COST, "0.30"))


@pytest.mark.parametrize(
    ("reports", "cost", "foreign"),
    [
        (("0.05 EUR",), "0.05", ()),
        (("0.30 EUR",), "0.30", ()),
        (("5.11 EUR",), "5.11", ()),
        (("0 EUR",), "0", ()),
        (("0.05 EUR", "0.10 EUR"), "0.15", ()),
        (("0.05 USD",), "0.30", ("0.05 USD",)),
        (("0.05 USD", "0.10 EUR"), "0.10", ("0.05 USD",)),
        ((), "0.30", ()),
    ],
)
def test_reports_replace_the_reserve_and_another_currency_leaves_it(
    reports: tuple[str, ...], cost: str, foreign: tuple[str, ...]
) -> None:
    account = BOTH.lines[1].account
    stands, reservation, strange = BOTH.lines[1].amount, BOTH, []
    for report in reports:
        settlement = settle(reservation, [money(report)])
        stands += sum(line.amount for line in settlement.lines if line.account == account)
        reservation = settlement.reservation
        strange += [str(one) for one in settlement.foreign]
    assert stands == Decimal(cost)
    assert tuple(strange) == foreign


@pytest.mark.parametrize(
    ("reported", "activations", "cost"),
    [((), "-1", "-0.30"), (("0.05 EUR",), None, None), (("0.50 EUR",), None, None)],
)
def test_a_dead_message_gives_back_what_was_not_used(
    reported: tuple[str, ...], activations: str | None, cost: str | None
) -> None:
    """What was used stays counted, the activation with it; one that nobody worked on is given back whole."""
    after = settle(BOTH, [money(one) for one in reported]).reservation
    given_back = {line.account.measure: line.amount for line in bury(after).lines}
    assert given_back.get(ACTIVATIONS) == (None if activations is None else Decimal(activations))
    assert given_back.get("EUR") == (None if cost is None else Decimal(cost))


def test_a_merge_gives_all_of_it_back() -> None:
    assert [line.amount for line in refund(BOTH).lines] == [Decimal(-1), Decimal("-0.30")]
    after = settle(BOTH, [money("0.05 EUR")]).reservation
    assert [line.amount for line in refund(after).lines] == [Decimal(-1), Decimal("-0.05")]


@pytest.mark.req(102, 175)
@given(
    st.lists(
        st.tuples(st.sampled_from(["wake", "report", "die", "merge"]), st.integers(0, 5), st.integers(0, 40)),
        max_size=60,
    )
)
def test_no_interleaving_of_reservations_overshoots(steps: list[tuple[str, int, int]]) -> None:
    """At every admission what is reserved and reported fits; only a report may go beyond what its run reserved."""
    budget = Budget.model_validate(
        {"activations": "8/day", "cost": {"limit": "1.00 EUR/day", "reserve": "0.30 EUR"}}
    )
    tenancy = Tenancy(budget=Budget.model_validate({"activations": "12/day"}))
    names = [subscription(f"s-{n}", tenancy=tenancy, agent_budget=budget) for n in range(3)]
    ledger, live = Ledger(), []
    for number, (step, which, cents) in enumerate(steps):
        if step == "wake":
            watch = names[which % 3]
            before = dict(ledger.budgets)
            said = ledger.decide(activation(received(number), watch), watch, Moment(NOON))
            if said.decided.message is not None:
                live.append(said.decided.message)
                _assert_room_before(before, watch.budgets)
            ledger.suspensions.clear()
        elif live:
            message = live[which % len(live)]
            if step == "report":
                ledger.report(message, [Money(Decimal(cents) / 100, "EUR")])
            elif step == "die":
                ledger.bury(message)
            else:
                reservation = ledger.reservations.get(message)
                if reservation is not None:
                    for line in refund(reservation).lines:
                        ledger.budgets[line.account] += line.amount
                    del ledger.reservations[message]
    assert all(amount >= 0 for amount in ledger.budgets.values())


def _assert_room_before(before: Mapping[Account, Decimal], of: Budgets | None) -> None:
    assert of is not None
    for entry in of.entries(NOON):
        assert before.get(entry.account, Decimal()) + entry.limit.reserve <= entry.limit.amount


def test_one_activation_takes_the_nearest_reserve_at_every_level() -> None:
    near = Budget.model_validate({"cost": {"limit": "1.00 EUR/day", "reserve": "0.10 EUR"}})
    far = Budget.model_validate({"cost": {"limit": "9.00 EUR/month"}})
    tenancy = Tenancy(budget=far, reserve=money("0.40 EUR"))
    found = budgets_of(tenancy, "acme", subscription=("s", near), agent=("a", far))
    assert found is not None
    assert [(one.scope, str(one.reserve)) for one in found.limits] == [
        ("subscription", "0.10"),
        ("agent", "0.10"),
        ("tenant", "0.10"),
    ]
    default = budgets_of(tenancy, "acme", subscription=("s", None), agent=("a", far))
    assert default is not None
    assert {str(one.reserve) for one in default.limits} == {"0.40"}


@pytest.mark.req(115, 153)
def test_guard_three_names_scope_amount_and_period() -> None:
    watch = subscription(limits={"budget": {"activations": "1/day"}})
    ledger = Ledger()
    ledger.decide(activation(received(1), watch), watch, Moment(NOON))
    said = ledger.decide(activation(received(2), watch), watch, Moment(NOON))
    assert (said.decided.outcome, said.decided.guard, said.decided.reason) == (
        "suspended",
        "rights",
        "budget",
    )
    numbers = said.decided.numbers
    assert (numbers["scope"], numbers["used"], numbers["limit"]) == ("subscription", "1", "1/day")
    assert numbers["period_ends"] == datetime(2026, 3, 3, tzinfo=UTC)
    assert rights.decide.__doc__


@pytest.mark.parametrize(
    ("usage", "currency", "expected"),
    [
        (None, None, ()),
        ({}, None, ()),
        ({"tokens": 12}, "EUR", ()),
        ({"cost": "0.42 EUR"}, None, ("0.42 EUR",)),
        ({"cost": {"amount": "0.42", "currency": "EUR"}}, None, ("0.42 EUR",)),
        ({"cost": 0.42, "currency": "EUR"}, None, ("0.42 EUR",)),
        ({"cost": 0.42}, "EUR", ("0.42 EUR",)),
        ({"cost": ["0.42 EUR", "1 USD"]}, None, ("0.42 EUR", "1 USD")),
    ],
)
def test_what_a_report_says_it_cost(
    usage: dict[str, object] | None, currency: str | None, expected: tuple[str, ...]
) -> None:
    assert tuple(map(str, cost_of(usage, currency))) == expected


@pytest.mark.parametrize(
    "cost",
    [
        True,
        -1,
        "much",
        "0.42 XYZ",
        {"amount": 1},
        {"amount": "x", "currency": "EUR"},
        float("nan"),
        float("inf"),
    ],
)
def test_a_cost_that_is_none_is_refused(cost: object) -> None:
    with pytest.raises(ValueError, match=r"expected|unknown currency"):
        cost_of({"cost": cost})
