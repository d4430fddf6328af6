"""The evaluation of novelties against a criterion: what is asked, of whom, what comes back and what it cost."""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from sereno.execution_plane.evaluator import answer, prompt, routing
from sereno.execution_plane.evaluator.answer import Answer
from sereno.execution_plane.evaluator.declared import DeclaredEvaluator
from sereno.execution_plane.evaluator.item import Item
from sereno.execution_plane.evaluator.model_call import Called
from sereno.execution_plane.evaluator.prompt import Prompt
from sereno.execution_plane.evaluator.redaction import Redaction
from sereno.execution_plane.guards.judgement import EvaluationError

CacheKey = tuple[str, str, str, str]
"""Criterion version, item digest, model, prompt version."""
_MOST_REMEMBERED = 10_000
_PLAIN = re.compile(r"[A-Za-z0-9_.:/@-]{1,128}")
# Another model may answer where this one could not be asked; what it answered stands.
_ELSEWHERE = frozenset({"unavailable", "timeout", "auth", "budget"})


class Remembered(OrderedDict[CacheKey, Answer]):
    """The verdicts judged last; what was asked long ago is asked again."""

    def __setitem__(self, key: CacheKey, value: Answer) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > _MOST_REMEMBERED:
            self.popitem(last=False)


class Caller(Protocol):
    """What asks a model."""

    async def call(self, asked: Prompt, schema: dict[str, object]) -> Called | EvaluationError:
        """The model's answer, or why there is none."""


@dataclass(frozen=True, slots=True)
class Egress:
    """The record of one call: to whom what went, by digest alone; kept for every call, also those that failed."""

    evaluator: str
    model: str
    egress: str
    host: str | None
    items: tuple[str, ...]
    characters: int
    redacted: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls took: tokens, and money in the evaluator's currency."""

    evaluator: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: Decimal
    currency: str


@dataclass(slots=True)
class Evaluated:
    """The answers by item id, and what it took to get them."""

    answers: dict[str, Answer] = field(default_factory=dict)
    judges: dict[str, str] = field(default_factory=dict)
    egress: list[Egress] = field(default_factory=list)
    usage: list[Usage] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Judges items with declared evaluators.

    `callers` asks each by name; `cache` remembers verdicts (not errors); `random_text` gives delimiters.
    """

    evaluators: Sequence[DeclaredEvaluator]
    callers: Mapping[str, Caller]
    cache: MutableMapping[CacheKey, Answer]
    random_text: Callable[[], str]

    async def judge(self, criterion: str, version: str, items: Sequence[Item]) -> Evaluated:
        """One answer per item; without items nobody is asked."""
        done = Evaluated()
        for sensitive in (True, False):
            group = [item for item in items if (item.sensitivity == "confidential") is sensitive]
            if group:
                await self._group(criterion, version, group, done)
        return done

    async def _group(self, criterion: str, version: str, items: Sequence[Item], done: Evaluated) -> None:
        permitted = routing.permitted(self.evaluators, items)
        if not permitted:
            reason = "confidential items need an evaluator that is declared egress: local"
            why = reason if self.evaluators else "no evaluator is configured"
            done.answers.update({item.id: EvaluationError("unavailable", why) for item in items})
            return
        first = permitted[0]
        open_items = self._remembered(first, version, items, done)
        for start in range(0, len(open_items), first.max_items):
            await self._ask(first, criterion, version, open_items[start : start + first.max_items], done)
        await self._ask_elsewhere(permitted, criterion, version, open_items, done)

    async def _ask_elsewhere(
        self,
        permitted: Sequence[DeclaredEvaluator],
        criterion: str,
        version: str,
        items: Sequence[Item],
        done: Evaluated,
    ) -> None:
        instead = routing.fallback(permitted, permitted[0])
        missed = [item for item in items if _unreached(done.answers[item.id])]
        if instead is None or not missed:
            return
        open_items = self._remembered(instead, version, missed, done)
        for start in range(0, len(open_items), instead.max_items):
            await self._ask(instead, criterion, version, open_items[start : start + instead.max_items], done)

    def _remembered(
        self, evaluator: DeclaredEvaluator, version: str, items: Sequence[Item], done: Evaluated
    ) -> list[Item]:
        missing = []
        for item in items:
            found = self.cache.get(_key(evaluator, version, item))
            if found is None:
                missing.append(item)
            else:
                done.answers[item.id] = found
                done.judges[item.id] = evaluator.name
        return missing

    async def _ask(
        self,
        evaluator: DeclaredEvaluator,
        criterion: str,
        version: str,
        items: Sequence[Item],
        done: Evaluated,
    ) -> None:
        redaction = Redaction()
        hide_all = redaction.hide_all if evaluator.egress == "remote" else list[str]
        ids = [item.id for item in items]
        pairs = zip(ids, hide_all(ids), strict=True)
        named = dict(zip([_name(*pair, number) for number, pair in enumerate(pairs, 1)], items, strict=True))
        lines = list(zip(named, hide_all([item.line for item in items]), strict=True))
        asked = prompt.of(criterion, lines, self.random_text)
        done.egress.append(_record(evaluator, asked, items, redaction))
        called = await self.callers[evaluator.name].call(asked, prompt.schema(len(items)))
        if isinstance(called, EvaluationError):
            done.answers.update(dict.fromkeys((item.id for item in items), called))
            return
        done.usage.append(_usage(evaluator, called))
        shown = [item.called(name) for name, item in named.items()]
        answers = answer.read(called.text, shown, lambda quote: redaction.restore(asked.unmarked(quote)))
        for name, item in named.items():
            found = _named(answers[name], item.id)
            done.answers[item.id] = found
            done.judges[item.id] = evaluator.name
            if not isinstance(found, EvaluationError):
                self.cache[_key(evaluator, version, item)] = found


def _unreached(found: Answer) -> bool:
    return isinstance(found, EvaluationError) and found.kind in _ELSEWHERE


def _name(item_id: str, hidden: str, number: int) -> str:
    """What an item is called in a prompt: its id, or its number where the id is no plain word or has to be hidden."""
    return item_id if hidden == item_id and _PLAIN.fullmatch(item_id) else f"#{number}"


def _named(found: Answer, item_id: str) -> Answer:
    """The answer with the item's own id in its evidence."""
    if isinstance(found, EvaluationError):
        return found
    return found._replace(evidence=tuple(one._replace(item=item_id) for one in found.evidence))


def _key(evaluator: DeclaredEvaluator, version: str, item: Item) -> CacheKey:
    return version, item.digest, evaluator.model, prompt.VERSION


def _record(
    evaluator: DeclaredEvaluator, asked: Prompt, items: Sequence[Item], redaction: Redaction
) -> Egress:
    host = evaluator.url.host if evaluator.url else None
    digests = tuple(item.digest for item in items)
    size = len(asked.task) + len(asked.items)
    return Egress(evaluator.name, evaluator.model, evaluator.egress, host, digests, size, redaction.counts)


def _usage(evaluator: DeclaredEvaluator, called: Called) -> Usage:
    cost = evaluator.cost(called.input_tokens, called.output_tokens)
    return Usage(
        evaluator.name,
        evaluator.model,
        1,
        called.input_tokens,
        called.output_tokens,
        cost,
        evaluator.currency,
    )
