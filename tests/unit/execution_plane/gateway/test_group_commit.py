import asyncio
from collections.abc import Callable

import orjson
import pytest

from sereno.execution_plane.gateway import group_commit
from sereno.execution_plane.gateway.group_commit import MAX_BYTES, MAX_EVENTS, GroupCommit, NotStoredError


class Ingress:
    """Keeps what is published; can be made to wait and to fail."""

    def __init__(self) -> None:
        self.published: list[tuple[str, list[object]]] = []
        self.sizes: list[int] = []
        self.open = asyncio.Event()
        self.open.set()
        self.fault: Callable[[], Exception] | None = None

    async def __call__(self, tenant: str, payload: bytes) -> None:
        await self.open.wait()
        if self.fault is not None:
            raise self.fault()
        self.published.append((tenant, orjson.loads(payload)))
        self.sizes.append(len(payload))


async def test_concurrent_events_of_a_tenant_become_one_message() -> None:
    ingress = Ingress()
    commit = GroupCommit(ingress)
    await asyncio.gather(*(commit.store("acme", [b"%d" % n]) for n in range(50)))
    assert ingress.published == [("acme", list(range(50)))]


async def test_tenants_never_share_a_message() -> None:
    ingress = Ingress()
    commit = GroupCommit(ingress)
    await asyncio.gather(*(commit.store(tenant, [b"1"]) for tenant in ("a", "b", "a", "b")))
    assert sorted(ingress.published) == [("a", [1, 1]), ("b", [1, 1])]


async def test_a_message_holds_at_most_500_events_and_none_is_lost() -> None:
    ingress = Ingress()
    commit = GroupCommit(ingress)
    await asyncio.gather(*(commit.store("acme", [b"%d" % n]) for n in range(1201)))
    assert [len(events) for _, events in ingress.published] == [MAX_EVENTS, MAX_EVENTS, 201]
    assert sorted(n for _, events in ingress.published for n in events) == list(range(1201))  # type: ignore[type-var]


async def test_a_message_holds_at_most_512_kib() -> None:
    ingress = Ingress()
    commit = GroupCommit(ingress)
    item = orjson.dumps("x" * 200_000)
    await commit.store("acme", [item] * 7)
    assert [len(events) for _, events in ingress.published] == [2, 2, 2, 1]
    assert max(ingress.sizes) <= MAX_BYTES


async def test_a_single_event_larger_than_that_goes_alone() -> None:
    ingress = Ingress()
    commit = GroupCommit(ingress)
    await commit.store("acme", [b"1", orjson.dumps("x" * 600_000), b"2"])
    assert [len(events) for _, events in ingress.published] == [1, 1, 1]


async def test_nobody_is_answered_before_the_write() -> None:
    ingress = Ingress()
    ingress.open.clear()
    stored = asyncio.ensure_future(GroupCommit(ingress).store("acme", [b"1"]))
    done, _ = await asyncio.wait([stored], timeout=0.05)
    assert not done
    ingress.open.set()
    await stored
    assert ingress.published == [("acme", [1])]


async def test_a_failed_write_fails_all_of_its_events_and_no_other() -> None:
    ingress = Ingress()
    commit = GroupCommit(ingress)
    ingress.fault = lambda: OSError("the disk is full")
    answers = await asyncio.gather(*(commit.store("acme", [b"1"]) for _ in range(3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [NotStoredError] * 3
    ingress.fault = None
    await commit.store("acme", [b"2"])
    assert ingress.published == [("acme", [2])]


async def test_a_sender_that_hangs_up_takes_nothing_from_the_others() -> None:
    ingress = Ingress()
    ingress.open.clear()
    commit = GroupCommit(ingress)
    leaving = asyncio.ensure_future(commit.store("acme", [b"1"]))
    staying = asyncio.ensure_future(commit.store("acme", [b"2"]))
    await asyncio.wait([leaving, staying], timeout=0.02)
    leaving.cancel()
    ingress.open.set()
    await staying
    assert ingress.published == [("acme", [1, 2])]


async def test_closing_writes_and_answers_what_was_accepted() -> None:
    ingress = Ingress()
    commit = GroupCommit(ingress, max_wait_seconds=3600)
    stored = [asyncio.ensure_future(commit.store("acme", [b"%d" % n])) for n in range(3)]
    await asyncio.wait(stored, timeout=0.01)
    await commit.close()
    await asyncio.gather(*stored)
    assert ingress.published == [("acme", [0, 1, 2])]
    with pytest.raises(NotStoredError):
        await commit.store("acme", [b"4"])


async def test_too_many_waiting_events_are_refused_rather_than_kept_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_commit, "MAX_PENDING_EVENTS", 2)
    ingress = Ingress()
    ingress.open.clear()
    commit = GroupCommit(ingress)
    kept = asyncio.ensure_future(commit.store("acme", [b"1", b"2"]))
    await asyncio.wait([kept], timeout=0.02)
    with pytest.raises(NotStoredError):
        await commit.store("acme", [b"3"])
    ingress.open.set()
    await kept
    await commit.store("acme", [b"4"])


async def test_behind_a_slow_disk_events_gather_instead_of_queueing_as_messages() -> None:
    ingress = Ingress()
    ingress.open.clear()
    commit = GroupCommit(ingress, max_wait_seconds=0)
    storing = []
    for number in range(40):
        storing.append(asyncio.ensure_future(commit.store("acme", [b"%d" % number])))
        for _ in range(3):
            await asyncio.sleep(0)
    other = asyncio.ensure_future(commit.store("other", [b"1"]))
    ingress.open.set()
    await asyncio.gather(other, *storing)
    messages = [events for tenant, events in ingress.published if tenant == "acme"]
    assert len(messages) == group_commit.MAX_WRITING + 1
    assert [number for events in messages for number in events] == list(range(40))
