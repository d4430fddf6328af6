"""Random bytes in portions: each byte of the source is given once, and the source is asked seldom."""

from sereno.execution_plane.gateway.randomness import AT_ONCE, Randomness


def test_every_byte_is_given_once_and_the_source_is_asked_seldom() -> None:
    asked: list[int] = []

    def source(count: int) -> bytes:
        asked.append(count)
        return bytes([len(asked)]) * count

    take = Randomness(source)
    portions = [take(10) for _ in range(AT_ONCE // 10 + 1)]
    assert asked == [AT_ONCE, AT_ONCE]
    assert portions[:-1] == [bytes([1]) * 10] * (AT_ONCE // 10)
    assert portions[-1] == bytes([2]) * 10


def test_portions_of_the_system_differ() -> None:
    take = Randomness()
    assert len({take(10) for _ in range(2000)}) == 2000
