"""Strict structured events of 1 KB per second, one process: decoded, and with a duplicate member refused.

Run by `make bench-decoder`; ends with 1 below the floor, or when one event is read wrongly.
"""

import sys
import time

import orjson

from sereno.envelope.decode import Decoded, Rejected, decode_http

FLOOR = 12_000
EVENTS = 20_000
ROUNDS = 5
SIZE = 1024
TEXT = "A comment: as people write them. " * 40
HEADERS = (("Host", "localhost"), ("Content-Type", "application/cloudevents+json; charset=utf-8"))


def event(number: int) -> bytes:
    """An order with nested data, `SIZE` bytes long, different for each number."""
    lines = [
        {"sku": f"A-{number % 97}-{place}", "count": place, "price": 12.5 + place, "gift": place % 2 == 0}
        for place in range(6)
    ]
    order = {"order": number, "customer": {"name": "Zoë", "vip": False, "note": None}, "lines": lines}
    bare = _document(number, order)
    return _document(number, order | {"text": TEXT[: SIZE - len(bare) - len(',"text":""')]})


def _document(number: int, data: dict[str, object]) -> bytes:
    return orjson.dumps(
        {
            "specversion": "1.0",
            "id": f"order-{number:08d}",
            "source": "https://shop.example.com/stores/12",
            "type": "com.example.order.placed",
            "time": "2027-03-04T05:06:07.123456Z",
            "subject": f"orders/{number}",
            "datacontenttype": "application/json",
            "partitionkey": f"customer-{number % 1000}",
            "data": data,
        }
    )


def doubled(body: bytes) -> bytes:
    """The same event with a member of its data sent twice."""
    return body.replace(b'"vip":false', b'"vip":false,"vip":true')


def rate(bodies: list[bytes]) -> float:
    """Events per second over all bodies, each decoded once."""
    began = time.perf_counter()
    for body in bodies:
        decode_http(HEADERS, body)
    return len(bodies) / (time.perf_counter() - began)


def main() -> int:
    bodies = [event(number) for number in range(EVENTS)]
    refused = [doubled(body) for body in bodies[: EVENTS // 10]]
    accepted = all(isinstance(decode_http(HEADERS, body), Decoded) for body in bodies)
    found = all(isinstance(decode_http(HEADERS, body), Rejected) for body in refused)
    rates = sorted(rate(bodies) for _ in range(ROUNDS))
    sys.stdout.write(
        f"decoded   {rates[ROUNDS // 2]:8.0f} /s   median of {ROUNDS} x {EVENTS} events of {SIZE} bytes, "
        f"best {rates[-1]:.0f}, worst {rates[0]:.0f}; floor {FLOOR}\n"
        f"refused   {rate(refused):8.0f} /s   the same with a member sent twice, each of {len(refused)} found\n"
    )
    return 0 if accepted and found and rates[ROUNDS // 2] >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
