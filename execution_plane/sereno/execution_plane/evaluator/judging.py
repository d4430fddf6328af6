"""Judging: rounds of leased candidates, each group of one criterion in as few calls as it takes."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sereno.execution_plane.evaluator import criteria, egress_log, evaluations, verdicts
from sereno.execution_plane.evaluator.answer import Answer
from sereno.execution_plane.evaluator.evaluation import Evaluated, Evaluation
from sereno.execution_plane.evaluator.evaluations import Candidate
from sereno.execution_plane.evaluator.item import names_of
from sereno.execution_plane.evaluator.verdicts import Made, costs_of
from sereno.execution_plane.guards.judgement import EvaluationError
from sereno.execution_plane.guards.subscription import Criterion
from sereno.execution_plane.pipeline.directory import Directory
from sereno.mailbox.connection import AnyPool
from sereno.mailbox.engine.postgres import DATABASE_FAULTS
from sereno.mailbox.engine.telemetry import logger

MOST = 50
"""Candidates of a round."""
PAUSE_SECONDS = 0.5
"""Between rounds that found nothing; each costs one query."""
_MARGIN_SECONDS = 30.0
_log = logger("evaluator")

Group = tuple[str, str, str]


class Judging:
    """Leases candidates, asks the evaluation, and settles each in a transaction of its own."""

    def __init__(self, pool: AnyPool, directory: Directory, evaluation: Evaluation) -> None:
        self._pool = pool
        self._directory = directory
        self._evaluation = evaluation
        # The slowest way: all candidates are of one group, and of everybody who is asked, call by call, nobody answers.
        calls = max((-(-MOST // one.max_items) for one in evaluation.evaluators), default=1)
        self._lease = sum(one.timeout for one in evaluation.evaluators) * 2 * calls + _MARGIN_SECONDS

    async def run(self, stop: asyncio.Event) -> None:
        """Judge until told to stop; a round that has begun is ended."""
        while not stop.is_set():
            try:
                judged = await self.round()
            except DATABASE_FAULTS as fault:
                _log.warning("round_failed", error=type(fault).__name__)
                judged = 0
            if not judged:
                try:
                    await asyncio.wait_for(stop.wait(), PAUSE_SECONDS)
                except TimeoutError:
                    continue

    async def round(self) -> int:
        """Judge what waits, at most `MOST`; how many candidates were leased."""
        candidates = await evaluations.lease(self._pool, MOST, self._lease)
        groups: defaultdict[Group, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            groups[candidate.tenant, candidate.subscription, candidate.criterion].append(candidate)
        # Side by side: a group that came last must not find its lease gone.
        async with asyncio.TaskGroup() as tasks:
            for group in groups.values():
                tasks.create_task(self._attempt(group))
        return len(candidates)

    async def _attempt(self, group: Sequence[Candidate]) -> None:
        try:
            await self._judge(group)
        except DATABASE_FAULTS as fault:
            # What was not settled is leased again when this lease ends.
            _log.warning("group_failed", error=type(fault).__name__)

    async def _judge(self, group: Sequence[Candidate]) -> None:
        first = group[0]
        policy = self._directory.subscription(first.tenant, first.subscription)
        least = policy.condition.min_confidence if policy is not None and policy.condition else 0.0
        hook = policy.condition.suspicious if policy is not None and policy.condition else "warn"
        criterion = Criterion(first.criterion, least, hook)
        names = names_of([(str(one.envelope["id"]), str(one.receiptid)) for one in group])
        done, made = await verdicts.of(
            self._pool, self._evaluation, first.tenant, criterion, _events(names, group)
        )
        await egress_log.write(self._pool, first.tenant, first.subscription, done.egress)
        await criteria.note(self._pool, first.tenant, first.subscription, criterion, made)
        share = _share(done, len(group))
        for name, candidate in zip(names, group, strict=True):
            await self._settle(candidate, done.answers.get(name), made[name], share)

    async def _settle(
        self, candidate: Candidate, answer: Answer | None, made: Made, share: dict[str, Any] | None
    ) -> None:
        async with self._pool.acquire() as conn, conn.transaction():
            if answer is None:
                status = await evaluations.hold(conn, candidate, made.as_json())
            else:
                status = await evaluations.settle(
                    conn, candidate, answer, self._directory, usage=share, made=made.as_json()
                )
            if made.suspicious and status == "ok":
                await evaluations.tell_suspicious(
                    conn, candidate, self._directory, made.suspicious, held=made.held
                )
        kind = answer.kind if isinstance(answer, EvaluationError) else None
        _log.info("judged", status=status, subscription=candidate.subscription, error=kind)


def _events(names: Sequence[str], group: Sequence[Candidate]) -> dict[str, Mapping[str, Any]]:
    return {name: candidate.envelope for name, candidate in zip(names, group, strict=True)}


def _share(done: Evaluated, candidates: int) -> dict[str, Any] | None:
    """What one candidate's part of the calls cost, as usage is reported."""
    if not done.usage:
        return None
    return {
        "model": done.usage[0].model,
        "cost": [
            {"amount": str(amount / candidates), "currency": currency}
            for currency, amount in costs_of(done.usage).items()
            if amount
        ],
    }
