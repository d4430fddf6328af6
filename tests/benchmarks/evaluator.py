"""What judging fifty items costs beyond the call of the model: prompt, redaction, reading, evidence. 5 ms is the bound."""

import asyncio
import json
import statistics
import sys
import time
from itertools import count

from sereno.execution_plane.evaluator.answer import Answer
from sereno.execution_plane.evaluator.declared import DeclaredEvaluator, Egress
from sereno.execution_plane.evaluator.evaluation import CacheKey, Evaluation
from sereno.execution_plane.evaluator.item import input_hash, item_of
from sereno.execution_plane.evaluator.model_call import Called
from sereno.execution_plane.evaluator.prompt import Prompt

ITEMS = 50
ROUNDS = 300
BOUND_MS = 5.0
TEXT = (
    "Hello, this is about order {n} of last week, which came in two parcels instead of one. The second was damaged on one "
    "side, so the lamp inside does not stand upright. I wrote to you on Monday and have not heard back since then. I would "
    "like my money back for the lamp, the other things are fine. You reach me at ann{n}@example.org or +34 600 123 {n:03}."
)


class Recorded:
    """Answers at once what a model answered; the time inside is taken off."""

    def __init__(self) -> None:
        self.seconds = 0.0

    async def call(self, asked: Prompt, _schema: dict[str, object]) -> Called:
        begun = time.perf_counter()
        names = [line.split(" ", 2)[1] for line in asked.items.splitlines()[1:-1]]
        quote = "I would like my money back"
        verdicts = [
            {"item": name, "fires": True, "confidence": 0.9, "evidence": [{"item": name, "quote": quote}]}
            for name in names
        ]
        answer = Called(json.dumps({"verdicts": verdicts}), 1, 1)
        self.seconds += time.perf_counter() - begun
        return answer


async def overhead(egress: Egress) -> list[float]:
    """Milliseconds of each round, the call itself taken off."""
    url = "http://127.0.0.1:9/v1"
    judge = DeclaredEvaluator.model_validate({"name": "a", "model": "m", "url": url, "egress": egress})
    taken, marks = [], map("{:018x}".format, count())
    for number in range(ROUNDS):
        events = [
            {"id": f"evt-{n}", "type": "t", "source": "/s", "data": {"text": TEXT.format(n=number + n)}}
            for n in range(ITEMS)
        ]
        recorded, cache = Recorded(), dict[CacheKey, Answer]()
        evaluation = Evaluation([judge], {"a": recorded}, cache, marks.__next__)
        begun = time.perf_counter()
        items = [item_of(str(event["id"]), event) for event in events]
        done = await evaluation.judge("Does it ask for money back?", "v1", items)
        hashes = [input_hash("v1", item) for item in items]
        taken.append((time.perf_counter() - begun - recorded.seconds) * 1000)
        if len(done.answers) != len(hashes) or any(
            not hasattr(one, "fires") for one in done.answers.values()
        ):
            raise AssertionError(done.answers)
    return taken


def main() -> int:
    """Print p50 and p95; 1 when the bound is missed."""
    missed = False
    for egress in ("local", "remote"):
        taken = asyncio.run(overhead(egress))
        p95 = statistics.quantiles(taken, n=20)[-1]
        missed |= p95 > BOUND_MS
        sys.stdout.write(
            f"{egress}: {ITEMS} items of {len(TEXT)} characters, {ROUNDS} rounds: "
            f"p50 {statistics.median(taken):.2f} ms, p95 {p95:.2f} ms (bound {BOUND_MS:g} ms)\n"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
