"""The runs of an attack and of a defence as pages list them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from evaluation.formats.transfer.results import ImageNote, RowNote
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Run

RUNS_PER_PAGE = 50


def notes_of(runs: Sequence[AttackRun]) -> list[tuple[str, int]]:
    """Return how many images of played runs have each note, in words."""
    found: Counter[str] = sum((Counter(run.notes) for run in runs if run.state == Run.State.PLAYED), Counter())
    return [(ImageNote(note).text, count) for note, count in found.most_common()]


def row_notes_of(runs: Sequence[DefenceRun]) -> list[tuple[str, int]]:
    """Return how many rows of the result files of played runs have each note, in words."""
    found: Counter[str] = sum((Counter(run.rows) for run in runs if run.state == Run.State.PLAYED), Counter())
    return [(RowNote(note).text, count) for note, count in found.most_common()]
