"""Tables of the transfer format for pages and reports: attacks against defences by epsilon, errors by class. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from evaluation.formats.transfer.results import NO_LABEL, PairCounts
from evaluation.formats.transfer.scoring.score_intervals import share_interval
from evaluation.formats.transfer.scoring.scores import TransferStanding
from evaluation.scoring.leaderboard_resolution import sentence


@dataclass(frozen=True)
class AttackDefenceMatrix:
    """Attacks against defences in the given order; `epsilon` is None over all batches. `images` are those of a pair."""

    epsilon: int | None
    images: int
    attacks: tuple[str, ...]
    defences: tuple[str, ...]
    pairs: Mapping[tuple[str, str], PairCounts]
    """By attack and defence."""


@dataclass(frozen=True)
class ErrorCount:
    """Of `labelled` images, `wrong` got another label than the true one; `confused` is the one given most often."""

    labelled: int
    wrong: int
    confused: int | None

    @property
    def share(self) -> float | None:
        """The share of wrong labels, None without any label."""
        return self.wrong / self.labelled if self.labelled else None


@dataclass(frozen=True)
class ClassErrors:
    """Errors on the images of the true class `label`: of all defences together, and of each."""

    label: int
    total: ErrorCount
    by_defence: Mapping[str, ErrorCount]


@dataclass(frozen=True)
class GivenLabels:
    """The labels that a defence gave to images, `NO_LABEL` where it gave none, and the true ones in the same order."""

    defence: str
    labels: Sequence[int]
    truth: Sequence[int]


def accuracy(pair: PairCounts) -> float | None:
    """Return the share of right labels among the labelled images of a pair, None without any label."""
    return pair.correct / pair.labelled if pair.labelled else None


def success(pairs: Iterable[PairCounts]) -> float | None:
    """Return the points of an attack over the images of its pairs, None without any.

    As in its score, images that a defence did not label are not counted, and those that it did not make are.
    """
    found = list(pairs)
    possible = sum(pair.images - (pair.made - pair.labelled) for pair in found)
    return sum(pair.fooled for pair in found) / possible if possible else None


def success_interval(pair: PairCounts) -> tuple[float, float] | None:
    """Return the 95 % interval over images of the success of an attack against one defence, None without any."""
    share = success([pair])
    return None if share is None else share_interval(share, pair.images - (pair.made - pair.labelled))


def share_text(share: float, images: int) -> str:
    """Return a share of images with its 95 % interval in per cent, as "75 % (51 to 90)"."""
    low, high = share_interval(share, images)
    return f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def separated(rows: Sequence[TransferStanding], images: int) -> str:
    """Return which differences of a track's scores are significant, "" if there is nothing to compare."""
    ranked = [(row.score, row.rank_low) for row in rows if row.score is not None and row.rank_low]
    return sentence(ranked, f"{images} images", lambda closest: f"{closest:.3f}")


def matrices(
    by_epsilon: Mapping[int, Sequence[PairCounts]], *, attacks: Sequence[str], defences: Sequence[str]
) -> list[AttackDefenceMatrix]:
    """Return the matrix of each epsilon, ascending; if there are several, the one over all of them comes first.

    Every attack has a pair with every defence at every epsilon.
    """
    found = {epsilon: {(pair.attack, pair.defence): pair for pair in pairs} for epsilon, pairs in by_epsilon.items()}
    places = [(attack, defence) for attack in attacks for defence in defences]
    single = [_matrix(epsilon, {place: found[epsilon][place] for place in places}) for epsilon in sorted(found)]
    if len(single) < 2:
        return single
    return [_matrix(None, {place: reduce(_sum, (each.pairs[place] for each in single)) for place in places}), *single]


def success_by_epsilon(by_epsilon: Mapping[int, Sequence[PairCounts]]) -> dict[str, list[tuple[int, float | None]]]:
    """Return the success of each attack against all defences together, by epsilon, ascending."""
    found: dict[str, list[tuple[int, float | None]]] = defaultdict(list)
    for epsilon in sorted(by_epsilon):
        own: dict[str, list[PairCounts]] = defaultdict(list)
        for pair in by_epsilon[epsilon]:
            own[pair.attack].append(pair)
        for attack, pairs in own.items():
            found[attack].append((epsilon, success(pairs)))
    return dict(found)


def class_errors(given: Iterable[GivenLabels]) -> list[ClassErrors]:
    """Return the errors on each class that occurs, the one with the largest share of wrong labels first."""
    counts: dict[int, dict[str, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    for each in given:
        for label, truth in zip(each.labels, each.truth, strict=True):
            if label != NO_LABEL:
                counts[int(truth)][each.defence][int(label)] += 1
    errors = [
        ClassErrors(
            truth,
            _errors(truth, sum(by_defence.values(), Counter())),
            {defence: _errors(truth, labels) for defence, labels in by_defence.items()},
        )
        for truth, by_defence in counts.items()
    ]
    return sorted(errors, key=lambda row: (-(row.total.share or 0.0), row.label))


def _matrix(epsilon: int | None, pairs: Mapping[tuple[str, str], PairCounts]) -> AttackDefenceMatrix:
    attacks, defences = (tuple(dict.fromkeys(place[side] for place in pairs)) for side in (0, 1))
    return AttackDefenceMatrix(
        epsilon, max((pair.images for pair in pairs.values()), default=0), attacks, defences, pairs
    )


def _sum(one: PairCounts, other: PairCounts) -> PairCounts:
    return PairCounts(
        attack=one.attack,
        defence=one.defence,
        targeted=one.targeted,
        images=one.images + other.images,
        made=one.made + other.made,
        labelled=one.labelled + other.labelled,
        correct=one.correct + other.correct,
        hits=one.hits + other.hits,
    )


def _errors(truth: int, labels: Counter[int]) -> ErrorCount:
    wrong = [(-count, label) for label, count in labels.items() if label != truth]
    return ErrorCount(labels.total(), -sum(count for count, _ in wrong), min(wrong)[1] if wrong else None)
