"""The one command that would give just the right that was missing, for who may give it."""

from sereno.subscriptions.policy.authority import Asking, Wake
from sereno.subscriptions.policy.decision import NO_RULE, NOBODY, Action, Decision, Role
from sereno.subscriptions.policy.facts import Facts

_ROLE_FOR: dict[str, Role] = {
    "read": "viewer",
    "audit": "auditor",
    "declare": "operator",
    "operate": "operator",
    "stop": "operator",
    "subscribe": "author",
    "approve": "approver",
    "attribute": "admin",
    "grant": "admin",
    "administer": "admin",
    "restart": "admin",
}


def remedy(
    facts: Facts, asking: Asking, action: Action, decision: Decision, wake: Wake | None = None
) -> str | None:
    """The command, or None where no command gives it: another person has to act, or another token is needed."""
    who = asking.principal
    if decision.rule == NOBODY:
        return (
            f"sereno agent list  # {who} is not declared"
            if who.startswith("agent:")
            else _declare(who, action)
        )
    if decision.rule == "principal-suspended":
        return f"sereno principal resume {who} --reason WHY"
    if wake is not None and decision.rule == "agent-suspended":
        return f"sereno agent resume {wake.agent} --reason WHY"
    if wake is not None and decision.rule == "standing-denial":
        return _lift(facts, who, wake)
    if decision.rule != NO_RULE:
        return None
    if action == "wake" and wake is not None:
        return (
            None if who.startswith("agent:") else f"sereno grants add --to {who} --agent agent:{wake.agent}"
        )
    if action == "observe" and wake is not None:
        return f"sereno grants add --to {who} --source {wake.source}"
    role = _ROLE_FOR.get(action)
    return f"sereno principal edit {who} --role {role}" if role and not who.startswith("agent:") else None


def _declare(who: str, action: str) -> str:
    return f"sereno principal add {who} --role {_ROLE_FOR.get(action, 'author')}"


def _lift(facts: Facts, who: str, wake: Wake) -> str | None:
    things = (f"agent:{wake.agent}", wake.source, *wake.types)
    names = [d.name for d in facts.denials if d.covers(things, (who, f"agent:{wake.agent}"))]
    return f"sereno grants remove {names[0]} --reason WHY" if names else None


def sentence(asking: Asking, what: str, decision: Decision, command: str | None) -> str:
    """Why not, by which rule, and what would change it."""
    hint = f"; what would allow it: {command}" if command else ""
    return (
        f"{asking.principal} may not {what} (rule {decision.rule} of policy {decision.policy_version}){hint}"
    )
