import asyncio

from sereno.execution_plane.gateway.turns import Turns


async def test_a_burst_passes_in_order_and_a_few_in_each_pass_of_the_loop() -> None:
    turns, passed, by_pass = Turns(3), list[int](), list[int]()

    async def come(number: int) -> None:
        await turns.take()
        passed.append(number)

    coming = [asyncio.create_task(come(number)) for number in range(8)]
    while not all(task.done() for task in coming):
        before = len(passed)
        await asyncio.sleep(0)
        by_pass.append(len(passed) - before)
    assert passed == list(range(8))
    assert max(by_pass) == 3
    assert sum(by_pass) == 8


async def test_who_comes_alone_never_waits() -> None:
    turns = Turns(1)
    for _ in range(3):
        taking = turns.take()
        try:
            taking.send(None)
        except StopIteration:
            pass
        else:
            raise AssertionError("it waited")
        await asyncio.sleep(0)


async def test_who_gives_up_takes_no_place() -> None:
    turns, passed = Turns(1), list[int]()

    async def come(number: int) -> None:
        await turns.take()
        passed.append(number)

    coming = [asyncio.create_task(come(number)) for number in range(4)]
    await asyncio.sleep(0)
    coming[1].cancel()
    await asyncio.gather(*coming, return_exceptions=True)
    assert passed == [0, 2, 3]
