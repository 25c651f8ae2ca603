"""The leaderboards of the curves format: one for each threat model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from competitions.models import Competition, Track
from evaluation.formats.curves.rules import CurvesRules
from evaluation.formats.curves.threat_models import Goal, Norm
from formats.curves.listed_attacks import knowledge_of
from formats.curves.models import ModelScore
from formats.curves.requests_and_scores import measure_of
from formats.curves.threat_model_names import goal_name, knowledge_name, norm_name
from submissions.column_leaderboard import Column, PlainBoard, PlainRow, ScoredSubmission
from submissions.selectors import ready_submissions


@dataclass(frozen=True)
class ThreatModelOfBoard:
    """The threat model of a leaderboard: what attacks see, their goal and norm; and the fixed budget of the norm."""

    knowledge: str
    goal: Goal
    norm: Norm
    budget: float

    @property
    def key(self) -> str:
        """Its name in addresses."""
        return f"{self.knowledge}-{self.goal}-{self.norm}"

    @property
    def title(self) -> str:
        """Its name for people."""
        goal = goal_name(self.goal)
        return f"{goal[0].upper()}{goal[1:]}, {norm_name(self.norm)}, {knowledge_name(self.knowledge)}"

    @property
    def budget_in_words(self) -> str:
        """The budget with its norm."""
        return f"{self.budget:g} ({norm_name(self.norm)})"


def threat_models(rules: CurvesRules) -> list[ThreatModelOfBoard]:
    """Return the threat models of the attacks of the rules, in their order."""
    found = [
        ThreatModelOfBoard(knowledge_of(each).value, each.goal, each.norm, rules.budget(each.norm))
        for each in rules.attacks
    ]
    return list(dict.fromkeys(found))


def threat_models_of(competition: Competition) -> list[ThreatModelOfBoard]:
    """Return the threat models of the rules in force; the first one ranks where only one is shown."""
    return threat_models(measure_of(competition).rules.rules_as(CurvesRules))


DISTANCE_DECIMALS = 4
"""Decimals of a distance on pages, in files and in the API: further ones could leak secret samples."""


class DistanceColumn(Column):
    """Distances: small numbers, infinite where most images have no adversarial."""

    def shown(self, value: float) -> str:
        return "\N{INFINITY}" if value == float("inf") else f"{value:.{DISTANCE_DECIMALS}f}"


class CurvesBoard(PlainBoard):
    """The leaderboards of a track."""

    columns = (
        Column("accuracy", "Accuracy at the budget", "%"),
        Column("clean_accuracy", "Clean accuracy", "%"),
        DistanceColumn("median_distance", "Median distance"),
    )

    def scored(self, track: Track) -> Sequence[ScoredSubmission]:
        """Return what counts under the first threat model of the rules."""
        return self._scored(track, threat_models_of(track.competition)[0])

    def rows_under(self, track: Track, threat: ThreatModelOfBoard) -> list[PlainRow]:
        """Return the leaderboard under a threat model."""
        return _Under(threat).rows(track)

    def _scored(self, track: Track, threat: ThreatModelOfBoard) -> list[ScoredSubmission]:
        return [
            ScoredSubmission(each.submission, each.scored_at, values_of(each))
            for each in counting_scores(track, threat).values()
        ]


class _Under(CurvesBoard):
    """The leaderboard under one threat model."""

    def __init__(self, threat: ThreatModelOfBoard) -> None:
        self._threat = threat

    def scored(self, track: Track) -> Sequence[ScoredSubmission]:
        return self._scored(track, self._threat)


def counting_scores(track: Track, threat: ThreatModelOfBoard) -> dict[int, ModelScore]:
    """Return the score of the newest scored submission of each team under a threat model, by its repository."""
    found = scores_under(track, threat).filter(submission__in=ready_submissions()).order_by("submission_id")
    return {each.submission.repository_id: each for each in found}


def scores_under(track: Track, threat: ThreatModelOfBoard) -> QuerySet[ModelScore]:
    """Return all scores of a track under a threat model, of the rules and samples in force."""
    measure = measure_of(track.competition)
    scores = ModelScore.objects.filter(
        sample_set=measure.samples, rules=measure.rules, submission__repository__track=track,
        knowledge=threat.knowledge, goal=threat.goal.value, norm=threat.norm.value,
    )  # fmt: skip
    return scores.select_related("submission__repository__entry__team")


def values_of(score: ModelScore) -> list[float]:
    """Return the numbers of a score for the columns, as they are published."""
    median = float("inf") if score.median_distance is None else round(score.median_distance, DISTANCE_DECIMALS)
    return [100.0 * score.accuracy, 100.0 * score.clean_accuracy, median]
