"""The best known distances of a released model, from the attacks of its round to the newest proof."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.errors import Fault
from evaluation.formats.curves.results import Booleans, Floats
from evaluation.formats.curves.rules import CurvesRules
from evaluation.formats.curves.threat_models import Goal, Norm
from formats.curves.best_known.proof_comparison import NORMS, optimality, standing
from formats.curves.models import Benchmark, Improvement, Proof
from formats.curves.stored_results import ModelStanding, outcome_of
from rounds.models import RoundEntry


@dataclass(frozen=True, eq=False)
class Start:
    """What the attacks of the round found: whether images are right, distances and their holders in each norm."""

    right: Booleans
    distances: Mapping[Norm, Floats]
    holders: Mapping[Norm, Sequence[Benchmark | None]]
    """Who found each distance; None: the image is wrong without a change, or no attack found anything."""


@dataclass(frozen=True, eq=False)
class ProofStep:
    """A proof that lowered distances in a norm: of which images, and the standing before and after it."""

    proof: Proof
    norm: Norm
    rows: Sequence[Improvement]
    before: ModelStanding
    after: ModelStanding


def start_of(benchmarks: Sequence[Benchmark]) -> Start:
    """Return what the played attacks of a round against one model found, the targeted ones included.

    An image is right only if it is so in every benchmark. One that is wrong has distance 0; of equal distances, the
    first attack of the rules holds.
    """
    outcomes = [(each, outcome_of(each.result)) for each in benchmarks]
    right = np.logical_and.reduce([outcome.right for _, outcome in outcomes])
    distances, holders = {}, {}
    for norm in NORMS:
        nobody: Floats = np.where(right, np.inf, 0.0)  # it comes first, so that of equal distances it holds none
        found = [(None, nobody), *((each, outcome.distances) for each, outcome in outcomes if each.norm == norm.value)]
        all_ = np.minimum(nobody, np.stack([each for _, each in found]))
        distances[norm] = all_.min(axis=0)
        holders[norm] = [found[first][0] for first in all_.argmin(axis=0)]
    return Start(right, distances, holders)


class BestKnown:
    """What is best known of a released model; see `best_known`."""

    def __init__(self, entry: RoundEntry, benchmarks: Sequence[Benchmark], improvements: Sequence[Improvement]) -> None:
        self.entry = entry
        self.benchmarks = benchmarks
        """The attacks of the round against the model, in the order of the rules."""
        self.improvements = improvements
        """All distances that proofs lowered, in the order of the proofs."""

    @cached_property
    def rules(self) -> CurvesRules:
        """The rules of the round."""
        if self.entry.round.rules is None:
            raise Fault(f"{self.entry.round} has no rules")
        return self.entry.round.rules.rules_as(CurvesRules)

    @cached_property
    def start(self) -> Start:
        """What these attacks found."""
        return start_of(self.benchmarks)

    @cached_property
    def distances(self) -> Mapping[Norm, Floats]:
        """The best known distances, (images of the round,) in each norm; infinite: nobody has shown any."""
        found = {norm: each.copy() for norm, each in self.start.distances.items()}
        for each in self.improvements:
            found[Norm(each.norm)][each.image] = each.distance
        return found

    def standing(self, norm: Norm) -> ModelStanding:
        """Return what follows from the best known distances in a norm."""
        return standing(self.start.right, self.distances[norm], self.rules.budget(norm))

    def contest(self, norm: Norm) -> ModelStanding | None:
        """Return what the round's untargeted attacks in a norm found, which never changes; None without any."""
        own = [outcome_of(each.result) for each in self.benchmarks if _is_untargeted(each, norm)]
        if not own:
            return None
        right = np.logical_and.reduce([each.right for each in own])
        distances = np.minimum.reduce([each.distances for each in own])
        return standing(right, distances, self.rules.budget(norm))

    def optimality(self, benchmark: Benchmark) -> float | None:
        """Return the median ratio of an attack's distances to the best known ones; None without any to compare."""
        return optimality(outcome_of(benchmark.result).distances, self.distances[Norm(benchmark.norm)])

    def steps(self) -> Iterator[ProofStep]:
        """Yield the proofs that lowered distances, oldest first, each norm by itself."""
        current = {norm: each.copy() for norm, each in self.start.distances.items()}
        standings = {norm: self._standing(current, norm) for norm in NORMS}
        for (proof, norm), rows in _by_proof(self.improvements).items():
            for row in rows:
                current[norm][row.image] = row.distance
            before, standings[norm] = standings[norm], self._standing(current, norm)
            yield ProofStep(proof, norm, rows, before, standings[norm])

    def _standing(self, distances: Mapping[Norm, Floats], norm: Norm) -> ModelStanding:
        return standing(self.start.right, distances[norm], self.rules.budget(norm))


def best_known(entry: RoundEntry) -> BestKnown:
    """Return what is best known of a released model now."""
    return best_known_of([entry])[0]


def best_known_of(entries: Sequence[RoundEntry]) -> list[BestKnown]:
    """Return what is best known of released models of a round, in their order; in two queries."""
    benchmarks: defaultdict[int, list[Benchmark]] = defaultdict(list)
    played = Benchmark.objects.filter(round__in={each.round_id for each in entries})
    for each in played.filter(submission__in=[entry.submission_id for entry in entries]).order_by("pk"):
        benchmarks[each.submission_id].append(each)
    improvements: defaultdict[int, list[Improvement]] = defaultdict(list)
    rows = Improvement.objects.filter(proof__round_entry__in=entries).select_related("proof__by")
    for row in rows.order_by("proof__position", "pk"):
        improvements[row.proof.round_entry_id].append(row)
    return [BestKnown(each, benchmarks[each.submission_id], improvements[each.pk]) for each in entries]


def _is_untargeted(benchmark: Benchmark, norm: Norm) -> bool:
    return benchmark.norm == norm.value and benchmark.goal == Goal.UNTARGETED.value


def _by_proof(rows: Iterable[Improvement]) -> Mapping[tuple[Proof, Norm], list[Improvement]]:
    found: defaultdict[tuple[Proof, Norm], list[Improvement]] = defaultdict(list)
    for each in rows:
        found[each.proof, Norm(each.norm)].append(each)
    return found
