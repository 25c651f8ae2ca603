"""What is best known of a released model: for its page, and as a table of the history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from accounts.models import User
from core.time_format import for_programs
from evaluation.charts.chart_table import Cell, ChartTable
from evaluation.charts.line_chart import LineChart
from evaluation.domain.failure_reasons import Reason
from evaluation.formats.curves.threat_models import Goal, Norm
from formats.curves.best_known.best_known_as_json import finite
from formats.curves.best_known.best_known_distances import BestKnown, ProofStep, best_known_of
from formats.curves.best_known.proof_comparison import NORMS
from formats.curves.listed_attacks import attack_title
from formats.curves.models import Proof
from formats.curves.pages.accuracy_curves import by_budget
from formats.curves.stored_results import ModelStanding
from formats.curves.threat_model_boards import CurvesBoard, ThreatModelOfBoard
from formats.curves.threat_model_names import goal_name, norm_name
from rounds.models import RoundEntry

UPLOADS_SHOWN = 20
"""Number of a person's uploads that the page lists."""

_ACCURACY, _, _DISTANCE = CurvesBoard.columns
_NONE = "\N{EN DASH}"


@dataclass(frozen=True)
class ShownNorm:
    """What is best known in a norm beside what the round's attacks found; cells as they are shown."""

    name: str
    budget: str
    contest: Sequence[str]
    """Accuracy at the budget and median distance; dashes without an untargeted attack in the norm."""
    best: Sequence[str]
    lowered: int
    """Number of images whose distance a proof lowered."""
    total: int


@dataclass(frozen=True)
class ShownStep:
    """A proof that lowered distances in a norm."""

    step: ProofStep
    norm: str
    accuracy: tuple[str, str]
    median: tuple[str, str]


@dataclass(frozen=True)
class ShownAttack:
    """An attack of the round: its median distance, and the median ratio of its distances to the best known ones."""

    title: str
    goal: str
    norm: str
    median: str
    ratio: str


@dataclass(frozen=True)
class ShownUpload:
    """A proof of the reader, with what became of it."""

    proof: Proof
    state: str
    counts: Sequence[tuple[str, int]]
    """How many images have each verdict, in words."""
    cause: str
    """Why the model failed, in a sentence; empty for most."""


def page_context(best: BestKnown, reader: User | None) -> dict[str, Any]:
    """Return what the page of a released model shows."""
    return {
        "norms": [_norm(best, norm) for norm in NORMS],
        "best_charts": [chart for norm in NORMS if (chart := _chart(best, norm)) is not None],
        "steps": [_step(each) for each in reversed(list(best.steps()))],
        "attacks": [_attack(best, number) for number in range(len(best.benchmarks))],
        "uploads": [] if reader is None else [_upload(each) for each in _own(best.entry, reader)],
    }


def address_of(entry: RoundEntry) -> str:
    """Return the address of the page of a released model."""
    return reverse("pages:best_known", args=[entry.round.competition.slug, entry.round.number, entry.submission_id])


def round_rows(entries: Sequence[RoundEntry]) -> list[tuple[RoundEntry, str, list[ShownNorm]]]:
    """Return released models of a round with the address of their page and what is best known in each norm."""
    known = best_known_of(entries)
    return [(each.entry, address_of(each.entry), [_norm(each, norm) for norm in NORMS]) for each in known]


def history_table(best: BestKnown) -> ChartTable:
    """Return every best known distance since the round: who showed it, when, and which one it replaced.

    The first rows are those of the attacks, without a proof. An unknown distance is empty.
    """
    return ChartTable(("time", "proof", "by", "image", "norm", "from", "to"), list(_history(best)))


def _history(best: BestKnown) -> Iterator[Sequence[Cell]]:
    for norm in NORMS:
        for image, held in enumerate(best.start.holders[norm]):
            distance = finite(float(best.start.distances[norm][image]))
            at = for_programs(held.played_at) if held and held.played_at else ""
            yield at, None, _holder(held.attack, held.goal) if held else "", image, norm.value, None, distance
    current = {norm: each.copy() for norm, each in best.start.distances.items()}
    for row in best.improvements:
        norm = Norm(row.norm)
        before, current[norm][row.image] = float(current[norm][row.image]), row.distance
        by = row.proof.by.username
        yield for_programs(row.at), row.proof_id, by, row.image, row.norm, finite(before), row.distance


def _holder(attack: str, goal: str) -> str:
    return f"{attack} ({goal})" if goal == Goal.TARGETED.value else attack


def _norm(best: BestKnown, norm: Norm) -> ShownNorm:
    contest = best.contest(norm)
    return ShownNorm(
        name=norm_name(norm),
        budget=f"{best.rules.budget(norm):g}",
        contest=(_NONE, _NONE) if contest is None else _cells(contest),
        best=_cells(best.standing(norm)),
        lowered=len({each.image for each in best.improvements if each.norm == norm.value}),
        total=len(best.start.right),
    )


def _chart(best: BestKnown, norm: Norm) -> LineChart | None:
    contest, known = best.contest(norm), best.standing(norm)
    columns: dict[str, Sequence[float]] = {} if contest is None else {"attacks of the round": contest.curve}
    columns["best known"] = known.curve
    key, title = f"best-known-{norm.value}", f"Accuracy by budget, {norm_name(norm)}"
    return by_budget(columns, known.budgets, _threat(best, norm), key=key, title=title)


def _threat(best: BestKnown, norm: Norm) -> ThreatModelOfBoard:
    return ThreatModelOfBoard("decision", Goal.UNTARGETED, norm, best.rules.budget(norm))


def _step(step: ProofStep) -> ShownStep:
    before, after = _cells(step.before), _cells(step.after)
    return ShownStep(step, norm_name(step.norm), (before[0], after[0]), (before[1], after[1]))


def _attack(best: BestKnown, number: int) -> ShownAttack:
    played = best.benchmarks[number]
    median = float("inf") if played.median_distance is None else played.median_distance
    ratio = best.optimality(played)
    return ShownAttack(
        title=attack_title(played.attack),
        goal=goal_name(played.goal),
        norm=norm_name(played.norm),
        median=_DISTANCE.shown(median),
        ratio=_NONE if ratio is None else _DISTANCE.shown(ratio),
    )


def _own(entry: RoundEntry, reader: User) -> Sequence[Proof]:
    return list(entry.proofs.filter(by=reader).order_by("-pk")[:UPLOADS_SHOWN])


def _upload(proof: Proof) -> ShownUpload:
    counts = [(verdict_name(name), proof.verdicts.count(name)) for name in dict.fromkeys(proof.verdicts)]
    state = proof.get_outcome_display() or proof.get_state_display()
    return ShownUpload(proof, state, counts, Reason(proof.reason).text if proof.reason else "")


def verdict_name(verdict: str) -> str:
    """Return what the model said of an image, in words."""
    return {
        "adversarial": "adversarial",
        "far": "not nearer than the best known",
        "right": "still right",
        "inconsistent": "two different labels",
    }[verdict]


def _cells(standing: ModelStanding) -> tuple[str, str]:
    median = float("inf") if standing.median_distance is None else standing.median_distance
    return _ACCURACY.shown(100.0 * standing.accuracy), _DISTANCE.shown(median)
