"""Ten thousand random questions, each asked twice over policies read anew: every answer is the same."""

import random
import sys

from sereno.subscriptions.policy import decision
from sereno.subscriptions.policy.decision import ROLES, Decision, Question, Resource, Subject, decide
from sereno.subscriptions.policy.text import default

QUESTIONS = 10_000


def question(chance: random.Random) -> Question:
    """One question about waking, with everything about it by chance."""

    def flip() -> bool:
        return chance.random() < 0.5

    subject = Subject(
        f"user:{chance.randrange(50)}",
        chance.choice(["human", "service", "node"]),
        frozenset(role for role in ROLES if flip()),
        suspended=flip(),
        wakes=frozenset({"triage"} if flip() else ()),
        uses=frozenset({"triage"} if flip() else ()),
    )
    resource = Resource("Agent", "triage", {"suspended": flip(), "self_subscribes": flip()})
    names = ("own_tenant", "in_scope", "denied", "capacity")
    context: dict[str, bool | str] = {name: flip() for name in names}
    return Question(subject, "wake", resource, {**context, "family": "time", "type": ""})


def answers() -> list[Decision]:
    """Every answer, by policies that are parsed for this round."""
    decision._parsed.cache_clear()
    chance = random.Random(8)
    return [decide(default(), question(chance)) for _ in range(QUESTIONS)]


def main() -> None:
    first, second = answers(), answers()
    different = sum(one != other for one, other in zip(first, second, strict=True))
    allowed = sum(one.allowed for one in first)
    sys.stdout.write(
        f"{QUESTIONS:,} questions asked twice: {different} answered differently, {allowed} allowed\n"
    )
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
