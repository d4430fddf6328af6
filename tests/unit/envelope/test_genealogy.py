"""Genealogy over several causes."""

import pytest

from sereno.envelope.genealogy import Genealogy, caused_by, root


@pytest.mark.req(43)
def test_a_chain_counts_its_hops_from_the_first_event() -> None:
    first = root("r1")
    second = caused_by("m1", [first])
    third = caused_by("m2", [second, root("r9")])
    assert (first, second) == (Genealogy("r1", None, 1), Genealogy("r1", "m1", 2))
    assert third == Genealogy("r1", "m2", 3)


def test_what_has_no_cause_is_a_root() -> None:
    with pytest.raises(ValueError, match="root"):
        caused_by("m1", [])
