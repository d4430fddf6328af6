"""Precision and recall of verdicts by what people said of them."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Score(NamedTuple):
    """Labelled verdicts by what was judged (positive: it met the criterion) and whether that was right."""

    true_positives: int = 0
    false_positives: int = 0
    true_negatives: int = 0
    false_negatives: int = 0

    @property
    def labelled(self) -> int:
        """How many there are."""
        return sum(self)

    @property
    def right(self) -> int:
        """How many of them were right."""
        return self.true_positives + self.true_negatives

    @property
    def precision(self) -> float | None:
        """How many of those that met should have; unknown where none was labelled."""
        return _share(self.true_positives, self.false_positives)

    @property
    def recall(self) -> float | None:
        """How many of those that should have met did; unknown where none was labelled."""
        return _share(self.true_positives, self.false_negatives)

    def as_json(self) -> dict[str, Any]:
        """As it is told."""
        return {
            "labelled": self.labelled,
            **self._asdict(),
            "precision": self.precision,
            "recall": self.recall,
        }


def _share(part: int, rest: int) -> float | None:
    return round(part / (part + rest), 4) if part + rest else None


def of(row: Mapping[str, Any] | None) -> Score:
    """The score in a row of counts."""
    return Score() if row is None else Score(*(row[name] for name in Score._fields))


def counted(pairs: list[tuple[bool, bool]]) -> Score:
    """The score of pairs (met, should have met)."""
    return Score(
        sum(met and meant for met, meant in pairs),
        sum(met and not meant for met, meant in pairs),
        sum(not met and not meant for met, meant in pairs),
        sum(not met and meant for met, meant in pairs),
    )
