"""The tests that policies bring along, asked over the shipped policies and all of theirs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sereno.subscriptions.models.policy import PolicySpec, PolicyTest
from sereno.subscriptions.policy.authority import (
    Asking,
    Wake,
    may,
    may_activate,
    may_observe,
    may_wake,
    of_approval,
    of_subscription,
)
from sereno.subscriptions.policy.decision import Decision, Resource
from sereno.subscriptions.policy.facts import Agent, Facts, Grant, Person
from sereno.subscriptions.policy.text import PolicyText, default

# No rule of the shipped policies looks at the clock, and a tenant's cannot: grants that are asked about are live.
_AT = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Trial:
    """One test with what was answered."""

    name: str
    question: str
    expected: str
    answer: str
    passed: bool

    def shown(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "policy": self.name,
            "question": self.question,
            "expected": self.expected,
            "answer": self.answer,
            "passed": self.passed,
        }


def trials(specs: Sequence[tuple[str, PolicySpec]]) -> list[Trial]:
    """Every test of every policy, asked with all of them in force."""
    policy = default().adding(*(spec.cedar for _, spec in specs))
    return [_trial(name, test, policy) for name, spec in specs for test in spec.tests]


def _trial(name: str, test: PolicyTest, policy: PolicyText) -> Trial:
    decision = _asked(_facts(test, policy), test)
    answer = "allow" if decision.allowed else "deny"
    expected = test.expect + (f" by {test.rule}" if test.rule else "")
    passed = answer == test.expect and test.rule in {None, decision.rule}
    return Trial(name, _question(test), expected, f"{answer} by {decision.rule}", passed)


def _facts(test: PolicyTest, policy: PolicyText) -> Facts:
    names = {
        name.removeprefix("agent:") for name in (test.agent, test.who) if name and name.startswith("agent:")
    }
    people = {test.who: Person(test.who, test.kind, frozenset(test.roles), "active")}
    grants = [
        Grant(
            thing,
            test.who,
            thing.removeprefix("agent:") if thing.startswith("agent:") else None,
            None if thing.startswith("agent:") else thing,
            frozenset({"use", "wake"}),
            None,
            None,
        )
        for thing in test.granted
    ]
    agents = {name: Agent(name, "", suspended=False, self_subscribes=test.enabled) for name in names}
    return Facts(policy, people, agents, tuple(grants))


def _asked(facts: Facts, test: PolicyTest) -> Decision:
    asking = Asking(test.who, _AT)
    owner = test.owner or test.who
    wake = Wake((test.agent or "agent:").removeprefix("agent:"), test.source or "time", test.types, test.mode)
    match test.can:
        case "wake":
            return may_wake(facts, asking, wake, capacity=test.capacity)
        case "observe":
            return may_observe(facts, asking, wake)
        case "activate":
            return may_activate(facts, asking, "tested", owner, wake, edit=test.edit, widens=test.widens)
        case "approve":
            return may(
                facts,
                asking,
                "approve",
                of_approval("tested", test.asked_by or "user:another", "subscription"),
            )
        case action:
            resource = of_subscription("tested", owner) if test.owner else Resource("Tenant", "tested")
            return may(facts, asking, action, resource)


def _question(test: PolicyTest) -> str:
    about = [part for part in (test.agent, test.source, *test.types) if part]
    return " ".join((test.who, test.can, *about))
