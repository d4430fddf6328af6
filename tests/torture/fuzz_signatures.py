"""Bent requests at every signature scheme, for ten minutes: nothing raises, nothing hangs, nothing is let in.

Run by `make fuzz-signatures`; a number of seconds may be given. A request that breaks is printed so that it can be kept
as a test.
"""

import random
import sys
import time
import tracemalloc
from collections.abc import Sequence

from sereno.execution_plane.gateway.signatures.judgement import authenticate
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request
from tests.unit.execution_plane.gateway.test_signatures import scheme_of
from tests.webhook_senders import NOW, SENDERS, URL, Pairs, Sender

SECONDS = 600.0
SLOWEST_SECONDS = 1.0
MOST_GROWTH = 16 * 1024 * 1024
_PIECES = (
    *(
        "",
        " ",
        ",",
        ",,",
        "=",
        ";",
        ":",
        '"',
        "(",
        ")",
        "()",
        "?1",
        "@",
        "%",
        ".",
        "v1",
        "v1,",
        "v1a,",
        "v0=",
        "t=",
    ),
    *(
        "sig1=",
        "sha-256=",
        "sha-512=:",
        "content-digest",
        ";bs",
        ";sf",
        ";key=",
        ";tr",
        ";req",
        "created=",
        "\x00",
    ),
    *(
        "é",
        "\udcff",
        "\n",
        "A" * 5000,
        "0" * 400,
        "-1",
        "9" * 30,
        "9" * 5000,
        "(" * 500,
        ",".join(["a=1"] * 300),
    ),
)


def bent(random_: random.Random, value: str) -> str:
    """The value with a few pieces put in, taken out or repeated."""
    for _ in range(random_.randint(1, 4)):
        start = random_.randint(0, len(value))
        end = min(len(value), start + random_.choice((0, 0, 1, 2, 8)))
        value = value[:start] + random_.choice(_PIECES) + value[end:]
        if random_.random() < 0.05:
            value *= 2
    return value


def forged(random_: random.Random, sender: Sender, body: bytes) -> Pairs:
    """Headers like a sender's, bent, left out, repeated or in another order."""
    headers = sender.headers(0, body)
    for place in random_.sample(range(len(headers)), k=random_.randint(1, len(headers))):
        name, value = headers[place]
        headers[place] = (name, bent(random_, value))
    if random_.random() < 0.2:
        headers.append(random_.choice(headers))
    if random_.random() < 0.2:
        headers.pop(random_.randrange(len(headers)))
    random_.shuffle(headers)
    return headers


def main(arguments: Sequence[str]) -> int:
    """Fuzz for so many seconds; answer 1 at the first request that breaks."""
    seconds = float(arguments[0]) if arguments else SECONDS
    seed = random.SystemRandom().randrange(2**32)
    random_ = random.Random(seed)
    schemes = [(sender, scheme_of(sender)) for sender in SENDERS]
    tracemalloc.start()
    until, count, before = time.monotonic() + seconds, 0, 0
    while time.monotonic() < until:
        sender, scheme = random_.choice(schemes)
        body = random_.choice((sender.body, b"", random_.randbytes(random_.randint(1, 300))))
        other = body + b"x" if sender.signs_body else body
        secrets = [secret.encode() for secret in sender.secrets]
        if not sender.signs_body:
            secrets = [b"another"]
        headers, began = forged(random_, sender, body), time.perf_counter()
        try:
            found = authenticate(scheme, Request(headers, other, URL), secrets, NOW)
        except Exception as fault:  # noqa: BLE001 - whatever is raised is what is looked for
            return _broken(seed, sender, headers, other, f"raised {fault!r}")
        if not isinstance(found, Failed):
            return _broken(seed, sender, headers, other, "was let in")
        if time.perf_counter() - began > SLOWEST_SECONDS:
            return _broken(seed, sender, headers, other, "took too long")
        count += 1
        if count == 5_000:
            before = tracemalloc.get_traced_memory()[0]
    grown = tracemalloc.get_traced_memory()[0] - before if before else 0
    sys.stdout.write(f"{count} requests in {seconds:.0f} s, seed {seed}; memory grew by {grown} bytes\n")
    return 0 if grown <= MOST_GROWTH else 1


def _broken(seed: int, sender: Sender, headers: Pairs, body: bytes, what: str) -> int:
    sys.stdout.write(f"seed {seed}: {sender.scheme} {sender.id} {what}: {headers!r} {body!r}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
