"""Audit records verified per second by one process: `python -m tests.benchmarks.audit`."""

import sys
import time

from sereno.mailbox.audit.chain import Head, canonical, extend, verify

RECORDS = 300_000


def main() -> None:
    content = (
        canonical(
            {
                "plane": "control",
                "tenant": "acme",
                "at": "2026-11-30T12:00:00.000000Z",
                "actor": "user:marta",
                "type": "subscription.edited",
                "subject": f"subscription/watch-{number}",
                "commitment": "ab" * 32,
            }
        )
        for number in range(RECORDS)
    )
    records = list(extend(Head(), content))
    started = time.perf_counter()
    report = verify(records, Head(records[-1].seq, records[-1].hash))
    seconds = time.perf_counter() - started
    assert not report.faults
    sys.stdout.write(f"verified {RECORDS:,} records in {seconds:.2f} s: {RECORDS / seconds:,.0f} a second\n")


if __name__ == "__main__":
    main()
