"""The rounds of the curves format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from io import BytesIO
from typing import IO, Any

from django.db import transaction
from django.db.models import Q, QuerySet

from competitions.models import Competition, RulesVersion, SampleSet
from competitions.origin import signed_slug, signed_team_slug
from competitions.sample_store import samples_of
from core import object_store, worker_notifications
from core.data_difference import Difference, Verified
from core.errors import Fault
from evaluation.formats.curves.rules import CurvesRules
from formats.curves import NAME, benchmark_work, requests_and_scores
from formats.curves.best_known.best_known_check import wrong_improvements
from formats.curves.dashboard_part import dashboard_part, preview
from formats.curves.models import Benchmark, ModelScore
from formats.curves.stored_results import (
    VERSION,
    check_size,
    commitment_to_field,
    outcome_of,
    ranking_value,
    standing_lines,
)
from rounds.formats import Counting, LeaderboardsContinue, PlayedAlone, PlayedWhileRunning, WithoutPerturbedImages
from rounds.models import Round, RoundEntry
from rounds.planning.entries import frozen
from rounds.running.transitions import locked, move
from rounds.shared_bundle_values import bundle_submission, encode
from submissions.selectors import ready_submissions


class CurvesRounds(LeaderboardsContinue, PlayedAlone, PlayedWhileRunning, WithoutPerturbedImages):
    """See `rounds.formats.RoundFormat`. A place follows from the accuracy under the first threat model of the rules."""

    bundle_format = VERSION
    publication_effect = "The leaderboards continue."

    def ever_played(self, source: SampleSet) -> bool:
        return Benchmark.objects.filter(sample_set__in=[source, *source.draws.all()], fence__gt=0).exists()

    def counting(self, competition: Competition, at: datetime) -> Counting:
        return Counting(ready_submissions())

    def check_field(self, round_: Round, entries: Sequence[RoundEntry], rules: RulesVersion) -> None:
        attacks = rules.rules_as(CurvesRules).attacks
        check_size(models=len(entries), attacks=len(attacks), samples=round_.sample_set.count)

    def freeze(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        if round_.rules is None or round_.sample_set is None:
            raise Fault(f"{round_} has no rules or no samples")
        measure = requests_and_scores.Measure(round_.rules, round_.sample_set)
        rows = [row for entry in entries for row in requests_and_scores.request(entry.submission, measure, round_)]
        Benchmark.objects.bulk_create(rows)

    def commitment_to_field(self, round_: Round, entries: Sequence[RoundEntry], salt: str) -> str:
        models = [asdict(bundle_submission(entry)) for entry in entries]
        return commitment_to_field(_rules(round_), models, salt)

    def start(self, round_: Round) -> None:
        worker_notifications.notify("workers.play")

    def resume(self, round_: Round) -> None:
        worker_notifications.notify("workers.play")

    def advance(self, round_: Round) -> None:
        with transaction.atomic():
            current = locked(round_)
            open_ = current.benchmarks.exclude(state=Benchmark.State.PLAYED)
            if current.state == Round.State.PLAYING and not open_.exists():
                entries = frozen(current)
                current.outcome = object_store.put_open(self.outcome(current, entries))
                RoundEntry.objects.bulk_update(entries, ["place", "value"])
                move(current, "score", by=None, reason="", outcome=current.outcome)

    def outcome(self, round_: Round, entries: Sequence[RoundEntry]) -> IO[bytes]:
        """Return the lines of the bundle; give the entries their places.

        A model that failed under any attack gets no image right.
        """
        rules = _rules(round_)
        played = _by_submission(round_)
        benchmarks = {
            each.pk: [_benchmark_line(each, row) for row in played.get(each.submission_id, [])] for each in entries
        }
        standings = {key: standing_lines(rules, lines) for key, lines in benchmarks.items()}
        value = {key: ranking_value(standings[key], benchmarks[key][0]) for key in benchmarks}
        for each in entries:
            each.value = value[each.pk]
            each.place = 1 + sum(other > each.value for other in value.values())
        models = [_model_line(each, standings[each.pk]) for each in entries]
        lines = [_head(round_, rules), *models, *(line for each in entries for line in benchmarks[each.pk])]
        return BytesIO(encode(lines))

    dashboard_part = staticmethod(dashboard_part)
    preview = staticmethod(preview)

    def playing_workers(self) -> Collection[str]:
        return set(Benchmark.objects.filter(state=Benchmark.State.CLAIMED).values_list("worker", flat=True))

    def being_played(self, sets: QuerySet[SampleSet]) -> QuerySet[SampleSet]:
        needless = benchmark_work.benchmarks.needless().filter(state=Benchmark.State.WAITING)
        over = Q(state__in=[Benchmark.State.PLAYED, Benchmark.State.FAILED]) | Q(pk__in=needless.values("pk"))
        going_on = Benchmark.objects.exclude(over)
        return sets.filter(pk__in=going_on.values("sample_set"))

    def verify(self, competitions: QuerySet[Competition], *, repair: bool) -> Verified:
        stored = ModelScore.objects.filter(rules__competition__in=competitions)
        scored = list(stored.select_related("submission", "rules__competition").order_by("pk"))
        rounds = list(Round.objects.filter(competition__in=competitions).exclude(outcome=""))
        wrong = [
            *_wrong_scores(scored, repair=repair),
            *(each for row in rounds for each in self._wrong(row)),
            *wrong_improvements(competitions),
        ]
        return Verified(scores=len(scored), ranked=len(rounds), differences=tuple(wrong))

    def _wrong(self, scored: Round) -> Iterator[Difference]:
        entries = frozen(scored)
        stored = [(each.place, each.value) for each in entries]
        try:
            follows = self.outcome(scored, entries).read() == object_store.get(scored.outcome)
        except Fault as fault:
            yield Difference(f"{scored}", f"its outcome cannot be computed: {fault}")
            return
        if not follows or stored != [(each.place, each.value) for each in entries]:
            yield Difference(f"{scored}", "it does not follow from its benchmarks")


def _by_submission(round_: Round) -> Mapping[int, list[Benchmark]]:
    found: dict[int, list[Benchmark]] = {}
    for each in round_.benchmarks.select_related("rules__competition").order_by("pk"):
        found.setdefault(each.submission_id, []).append(each)
    return found


def _rules(round_: Round) -> dict[str, Any]:
    if round_.rules is None:
        raise Fault(f"{round_} has no rules")
    return round_.rules.rules_as(CurvesRules).as_dict()


def _head(round_: Round, rules: Mapping[str, Any]) -> dict[str, Any]:
    if round_.sample_set is None:
        raise Fault(f"{round_} has no samples")
    labels = [int(sample.label) for sample in samples_of(round_.sample_set)]
    identity = {"version": VERSION, "competition": signed_slug(round_.competition), "round": round_.number}
    return {
        "kind": "round",
        "format": NAME,
        **(identity if _has_seeds(round_) else {}),
        "samples": round_.commitment,
        "field": round_.field_commitment,
        "salt": round_.field_salt,
        "rules": rules,
        "labels": labels,
    }


def _has_seeds(round_: Round) -> bool:
    """Return whether the bundle of a round names it and its seeds, which one of an earlier version does not."""
    return round_.bundle_format >= VERSION


def _model_line(entry: RoundEntry, standings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    submission = asdict(bundle_submission(entry))
    return {"kind": "model", **submission, "place": entry.place, "value": entry.value, "threat_models": standings}


def _benchmark_line(entry: RoundEntry, played: Benchmark) -> dict[str, Any]:
    """Return a benchmark with the distance of each image: null where nothing was found, and whether it was right."""
    line: dict[str, Any] = {
        "kind": "benchmark", "team": signed_team_slug(entry.submission.repository.entry), "attack": played.attack,
        "knowledge": played.knowledge,
        "goal": played.goal, "norm": played.norm, "queries": played.queries, "reason": played.reason,
        "results": played.result, "right": [], "distances": [],
    }  # fmt: skip
    if _has_seeds(entry.round):
        if played.seed is None:
            raise Fault(f"{played} was played without a stored seed")
        line["seed"] = str(played.seed)
    if played.result:
        found = outcome_of(played.result)
        line["right"] = found.right.tolist()
        line["distances"] = [None if each == float("inf") else each for each in found.distances.tolist()]
    return line


_NUMBERS = ("accuracy", "clean_accuracy", "median_distance", "budgets", "curve")


def _wrong_scores(scored: Sequence[ModelScore], *, repair: bool) -> Iterator[Difference]:
    """Yield the standings that do not follow from the results of their benchmarks."""
    for each in scored:
        rows = Benchmark.objects.filter(
            submission=each.submission_id, sample_set=each.sample_set_id, rules=each.rules_id,
            knowledge=each.knowledge, goal=each.goal, norm=each.norm,
        ).exclude(result="")  # fmt: skip
        played = list(rows.select_related("rules__competition").order_by("pk"))
        try:
            expected = requests_and_scores.of_threat_model(played)
        except Fault as fault:
            yield Difference(f"{each}", f"it cannot be computed: {fault}")
            continue
        changed = [name for name in _NUMBERS if getattr(each, name) != getattr(expected, name)]
        if changed:
            for name in changed:
                setattr(each, name, getattr(expected, name))
            if repair:
                each.save(update_fields=changed)
            yield Difference(f"{each}", f"{', '.join(changed)} do not follow from its benchmarks", repaired=repair)
