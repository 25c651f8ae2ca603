"""What a season will cost, estimated before it from the measured times of another one, and what it then used."""

from __future__ import annotations

import math
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.db.models import Sum

from accounts.models import User
from accounts.services import create_team
from competitions.formats import competition_formats
from competitions.models import Competition, Entry, Organiser, SampleSet, Track
from competitions.sample_store import worst_cases
from competitions.season_costs import CostLine, ExpectedSeason, ExpectedTrack
from competitions.services import enter, import_competition
from core import clock, object_store, worker_notifications
from evaluation.formats.query.results import AuditReport, Outcome, RefereedSample
from formats.curves.models import Benchmark
from formats.query.matches import piece_queue as pieces
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.matches.piece_result import AuditedPiece, PlayedPiece
from formats.transfer.tournaments import run_queue
from formats.transfer.tournaments.models import AttackRun, DefenceRun, RepeatRun
from repositories.models import Repository
from rounds.publishing.publication import publish
from rounds.running import lifecycle
from submissions.models import Build, Player, QuotaSlot, Submission
from tests.platform.conftest import FakeClock
from tests.platform.formats import simulated_work
from tests.platform.formats.simulated_work import sweep_and_play
from tests.platform.formats.transfer.tournaments.results import true_result

TEMPLATES = {
    "query": "platform/demo/digits.toml",
    "transfer": "competitions/digits-transfer.toml",
    "curves": "competitions/digits-curves.toml",
}
SIZES = {"development": 2, "validation": 8, "test": 8, "final": 9}
"""Images of a set by its purpose: those of a final do not fit into one piece, nor into one batch."""

TEAMS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "query": {"model": (3, 4), "untargeted": (4, 5), "targeted": (2, 2)},
    "transfer": {"attack": (4, 6), "targeted_attack": (2, 2), "defence": (3, 5)},
    "curves": {"model": (3, 5)},
}
"""Teams and submissions of each track."""

START, ANSWER, OWN = 0.5, 0.02, 0.03
"""Seconds to start the players of a piece, of an answer, and of an attack's own work for a query."""


def document_of(root: Path, name: str, slug: str, split: str) -> dict[str, Any]:
    """Return a template on few digits with a final, in `transfer` also a round, without baselines: nothing is built."""
    document = tomllib.loads((root / TEMPLATES[name]).read_text(encoding="utf-8"))
    sets, skip = [], 0
    for each in document["sample_sets"]:
        count = SIZES[each["purpose"]]
        sets.append(each | {"source": "digits", "split": split, "order": "secret", "count": count, "skip": skip})
        skip += count
    sizes = {"query": {"opponents": 3, "piece_samples": 8}, "transfer": {"batch_images": 8}, "curves": {}}
    rules = document["rules"] | sizes[name]
    about = {key: value for key, value in document["competition"].items() if key != "smoke_opponent"}
    about |= {"slug": slug, "new_validation_set": True, "starts_at": at(1), "ends_at": at(90)}
    tracks = {track: values | {"baselines": []} for track, values in document["tracks"].items()}
    rounds = [{"title": "Final", "kind": "final", "sample_set": "final", "starts_at": at(91), "ends_at": at(94)}]
    if name == "transfer":  # a second round takes a site of the query format as long again, by the same formulas
        development = {"title": "Round 1", "kind": "development", "sample_set": "test-1"}
        rounds.insert(0, development | {"starts_at": at(45), "ends_at": at(48)})
    schedule = {"schedule": "ladder-2"} if name == "query" else {}
    return document | {
        "competition": about, "sample_sets": sets, "rules": rules, "tracks": tracks,
        "rounds": [each | schedule for each in rounds],
    }  # fmt: skip


def at(day: int) -> Any:
    return clock.now() + timedelta(days=day)


def submit(competition: Competition, track: Track, number: int, entry: Entry, captain: User) -> None:
    """A team has one more ready submission to a track; its build took 40 s, its smoke test 20 s."""
    now, commit = clock.now(), f"{entry.pk:012x}{track.pk:016x}{number:012x}"
    repository, _ = Repository.objects.get_or_create(entry=entry, track=track, defaults={"created_at": now})
    player = Player.objects.create(
        competition=competition, track_name=track.name, digest=f"sha256:{commit}", title=f"Number {number}",
        command=["main"], repository=repository, commit=commit, created_at=now,
    )  # fmt: skip
    names = {"repository": repository, "commit": commit, "tag": f"submission-{number}", "title": "Wise"}
    submission = Submission.objects.create(
        **names, submitted_by=captain, received_at=now, licence="MIT", state=Submission.State.READY, state_since=now,
        player=player,
    )  # fmt: skip
    QuotaSlot.objects.create(**names, reserved_by=captain, reserved_at=now, state="used", submission=submission)
    began, checked = now - timedelta(seconds=60), now - timedelta(seconds=20)
    Build.objects.create(
        submission=submission, attempt=1, worker="arena-1/build/0", started_at=began, checks_began_at=checked,
        finished_at=now, outcome="ready",
    )  # fmt: skip


@dataclass
class Workers:
    """Workers whose work takes time, which they add up."""

    the_clock: FakeClock
    spent: float = 0.0

    def work(self, seconds: float) -> None:
        self.spent += seconds
        self.the_clock.forward(seconds=seconds)

    def piece(self, claim: Any) -> None:
        """Play a piece, in which each sample has its own number of queries, or audit a model."""
        piece, match = claim.piece, claim.piece.match
        self.work(START)
        if piece.is_audit:
            self.audit(claim, match)
            return
        most, rows = worst_cases(match.sample_set), []
        for sample in range(piece.first, piece.first + piece.count):
            drawn = zlib.crc32(f"{match.model.digest} {match.attack.digest} {sample}".encode())
            distance, queries = (0.1 + 0.8 * drawn / 2**32) * most[sample], 10 + drawn % 11
            rows.append(
                RefereedSample(sample, 0, None, Outcome.ADVERSARIAL, distance, most[sample], queries, 0.5, None)
            )
        asked = sum(row.queries for row in rows)
        self.work(asked * (ANSWER + OWN))
        artefact, kept = object_store.put(b"the images of a piece" * piece.count), object_store.put(b"frames")
        pieces.commit(
            claim,
            PlayedPiece(
                tuple(rows), asked * (ANSWER + OWN), AuditReport(fresh_due=10), [], artefact, kept, asked * ANSWER
            ),
        )

    def audit(self, claim: Any, match: Match) -> None:
        """Ask a freshly started model about ten images of each piece in frames, and about two alone."""
        audited = []
        for piece in match.pieces.filter(state=Piece.State.PLAYED).exclude(kept=""):
            self.work(12 * ANSWER)
            report = replace(AuditReport(**piece.audit), fresh=10, alone=2)
            audited.append(AuditedPiece(piece.pk, piece.kept, report, piece.artefact))
        pieces.commit_audit(claim, audited)

    def run(self, claim: Any) -> None:
        """Run an attack, or a defence, on the images of a batch."""
        images = len(claim.images) if isinstance(claim, RepeatRun) else getattr(claim, "attack_run", claim).images
        seconds = images * (0.5 if isinstance(claim, AttackRun) else 0.2)
        self.work(seconds)
        run_queue.commit(claim, true_result(claim) | {"seconds": seconds})

    def benchmark(self, claim: Any) -> None:
        """Run an attack with all its queries."""
        self.work(claim.sample_set.count * claim.queries * 0.0005)
        simulated_work._commit_benchmark(claim)


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch, the_clock: FakeClock, db: None) -> Workers:
    """The workers of the site."""
    made = Workers(the_clock)
    commits = {"pieces": made.piece, "runs": made.run, "benchmarks": made.benchmark}
    monkeypatch.setattr(simulated_work, "COMMITS", {**simulated_work.COMMITS, **commits})
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: None)
    current_app.loader.import_default_modules()  # as a worker does when it starts
    return made


def take_part(competition: Competition, teams: Mapping[str, tuple[int, int]]) -> None:
    """Let so many teams make so many submissions to each track, the first of each team first."""
    entries = []
    for number in range(max(teams for teams, _ in teams.values())):
        name = f"{competition.slug}-{number}"
        captain = User.objects.create_user(name, f"{name}@example.org")
        entries.append(
            (enter(team=create_team(slug=name, name=name, captain=captain), competition=competition), captain)
        )
    for round_of in range(3):
        for track in competition.tracks.all():
            of_track, submissions = teams[track.name]
            for number in range(of_track):
                if of_track * round_of + number < submissions:
                    submit(competition, track, round_of, *entries[number])
        sweep_and_play()


def whole_season(competition: Competition, olga: User, the_clock: FakeClock) -> None:
    """Play and publish every planned round."""
    for round_ in competition.rounds.order_by("number"):
        the_clock.at = max(the_clock.at, round_.window.starts_at)
        sweep_and_play()
        round_.refresh_from_db()
        lifecycle.start(round_=round_, by=olga)
        sweep_and_play()
        round_.refresh_from_db()
        assert (round_.state, round_.problem) == ("scored", "")
        the_clock.at = round_.window.ends_at
        publish(round_=round_, by=olga)
        sweep_and_play()
        round_.refresh_from_db()
        assert round_.problem == ""


def used(sample_set: SampleSet) -> tuple[int, int, int]:
    """Return what was played on a set: items, samples, and queries where they are counted."""
    if sample_set.competition.format == "query":
        played = Piece.objects.filter(match__sample_set=sample_set, kind=Piece.Kind.PLAY).aggregate(sum=Sum("count"))
        asked = SampleResult.objects.filter(match__sample_set=sample_set).aggregate(sum=Sum("queries"))
        return Match.objects.filter(sample_set=sample_set).count(), played["sum"] or 0, asked["sum"] or 0
    if sample_set.competition.format == "curves":
        queries = [each.queries for each in Benchmark.objects.filter(sample_set=sample_set)]
        return len(queries), len(queries) * sample_set.count, sum(queries) * sample_set.count
    attacks = [each.images for each in AttackRun.objects.filter(tournament__sample_set=sample_set)]
    defences = DefenceRun.objects.filter(attack_run__tournament__sample_set=sample_set)
    labelled = [each.attack_run.images for each in defences.select_related("attack_run")]
    repeated = [len(each.images) for each in RepeatRun.objects.filter(tournament__sample_set=sample_set)]
    runs = [*attacks, *labelled, *repeated]
    return len(runs), sum(runs), 0


def sums(lines: Sequence[CostLine]) -> tuple[int, int, float]:
    return sum(each.number for each in lines), sum(each.samples for each in lines), sum(each.queries for each in lines)


@pytest.mark.slow(40)
@pytest.mark.parametrize("name", TEMPLATES)
def test_an_estimate_before_the_season_is_within_15_percent_of_what_it_used(
    workers: Workers, the_clock: FakeClock, root: Path, name: str
) -> None:
    """The times are those of last year's leaderboard, with other teams and other numbers of them."""
    part, olga = competition_formats[name], User.objects.create_user("olga", "olga@example.org")
    last_year = import_competition(document_of(root, name, "last-year", "train"))
    take_part(last_year, dict.fromkeys(TEAMS[name], (2, 2)))
    competition = import_competition(document_of(root, name, "this-year", "final"))
    Organiser.objects.create(competition=competition, user=olga)
    known = part.season_quantities(competition)
    assert all("of other competitions of this site" in each.source for each in known if each.name != "stored_bytes")
    tracks = {track: ExpectedTrack(*numbers) for track, numbers in TEAMS[name].items()}
    costs = part.season_costs(competition, ExpectedSeason(tracks, {each.name: each.value for each in known}))

    workers.spent = 0.0
    take_part(competition, TEAMS[name])
    whole_season(competition, olga, the_clock)

    validation = list(competition.sample_sets.filter(purpose="validation", drawn_from=None).order_by("pk"))
    rounds = list(competition.rounds.order_by("number"))
    groups = {"Leaderboard": validation[0]}
    for round_, renewed in zip(rounds, validation[1:], strict=True):
        groups |= {round_.title: round_.sample_set, f"Leaderboards after {round_.title}": renewed}
    lines = [line for line in costs.lines if line.unit not in ("builds", "tests")]
    for title, sample_set in groups.items():
        of_it = [line for line in lines if _is_of(line, title)]
        assert sums(of_it) == pytest.approx(used(sample_set), rel=0.15), title
    assert math.fsum(line.seconds for line in lines) == pytest.approx(workers.spent, rel=0.15)
    made = Build.objects.filter(submission__repository__track__competition=competition)
    builds = [line for line in costs.lines if line.unit in ("builds", "tests")]
    assert [(line.number, line.seconds) for line in builds] == [
        (made.count(), 40.0 * made.count()),
        (made.count(), 20.0 * made.count()),
    ]


def _is_of(line: CostLine, title: str) -> bool:
    if title == "Leaderboard":
        return line.title.startswith("Leaderboard") and "after" not in line.title
    return line.title == title or line.title.startswith(f"{title}:")
