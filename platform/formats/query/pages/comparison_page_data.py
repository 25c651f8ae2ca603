"""Scores of two to five submissions side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from competitions.models import Track
from evaluation.charts.interval_bar_axis import Axis, axis_to
from formats.query.leaderboards.board_rows import BoardRow
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.score_visibility import row_of
from formats.query.pages.match_links import by_opponent
from formats.query.tracks import MODEL
from pages.player_names import PlayerName, names_of


@dataclass(frozen=True)
class ComparedSubmission:
    """A submission of the comparison: its score, and its row on the leaderboard if it is the one that counts."""

    evaluation: Evaluation
    row: BoardRow | None


@dataclass(frozen=True)
class Against:
    """An opponent and its result against a submission: the median distance, and the match where there is one.

    `best`: no other submission of the comparison has a better median against it, under the same rules and samples.
    """

    median: float
    match: int | None
    best: bool


@dataclass(frozen=True)
class ComparedOpponent:
    """An opponent and its result against each submission, None for those that did not meet it."""

    name: PlayerName
    against: Sequence[tuple[Evaluation, Against | None]]


@dataclass(frozen=True)
class Comparison:
    """Submissions to one track side by side, on one axis, and their results against each opponent."""

    columns: Sequence[ComparedSubmission]
    opponents: Sequence[ComparedOpponent]

    @cached_property
    def axis(self) -> Axis:
        """The axis of all intervals."""
        return axis_to(max(column.evaluation.high or 0 for column in self.columns))

    @property
    def differing(self) -> Sequence[str]:
        """What differs between the scores, which are then not comparable: "pools", "rules", "samples"."""
        kinds = {"pools": "pool_id", "rules": "rules_id", "samples": "sample_set_id"}
        return [
            name for name, key in kinds.items() if len({getattr(each.evaluation, key) for each in self.columns}) > 1
        ]


def side_by_side(track: Track, evaluations: Sequence[Evaluation], *, frozen: bool) -> Comparison:
    """Return the comparison of scored evaluations; `frozen`: the ranks are those of the frozen leaderboard."""
    columns = [ComparedSubmission(each, _row(track, each, frozen=frozen)) for each in evaluations]
    return Comparison(columns, _opponents(evaluations, larger_is_better=track.name == MODEL))


def _row(track: Track, evaluation: Evaluation, *, frozen: bool) -> BoardRow | None:
    row = row_of(track, evaluation.submission.repository.entry, frozen=frozen)
    return row if row and row.submission == evaluation.submission_id else None


def _opponents(evaluations: Sequence[Evaluation], *, larger_is_better: bool) -> list[ComparedOpponent]:
    comparable = len({(each.rules_id, each.sample_set_id) for each in evaluations}) == 1
    medians: dict[int, dict[int, float]] = {}
    for evaluation in evaluations:
        for row in evaluation.per_opponent:
            medians.setdefault(row["player"], {})[evaluation.pk] = row["median"]
    names = names_of(medians)
    matches: Mapping[int, Mapping[int, int]] = {each.pk: by_opponent(each) for each in evaluations}
    found = []
    for player, known in medians.items():
        best = (max if larger_is_better else min)(known.values()) if comparable and len(known) > 1 else None
        results = [
            (each, Against(known[each.pk], matches[each.pk].get(player), known[each.pk] == best))
            if each.pk in known
            else (each, None)
            for each in evaluations
        ]
        found.append(ComparedOpponent(names[player], results))
    return found
