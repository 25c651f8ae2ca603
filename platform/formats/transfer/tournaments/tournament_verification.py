"""Verification of counts and standings of the transfer format against the labels that they follow from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db import transaction

from competitions.sample_store import samples_of
from core.data_difference import Difference
from core.errors import Fault
from evaluation.formats.transfer.results import NO_LABEL
from formats.transfer.tournaments import pair_totals
from formats.transfer.tournaments.engine_runs import sizes_of
from formats.transfer.tournaments.models import DefenceRun, Entrant, Run, Tournament
from formats.transfer.tournaments.ranking import INTERVALS, fill_intervals, rank, standings
from formats.transfer.tracks import TARGETED_ATTACK


def differing(tournament: Tournament, *, repair: bool = False) -> Iterator[Difference]:
    """Compare the counts of all played runs with their labels, and the standings with the counts.

    With `repair`, standings are written. The site may run meanwhile.
    """
    yield from _attacks(tournament)
    yield from _defences(tournament)
    for total, columns in pair_totals.differing(tournament, repair=repair):
        named = "; ".join(_change(name, *map(_shown, (getattr(total, name), value))) for name, value in columns.items())
        yield Difference(f"{total} (total {total.pk})", named, repaired=repair)
    with transaction.atomic():
        # nobody enters, leaves or is ranked meanwhile
        Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
        try:
            computed = standings(tournament)
        except Fault as fault:
            yield Difference(str(tournament), f"its standings cannot be computed: {fault}")
            return
        changed = [
            (entrant, changes)
            for entrant, values in computed
            if (changes := [_change(name, getattr(entrant, name), value)
                            for name, value in _comparable(entrant, values).items()
                            if getattr(entrant, name) != value])
        ]  # fmt: skip
        if repair and changed:
            rank(tournament)
    if repair and changed:
        tournament.pair_totals.update(resampled=b"")
        fill_intervals(tournament)
    for entrant, changes in changed:
        yield Difference(f"{entrant} (entrant {entrant.pk})", "; ".join(changes), repaired=repair)


def _comparable(entrant: Entrant, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are there to be compared: intervals follow after a ranking, and tournaments that ended
    under an older version have none."""
    without = all(getattr(entrant, name) is None for name in INTERVALS)
    return {name: value for name, value in values.items() if not (without and name in INTERVALS)}


def _attacks(tournament: Tournament) -> Iterator[Difference]:
    played = tournament.attack_runs.filter(state=Run.State.PLAYED).select_related("attack").order_by("pk")
    for run in played.iterator(chunk_size=1000):
        made = sum(map(bool, run.hashes))
        if run.made != made or run.images != len(run.hashes):
            yield Difference(f"{run} (run {run.pk})", f"{_change('made', run.made, made)} of {len(run.hashes)}")


def _defences(tournament: Tournament) -> Iterator[Difference]:
    truth = _truth(tournament)
    played = DefenceRun.objects.filter(attack_run__tournament=tournament, state=Run.State.PLAYED)
    for run in played.select_related("attack_run__attack", "defence").order_by("pk").iterator(chunk_size=1000):
        targeted = run.attack_run.attack.track_name == TARGETED_ATTACK
        true, targets = truth[run.attack_run.batch]
        expected = {
            "labelled": sum(label != NO_LABEL for label in run.labels),
            "correct": _equal(run.labels, true),
            "hits": _equal(run.labels, targets) if targeted else 0,
        }
        changes = [
            _change(name, getattr(run, name), value) for name, value in expected.items() if getattr(run, name) != value
        ]
        if changes:
            yield Difference(f"{run} (run {run.pk})", f"by its labels, {'; '.join(changes)}")


def _truth(tournament: Tournament) -> list[tuple[list[int], list[int | None]]]:
    """Return the true labels and the targets of each batch."""
    samples, start, found = samples_of(tournament.sample_set), 0, []
    for _, images in sizes_of(tournament):
        own = samples[start : start + images]
        found.append(([sample.label for sample in own], [sample.target for sample in own]))
        start += images
    return found


def _equal(labels: Sequence[int], others: Sequence[int | None]) -> int:
    return sum(label == other for label, other in zip(labels, others, strict=False))


def _shown(value: object) -> object:
    """Return the value of a total's column as a message names it."""
    return f"{len(value)} bytes" if isinstance(value, bytes | memoryview) else value


def _change(name: str, value: object, expected: object) -> str:
    return f"{name} is {value} and should be {expected}"
