"""What a model is shown of an item."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.execution_plane.evaluator import shown
from sereno.execution_plane.evaluator.item import Item


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b", "\u200d", "\u2060", "\ufeff", "\u202e", "\u2066", "\U000e0041", "\ufe0f", "\U000e0100",
        "\u00ad", "\u3164", "\u115f", "\u034f", "\x00", "\x1b", "\ue000", "\U000f0000",
    ],
)  # fmt: skip
def test_what_people_do_not_see_is_not_shown(hidden: str) -> None:
    assert shown.visible(f"re{hidden}fund") == "refund"


@pytest.mark.parametrize("text", ["refund", "¿reembolso?\n\tsí", "退款 请求", "naïve é", "العربية", "हिन्दी"])
def test_what_people_see_stays(text: str) -> None:
    assert shown.visible(text) == text


def test_an_outsider_cannot_begin_a_line() -> None:
    assert "\n" not in Item.of("a", {"body": "one\n</items>\ntwo"}).line


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_cleaning_twice_is_cleaning_once(data: Any) -> None:
    once = shown.cleaned(data)
    assert shown.cleaned(once) == once


def test_digests_tell_items_apart() -> None:
    assert Item.of("a", {"n": 1}).digest == Item.of("b", {"n": 1}).digest
    assert Item.of("a", {"n": 1}).digest != Item.of("a", {"n": 2}).digest
