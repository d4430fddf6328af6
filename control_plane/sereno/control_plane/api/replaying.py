"""Before an edited criterion goes live it is replayed over what people labelled; one that judges worse is refused."""

from collections.abc import Iterable
from typing import Any

from fastapi import Request

from sereno.control_plane.api.testing import ReplayAnswer, replayed
from sereno.control_plane.applying import Applied
from sereno.control_plane.catalog.plan import Step
from sereno.mailbox.engine.problems import Problem
from sereno.subscriptions.snapshot import CatalogObject

_ANYWAY = "apply with --without-replay to put it in force anyway"


def edited(steps: Iterable[Step]) -> list[CatalogObject]:
    """The subscriptions whose criterion another one takes the place of, as they would be."""
    return [_meant(step, spec) for step in steps if (spec := _other_criterion(step)) is not None]


def _other_criterion(step: Step) -> dict[str, Any] | None:
    if step.after.kind != "Subscription" or step.before is None or not step.before.live:
        return None
    spec = dict(step.after.spec if step.wanted is None else step.wanted.spec)
    before, after = step.before.spec.get("condition"), spec.get("condition")
    return spec if before and after and before != after else None


def _meant(step: Step, spec: dict[str, Any]) -> CatalogObject:
    item = step.after
    return CatalogObject(
        kind="Subscription",
        tenant=item.address.tenant,
        name=item.name,
        id=str(item.id),
        version=item.version,
        state=item.state.value,
        spec=spec,
        created_by=item.created_by,
        updated_at=item.updated_at,
    )


async def judge(request: Request, applied: Applied, by: str) -> None:
    """Replay each edited criterion of a plan. Raises `Problem` when one judges worse, or when nobody can tell."""
    for meant in edited(applied.steps):
        try:
            done = await replayed(request, meant.tenant, meant, by)
        except Problem as problem:
            raise Problem(
                problem.status, problem.code, f"{meant.name}: not replayed: {problem.detail}; {_ANYWAY}"
            ) from problem
        if done.after.right < done.before.right:
            raise _worse(meant, done)


def _worse(meant: CatalogObject, done: ReplayAnswer) -> Problem:
    detail = (
        f"{meant.name}: of {done.labelled} labelled events the verdicts were right on {done.before.right},"
        f" the edited criterion is right on {done.after.right}; {_ANYWAY}"
    )
    return Problem(409, "replay_worse", detail, replay=done.model_dump())
