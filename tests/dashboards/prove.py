"""Proves the dashboards without Grafana: rules and metrics checked by promtool, every panel asked of a real Prometheus.

Run by `make prove-dashboards`. A query that names what does not exist is answered with success and nothing, so an answer without a
number is a fault; a planted misspelling has to be one too, or the proof itself is wrong.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.dashboards.documents import documents
from tests.dashboards.load import Judge, Load, forge, prepared
from tests.dashboards.prometheus import Programs, Prometheus, programs, scraping
from tests.e2e.running import Running, endpoint_url, figures, running, until
from tests.openai_server import serving

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RULES = DEPLOY / "prometheus/alerts.yml"
WINDOW = "60s"
PATIENCE_SECONDS = 120.0
FAMILIES = {"webhook", "time", "calendar", "platform"}


def queries(folder: Path = DEPLOY / "grafana/dashboards") -> Iterator[tuple[str, str]]:
    """Each query of each panel, its variables filled in."""
    for path in sorted(folder.glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                filled = target["expr"].replace("$__rate_interval", WINDOW)
                for name in ("tenant", "family"):
                    filled = filled.replace(f"${name}", ".*")
                yield f"{path.stem}: {panel['title']} {target['refId']}", filled


def silent(prometheus: Prometheus) -> list[str]:
    """The panels that say nothing, and what the server has against a query."""
    found = []
    for where, expression in queries():
        try:
            if not prometheus.says_something(expression):
                found.append(f"{where} is empty: {expression}")
        except ValueError as fault:
            found.append(f"{where}: {fault}")
    return found


def checked(found: Programs, sereno: Running) -> list[str]:
    """What promtool has against the rules, their tests, and what the processes show."""
    commands: list[tuple[str, list[str], str]] = [
        ("rules", ["check", "rules", str(RULES)], ""),
        ("tests of rules", ["test", "rules", *map(str, sorted(RULES.parent.glob("*.test.yml")))], ""),
    ]
    for process, address in sereno.probes.items():
        page = sereno.http.get(f"{address}/metrics").text
        commands.append((f"metrics of {process}", ["check", "metrics"], page))
    faults = []
    for what, words, text in commands:
        done = subprocess.run(
            [found.promtool, *words], input=text, capture_output=True, text=True, check=False
        )
        said = (done.stdout + done.stderr).strip()
        told(f"promtool {' '.join(words[:2])}: {what}: {'fine' if not done.returncode else said}")
        if done.returncode:
            faults.append(f"{what}: {said}")
    return faults


@contextlib.contextmanager
def loading(load: Load) -> Iterator[Callable[[], bool]]:
    """Turn after turn beside the body, which begins once what goes its own way has arrived and can ask whether it has ended."""
    ending = threading.Event()

    def turns() -> None:
        while not ending.is_set():
            load.turn()
            forge(load.sereno, load.turns)

    with ThreadPoolExecutor(1) as beside:
        turning = beside.submit(turns)
        try:
            until(lambda: turning.done() or _families(load.sereno) >= FAMILIES, seconds=PATIENCE_SECONDS)
            yield turning.done
        finally:
            ending.set()
        turning.result()


def _families(sereno: Running) -> set[str]:
    shown = figures(sereno, "pipeline")
    return {
        name.split('family="')[1].split('"')[0]
        for name in shown
        if name.startswith("sereno_decisions_total{")
    }


def exercised(sereno: Running) -> list[str]:
    """The guards, families, verbs and outcomes that the load left out."""
    shown: Mapping[str, float] = figures(sereno, "pipeline") | figures(sereno, "gateway")
    text = "\n".join(name for name, value in shown.items() if value)
    wanted = [
        f'guard="{guard}"'
        for guard in ("dedup", "cycle", "rights", "cooldown", "batching", "delivery", "storm")
    ]
    wanted += [f',verb="{verb}"' for verb in ("renew", "ack", "release", "park", "check", "emit")]
    outcomes = ("delivered", "merged", "dropped", "held", "suspended", "awaiting_verdict", "error")
    wanted += [f'outcome="{outcome}"' for outcome in outcomes]
    return [f"the load left out {part}" for part in wanted if part not in text]


def planted(prometheus: Prometheus) -> list[str]:
    """Each query with its metric misspelt, which has to be silent: else the proof shows nothing."""
    return [
        f"{where} was not silent when its metric was misspelt"
        for where, expression in queries()
        if "sereno_" in expression and prometheus.says_something(expression.replace("sereno_", "serino_"))
    ]


def told(line: str) -> None:
    """Say it at once."""
    print(line, flush=True)  # noqa: T201 - a command's answer


def main() -> int:
    """The exit code: 0 when every panel says something, and a misspelling is found out."""
    found = programs()
    with tempfile.TemporaryDirectory(prefix="sereno-proof-") as name, serving(Judge()) as model:
        folder = Path(name)
        priced = {"input_price": "2", "output_price": "6"}
        evaluator = {"name": "own", "model": "tiny", "url": model.url, "egress": "local", **priced}
        with (
            running(folder / "data", SERENO_EVALUATORS=json.dumps([evaluator])) as sereno,
            scraping(found, folder, sereno.probes, [RULES]) as prometheus,
        ):
            load = prepared(sereno, endpoint_url(sereno.apply(documents(folder))))
            with loading(load) as ended:
                faults = spoken(prometheus, ended) + exercised(sereno) + planted(prometheus)
            faults += checked(found, sereno)
    for fault in faults:
        told(fault)
    every = len(list(queries()))
    told(
        f"{every} queries on {len(list((DEPLOY / 'grafana/dashboards').glob('*.json')))} boards, {len(faults)} faults"
    )
    return 1 if faults else 0


def spoken(prometheus: Prometheus, ended: Callable[[], bool]) -> list[str]:
    """The panels that stay silent under load: gauges are looked up every few seconds, and rates need two looks."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while (faults := silent(prometheus)) and not ended() and time.monotonic() < give_up:
        time.sleep(1)
    return faults


if __name__ == "__main__":
    sys.exit(main())
