"""Rounds of the sizes of the papers: what planning, steps, pages and publication cost, on PostgreSQL where DATABASE_URL
names one."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import django
from django.db import connection
from django.test import Client
from django.urls import reverse

from bench.interleaved import say
from bench.large_bundle import FIELDS
from bench.pages import ENDED_SESSION, QueryCounter, get, kilobytes, own_database, own_memory, processor_seconds
from bench.report import Section, table
from bench.sizes import sized
from bench.static_files import collect_static
from bench.synthetic_results import Field
from bench.tables import analyse, make_tables

FIELD_2018 = sized(Field(352, 96, 63, samples=500), smallest=Field(6, 6, 3, samples=4))
WAITING = sized(10_000, smallest=10)
"""Runs of defences that are not played yet while the pages of a round of 2017 that is playing are measured."""

ACTS = ("act", "processor time", "queries", "memory")
PAGES = ("page", "processor time", "queries", "size", "compressed")


def measure() -> Section:
    """Measure one round of each format, both on one site."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder, own_database(folder) as address:
        os.environ |= {"GAUNTLET_STATE": folder, "DATABASE_URL": address, "GAUNTLET_ANONYMOUS_REQUESTS": "0"}
        django.setup()
        say("paper_rounds: creating the site")
        make_tables()
        collect_static()
        lines = []
        try:
            for year, season in {"2017": _transfer_season, "2018": _query_season}.items():
                acts, pages = Acts(), Pages()
                season(Path(folder), acts, pages)
                lines += [f"{FIELDS[year]}.", "", *table(ACTS, acts.rows), "", *table(PAGES, pages.rows), ""]
        finally:
            connection.close()
    return Section(f"Rounds of the sizes of the papers, on {connection.vendor}", lines[:-1])


class Acts:
    """What is done once, and what it costs the site and its connection to the database."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        """Do it; return its result."""
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak of memory counts from now on
        before, began = own_memory("VmRSS"), processor_seconds()
        counter = QueryCounter()
        with connection.execute_wrapper(counter):
            done = work()
        used, grown = processor_seconds() - began, own_memory("VmHWM") - before
        self.rows.append([name, f"{used:.2f} s", str(counter.queries), f"{max(0, grown) / 1e6:,.0f} MB"])
        say(f"paper_rounds: {', '.join(self.rows[-1])}")
        return done


class Pages:
    """Pages as everybody sees them, and as an organiser does."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []

    def __call__(self, addresses: Mapping[str, str], organiser: Any = None) -> None:
        """Ask for each page; each is made for the one who asks."""
        headers = {"host": "localhost", "accept-encoding": "gzip"}
        client = Client(headers=headers if organiser else headers | ENDED_SESSION)
        if organiser:
            client.force_login(organiser)
        for name, address in addresses.items():
            seen = get(client, address)
            row = [name, f"{1000 * seen.seconds:,.0f} ms", str(seen.queries), *map(kilobytes, (seen.size, seen.sent))]
            self.rows.append(row)
            say(f"paper_rounds: {', '.join(row)}")


def _transfer_season(folder: Path, acts: Acts, pages: Pages) -> None:
    # modules that import models wait until Django is set up
    site = importlib.import_module("bench.transfer_site")
    models = importlib.import_module("formats.transfer.tournaments.models")
    ranking = importlib.import_module("formats.transfer.tournaments.ranking")
    leaderboard = site.make_leaderboard(
        folder / "images", side=sized(299, smallest=16), classes=sized(1000, smallest=10)
    )
    site.count_played_runs()
    ranking.rank(leaderboard)
    competition = leaderboard.competition
    round_, organiser = _begun(acts, competition, "all")
    advance = importlib.import_module("formats.transfer.rounds.round_advancement").advance_round
    acts("first step: requests the runs of all attacks", lambda: advance(round_))
    models.AttackRun.objects.filter(tournament=round_.tournament).delete()
    site.play(round_.tournament)
    runs = models.DefenceRun.objects.filter(attack_run__tournament=round_.tournament)
    models.DefenceRun.objects.filter(pk__in=list(runs.values_list("pk", flat=True)[:WAITING])).update(state="waiting")
    analyse()
    acts(f"step with nothing to do while {WAITING:,} runs of defences wait", lambda: advance(round_))
    pages(_playing(competition, round_), organiser)
    runs.update(state="played")
    models.PairTotal.objects.all().delete()
    site.count_played_runs()
    analyse()
    acts("last step: scores, intervals, and the file of the outcome", lambda: advance(round_))
    _published(acts, pages, round_, organiser)
    tracks = list(site.SIDES)
    pages(
        {f"leaderboard, {track}": reverse("pages:board", args=[competition.slug, track]) for track in tracks}
        | {"leaderboard: matrix of attacks": reverse("pages:matrix", args=[competition.slug, tracks[0]])}
    )


def _query_season(folder: Path, acts: Acts, pages: Pages) -> None:
    site = importlib.import_module("bench.round_site")
    competition = site.make_competition(FIELD_2018)
    round_, organiser = _begun(acts, competition, "halving")
    steps: list[Any] = []
    for step in site.play_to_the_end(round_, FIELD_2018):
        if not steps:
            pages(_playing(competition, round_), organiser)
        steps.append(step)
    named = {"first step": steps[0], "worst step": max(steps[:-1], key=lambda step: step.seconds),
             "last step: scores, and the file of the outcome": steps[-1]}  # fmt: skip
    acts.rows += [
        [f"{name} ({step.triples:,} triples known)", f"{step.seconds:.2f} s", str(step.queries), ""]
        for name, step in named.items()
    ]
    _published(acts, pages, round_, organiser)


def _begun(acts: Acts, competition: Any, schedule: str) -> tuple[Any, Any]:
    """Plan, freeze and start a final; return it and its organiser."""
    site = importlib.import_module("bench.round_site")
    freezing = importlib.import_module("rounds.planning.freeze")
    services = importlib.import_module("rounds.running.lifecycle")
    organiser = site.organiser_of(competition)
    round_ = acts("plan", lambda: site.plan(competition, schedule, organiser))
    acts("freeze", lambda: freezing.freeze(round_=round_, by=organiser))
    acts("start", lambda: services.start(round_=round_, by=organiser))
    return round_, organiser


def _playing(competition: Any, round_: Any) -> dict[str, str]:
    return {
        "status of the site, while it plays": reverse("pages:status"),
        "the round, while it plays": reverse("pages:round", args=[competition.slug, round_.number]),
        "the organisers' page of the round, while it plays": reverse("admin:rounds_round_change", args=[round_.pk]),
        "the admin's dashboard, while it plays": reverse("admin:index"),
    }


def _published(acts: Acts, pages: Pages, round_: Any, organiser: Any) -> None:
    """Publish the scored round, and ask for its pages."""
    publication = importlib.import_module("rounds.publishing.publication")
    round_.refresh_from_db()
    pages({"the organisers' confirmation of the publication": reverse("admin:rounds_round_publish", args=[round_.pk])},
          organiser)  # fmt: skip
    acts("publish", lambda: publication.publish(round_=round_, by=organiser))
    analyse()
    place = [round_.competition.slug, round_.number]
    tracks = list(round_.competition.tracks.order_by("pk").values_list("name", flat=True))
    shown = {f"the round, {track}": f"{reverse('pages:round', args=place)}?track={track}" for track in tracks}
    attacks = [track for track in tracks if track not in ("model", "defence")]
    for track in attacks:
        shown[f"matrix of the round, {track}"] = reverse("pages:round_matrix", args=[*place, track])
        shown[f"the same as CSV, {track}"] = reverse("pages:round_matrix_csv", args=[*place, track])
    pages(shown)
    pages({"the organisers' page of the round": reverse("admin:rounds_round_change", args=[round_.pk])}, organiser)
