"""Precision and recall by labels."""

from hypothesis import given
from hypothesis import strategies as st

from sereno.execution_plane.quality import score
from sereno.execution_plane.quality.score import Score


def test_what_was_not_labelled_says_nothing() -> None:
    assert (Score().precision, Score().recall, Score().labelled) == (None, None, 0)
    assert (Score(3, 1, 5, 2).precision, Score(3, 1, 5, 2).recall, Score(3, 1, 5, 2).right) == (0.75, 0.6, 8)


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_every_pair_is_counted_once(pairs: list[tuple[bool, bool]]) -> None:
    found = score.counted(pairs)
    assert found.labelled == len(pairs)
    assert found.right == sum(met == meant for met, meant in pairs)
