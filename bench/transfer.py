"""A leaderboard of the transfer format of the size of 2017: commits with their steps, rankings, claims, and memory.

On PostgreSQL where DATABASE_URL names one.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import django
from django.db import connection
from django.db.models import OuterRef, Subquery

from bench.interleaved import say
from bench.pages import database_seconds, own_database, own_memory, processor_seconds
from bench.report import Section, table
from bench.sizes import sized
from bench.tables import analyse, make_tables

CLAIMS = sized(100, smallest=3)
COPIED = sized(True, smallest=False)
"""Whether the sums of one attack are given to all others, which would take minutes to compute."""

RANKINGS = sized(5, smallest=1)
WAITING = sized(10_000, smallest=10)
SWEEPS = sized(5, smallest=1)
NEWLY_DUE = sized(3, smallest=1)
"""Repeats of each defence that are due when one attack more was met."""

OPEN_BATCHES = sized(2, smallest=2)
"""Batches of each attack that a newcomer has not labelled yet when the measurement of its commits begins."""


def measure() -> Section:
    """Measure on a database of its own."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder, own_database(folder) as address:
        os.environ |= {"GAUNTLET_STATE": folder, "DATABASE_URL": address}
        django.setup()
        say("transfer: creating the site")
        make_tables()
        try:
            return _measure(Path(folder))
        finally:
            connection.close()


def _measure(folder: Path) -> Section:
    # modules that import models wait until Django is set up
    site = importlib.import_module("bench.transfer_site")
    ranking = importlib.import_module("formats.transfer.tournaments.ranking")
    models = importlib.import_module("formats.transfer.tournaments.models")
    tournament = site.make_leaderboard(folder / "images", side=64, classes=10)
    say("transfer: counting the runs that are played already")
    counted = _timed(site.count_played_runs)
    analyse()
    runs = models.DefenceRun.objects.count()
    rows: list[list[str]] = []

    def add(name: str, seen: Sequence[tuple[float, int]], target: str = "") -> None:
        rows.append([name, target, *_spread([each[0] for each in seen]), _peak(seen)])
        say(f"transfer: {', '.join(rows[-1])}")

    add("ranking", [_used(lambda: ranking.rank(tournament)) for _ in range(RANKINGS)], "under 1,000 ms")
    add("the same from all runs, as before", [_used(lambda: _scores_from_runs(tournament))])
    add("sums behind the intervals of one attack, once", [_keep_sums(tournament)])
    add("intervals, after the ranking", [_used(lambda: ranking.fill_intervals(tournament))])
    for name, seen in _commits(site, tournament).items():
        add(name, seen, "under 50 ms" if name.startswith("commit of a run") else "")
    add("claim, in the database", _claims(site, tournament), "under 20 ms")
    heads = ("", "target of the 95th percentile", "median", "95th percentile", "times", "memory")
    return Section(
        f"A leaderboard of the transfer format, on {connection.vendor}",
        [
            f"{sum(site.SIDES.values())} entrants, {runs:,} played runs of defences on {site.BATCHES} batches of "
            f"{site.IMAGES} images. Times are processor time of the site and of its connection to the "
            "database; memory is the most that the process had more than before. "
            f"Counting the runs of an existing site, once: {counted:.1f} s.",
            "",
            *table(heads, rows),
        ],
    )


def _scores_from_runs(tournament: Any) -> None:
    """Compute the scores as before totals were kept, without intervals."""
    selectors, adapter = _modules("selectors", "engine_runs")
    sides = _sides(tournament)
    seconds = selectors.seconds_from_runs(tournament, [*sides[0], *sides[1]])
    adapter.standings_of(selectors.counts_from_runs(tournament, *sides), tournament, seconds)


def _keep_sums(tournament: Any) -> tuple[float, int]:
    """Measure the sums of one attack and all defences, and give them to all other attacks: values do not matter."""
    (resampled_pairs,) = _modules("resampled_pairs")
    attacks, defences = _sides(tournament)
    used = _used(lambda: resampled_pairs.keep_sums(tournament, attacks[:1], defences))
    totals = tournament.pair_totals
    for defence, packed in totals.filter(attack=attacks[0]).values_list("defence", "resampled") if COPIED else ():
        totals.filter(defence=defence).update(resampled=packed)
    return used


def _sides(tournament: Any) -> tuple[list[Any], list[Any]]:
    """Return the players that attack, and those that defend."""
    players = [each.player for each in tournament.entrants.select_related("player").order_by("pk")]
    return (
        [each for each in players if each.track_name != "defence"],
        [each for each in players if each.track_name == "defence"],
    )


def _commits(site: Any, tournament: Any) -> dict[str, list[tuple[float, int]]]:
    """Commit the last runs of a new defence, and all of a new attack, each with the step that it causes."""
    services, models = _modules("services", "models")
    random = site.np.random.default_rng(1)
    seen: dict[str, list[tuple[float, int]]] = defaultdict(list)
    competition = tournament.competition
    defence = site.submit(competition, "defence", "new-defence").player
    waiting = models.DefenceRun.objects.filter(state="waiting")
    seen["sweep that requests the runs of a new defence"].append(_used(lambda: services.advance(tournament)))
    name = f"sweep with nothing to do while {waiting.count():,} runs wait"
    seen[name] = [_used(lambda: services.advance(tournament)) for _ in range(SWEEPS)]
    given, early = site.labels_of(tournament, random, 0.7), site.BATCHES - OPEN_BATCHES
    for targeted in (False, True):
        own = given | {"hits": given["hits"] * targeted}
        attacks = [each for each in _sides(tournament)[0] if (each.track_name == "targeted_attack") == targeted]
        sums = {name: own[name] * early for name in ("labelled", "correct", "hits")} | {"played": early}
        models.PairTotal.objects.bulk_create(
            models.PairTotal(tournament=tournament, attack=attack, defence=defence, seconds=bytes(8 * early), **sums)
            for attack in attacks
        )
        waiting.filter(attack_run__batch__lt=early, attack_run__attack__in=attacks).update(state="played", **own)
    analyse()
    while (run := _claimed()) is not None:
        result = site.labels_of(tournament, random, 0.7)
        result["hits"] *= run.attack_run.attack.track_name == "targeted_attack"
        entrants = tournament.entrants.filter(left_at=None).count()
        used = _used(lambda run=run, result=result: _commit(run, result))  # type: ignore[misc]
        entered = tournament.entrants.filter(left_at=None).count() > entrants
        name = "last commit of a newcomer, which ranks everybody" if entered else "commit of a run of a defence"
        seen[f"{name}, with its step"].append(used)
    seen["sweep that requests the repeats of a new defence, all of them"].append(
        _used(lambda: services.advance(tournament))
    )
    models.RepeatRun.objects.filter(state="waiting").update(state="played")
    _due_everywhere(models.RepeatRun)
    seen["sweep that requests some repeats of all defences"].append(_used(lambda: services.advance(tournament)))
    models.RepeatRun.objects.filter(state="waiting").update(state="played")
    site.submit(competition, "attack", "new-attack")
    services.advance(tournament)
    for run in [_claimed() for _ in range(site.BATCHES)]:
        result = {"made": site.IMAGES, "hashes": [f"{run.batch:064x}"] * site.IMAGES, "artefact": "0" * 64}
        result |= {"seconds": 100.0, "calibration": 1.0}
        used = _used(lambda run=run, result=result: _commit(run, result))  # type: ignore[misc]
        seen["commit of a run of an attack (1 of 108), which opens those of all defences, with its step"].append(used)
    name = f"sweep with nothing to do while {waiting.count():,} runs wait"
    seen[name] = [_used(lambda: services.advance(tournament)) for _ in range(SWEEPS)]
    waiting.delete()
    return dict(seen)


def _due_everywhere(repeats: Any) -> None:
    """Delete the last repeats of each defence, as many as a new attack makes due."""
    newest = repeats.objects.filter(defence=OuterRef("defence")).order_by("-number").values("number")[:1]
    repeats.objects.filter(number__gt=Subquery(newest) - NEWLY_DUE).delete()


def _commit(run: Any, result: dict[str, Any]) -> None:
    """Commit a run as a worker does, and take the step of which it notifies."""
    services, queue, step_notifications, models = _modules("services", "run_queue", "step_notifications", "models")
    queue.commit(run, result)
    step_notifications.announce(run)
    if models.Tournament.objects.filter(pk=run.tournament.pk, step_notified=True).exists():
        services.follow_up(run.tournament)


def _claims(site: Any, tournament: Any) -> list[tuple[float, int]]:
    """Claim while the runs of some new defences wait, and those of a day are played."""
    services, models = _modules("services", "models")
    for number in range(-(-WAITING // (site.BATCHES * (site.SIDES["attack"] + site.SIDES["targeted_attack"])))):
        site.submit(tournament.competition, "defence", f"waiting-{number}")
    services.advance(tournament)
    extra = models.DefenceRun.objects.filter(state="waiting").order_by("-pk").values_list("pk", flat=True)[WAITING:]
    models.DefenceRun.objects.filter(pk__in=list(extra)).delete()
    analyse()
    seen = []
    for number in range(CLAIMS):
        before = database_seconds()
        _claimed(number)
        seen.append((database_seconds() - before, 0))
    return seen


def _claimed(worker: int = 0) -> Any:
    """Claim as a worker does, over all kinds of work; return the run, None if nothing waits."""
    queue, models = (importlib.import_module(f"workers.{name}") for name in ("queue", "models"))
    claimed = queue.claim(models.Worker(name=f"bench/{worker}", worker_class="cpu"))
    return claimed and claimed.claim


def _modules(*names: str) -> tuple[Any, ...]:
    return tuple(importlib.import_module(f"formats.transfer.tournaments.{name}") for name in names)


def _timed(work: Callable[[], object]) -> float:
    """Return the processor seconds of the work, here and in the database: load on the host changes them little."""
    start = processor_seconds()
    work()
    return processor_seconds() - start


def _used(work: Callable[[], object]) -> tuple[float, int]:
    """Return the seconds of the work, and the bytes by which the resident memory grew at most meanwhile."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from now on
    before = own_memory("VmRSS")
    seconds = _timed(work)
    return seconds, max(0, own_memory("VmHWM") - before)


def _spread(seconds: list[float]) -> tuple[str, str, str]:
    highest = quantiles(seconds, n=20, method="inclusive")[-1] if len(seconds) > 1 else seconds[0]
    return f"{1000 * median(seconds):,.1f} ms", f"{1000 * highest:,.1f} ms", str(len(seconds))


def _peak(used: Sequence[tuple[float, int]]) -> str:
    return f"{max(each for _, each in used) / 1e6:,.0f} MB"


if __name__ == "__main__":
    print(measure().text())
