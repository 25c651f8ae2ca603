"""A leaderboard of the transfer format of the size of 2017, written directly into the database.

Import only after Django is set up.
"""

from __future__ import annotations

import importlib
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from django.apps import apps
from django.db import connection

from accounts.models import Team, User
from bench.sizes import sized
from bench.tables import analyse
from competitions.models import Competition, Entry, SampleSet
from competitions.sample_store import draw, samples_of
from competitions.services import import_competition
from core import clock
from evaluation.datasets.base import Dataset, Reading
from evaluation.datasets.prepared_store import prepare
from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.transfer.results import NO_LABEL
from formats.transfer.tournaments import services
from formats.transfer.tournaments.engine_runs import repeats_due
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant, RepeatRun, Run, Tournament
from formats.transfer.tracks import ATTACK, TARGETED_ATTACK
from repositories.models import Repository
from submissions.models import Player, Submission

SIDES = sized(
    {"attack": 91, "targeted_attack": 65, "defence": 107}, smallest={"attack": 3, "targeted_attack": 2, "defence": 3}
)
BATCHES, IMAGES = sized(50, smallest=3), sized(100, smallest=4)
RESULTS = sized(20, smallest=3)
"""Number of different results of runs of defences on each batch, which are copied to all of them."""

DAYS = 8.4
"""Time over which they are spread: some 100,000 runs on a day."""


def make_leaderboard(folder: Path, side: int, classes: int) -> Tournament:
    """Create a tournament in which every attack has met every defence on every batch, each of a team of its own.

    The images of random pixels, of `side` x `side`, are prepared in `folder`. The set of the final has no image twice;
    on the leaderboard every batch has the same ones.
    """
    names = tuple(f"class {number}" for number in range(classes))
    counts = {"development": 8, "validation": IMAGES, "final": IMAGES * BATCHES}
    splits = {name: partial(_random_images, count, side, classes) for name, count in counts.items()}
    made = Dataset("random", names, ImageShape(side, side, 3), splits)
    common = {"source": f"folder:{folder}", "target_seed": 7}
    prepare(made, "folder", folder, on_image=lambda split, total: None)
    competition = import_competition(
        {
            "competition": {
                "slug": "bench-transfer",
                "title": "Bench",
                "starts_at": clock.now() - timedelta(days=60),
                "ends_at": clock.now() + timedelta(days=30),
                "public": True,
            },
            "rules": {
                "format": "transfer",
                "name": "bench",
                "shape": [side, side, 3],
                "classes": classes,
                "batch_images": IMAGES,
                "epsilons": [4, 8, 12, 16],
                "batch_seconds": 500.0,
            },
            "tracks": {name: {"title": name, "quota": 5} for name in SIDES},
            "sample_sets": [
                common | {"name": name, "purpose": name, "split": name, "count": count}
                for name, count in counts.items()
            ],
        }
    )
    validation = competition.sample_sets.get(purpose="validation")
    digest = draw(validation, list(range(IMAGES)) * BATCHES)
    SampleSet.objects.filter(pk=validation.pk).update(digest=digest, count=IMAGES * BATCHES)
    tournament = services.make_tournament(competition)
    for track, count in SIDES.items():
        _enter(tournament, [submit(competition, track, f"{track}-{number}") for number in range(count)])
    play(tournament)
    return tournament


def _random_images(size: int, side: int, classes: int, count: int | None) -> Reading:
    random = np.random.default_rng(size)  # splits differ in their sizes, and so in their images
    size = size if count is None else min(size, count)
    samples = (
        Sample(number, random.integers(256, size=(side, side, 3), dtype=np.uint8), number % classes)
        for number in range(size)
    )
    return Reading(size, samples)


def play(tournament: Tournament) -> None:
    """Write all runs of a tournament that has none, played. Nothing counts them for its pairs (`count_played_runs`)."""
    _attack(tournament)
    _label(tournament)
    for defence in Player.objects.filter(track_name="defence"):
        repeat(tournament, defence)
    analyse()


def count_played_runs() -> None:
    """Count the runs of a site whose pairs have no totals, as its migration does."""
    folder = importlib.import_module("formats.transfer.tournaments.migrations").__path__[0]
    [migration] = Path(folder).glob("*_totals_of_pairs.py")
    importlib.import_module(f"formats.transfer.tournaments.migrations.{migration.stem}").count_played_runs(apps, None)


def submit(competition: Competition, track: str, name: str) -> Submission:
    """Create a ready submission of a new team."""
    now = clock.now()
    person, _ = User.objects.get_or_create(username="everybody")
    team = Team.objects.create(slug=name, name=name, slug_skeleton=name, name_skeleton=name, created_at=now)
    entry = Entry.objects.create(team=team, competition=competition, joined_at=now)
    repository = Repository.objects.create(entry=entry, track=competition.tracks.get(name=track), created_at=now)
    player = Player.objects.create(
        competition=competition, track_name=track, digest=f"sha256:{name}", title=name, command=["true"],
        repository=repository, created_at=now,
    )  # fmt: skip
    return Submission.objects.create(
        repository=repository, commit=f"{player.pk:040x}", tag="submission-1", submitted_by=person, received_at=now,
        title=name, licence="MIT", state=Submission.State.READY, state_since=now, player=player,
    )  # fmt: skip


def repeat(tournament: Tournament, defence: Player) -> None:
    """Create the repeated runs of a defence that are due, played."""
    due = repeats_due((SIDES["attack"] + SIDES["targeted_attack"]) * BATCHES)
    RepeatRun.objects.bulk_create(
        RepeatRun(tournament=tournament, defence=defence, number=number, state=Run.State.PLAYED)
        for number in range(due)
    )


def labels_of(tournament: Tournament, random: np.random.Generator, strength: float, batch: int = 0) -> dict[str, Any]:
    """Return a result of a defence that is right with the probability `strength`; one in fifty omits images.

    On a leaderboard every batch has the same images.
    """
    samples = samples_of(tournament.sample_set)[batch * IMAGES : (batch + 1) * IMAGES]
    truth = np.array([sample.label for sample in samples])
    targets = np.array([-2 if sample.target is None else sample.target for sample in samples])
    labels = np.where(
        random.random(IMAGES) < strength, truth, random.integers(0, len(tournament.sample_set.class_names), IMAGES)
    )
    if random.random() < 0.02:
        labels[random.random(IMAGES) < 0.3] = NO_LABEL
    return {
        "labels": labels.tolist(),
        "labelled": int((labels != NO_LABEL).sum()),
        "correct": int((labels == truth).sum()),
        "hits": int((labels == targets).sum()),
        "seconds": float(np.round(random.gamma(4.0) * 20, 3)),
        "calibration": 1.0,
        "rows": {},
    }


def _enter(tournament: Tournament, submissions: list[Submission]) -> None:
    track = submissions[0].repository.track
    Entrant.objects.bulk_create(
        Entrant(tournament=tournament, track=track, player=each.player, submission=each, entered_at=clock.now())
        for each in submissions
        if each.player is not None
    )


def _attack(tournament: Tournament) -> None:
    attacks = Player.objects.filter(track_name__in=(ATTACK, TARGETED_ATTACK))
    AttackRun.objects.bulk_create(
        (
            AttackRun(
                tournament=tournament, attack=attack, batch=batch, epsilon=4 * (batch % 4 + 1), images=IMAGES,
                made=IMAGES, hashes=[f"{image:064x}" for image in range(IMAGES)], state=Run.State.PLAYED, fence=1,
                played_at=clock.now(), seconds=100.0 + batch, calibration=1.0,
                defences_requested=True,
            )
            for attack in attacks.order_by("pk")
            for batch in range(BATCHES)
        ),
        batch_size=500,
    )  # fmt: skip


def _label(tournament: Tournament) -> None:
    """Create the run of every defence on every run of an attack, each with one of the `RESULTS` of its batch."""
    random, now = np.random.default_rng(0), clock.now()
    first = Player.objects.filter(track_name="attack").order_by("pk")[0]
    templates = AttackRun.objects.bulk_create(
        AttackRun(tournament=tournament, attack=first, batch=BATCHES + number, epsilon=4, images=IMAGES)
        for number in range(RESULTS * BATCHES)
    )
    defence = Player.objects.filter(track_name="defence").order_by("pk")[0]
    rows = DefenceRun.objects.bulk_create(
        DefenceRun(
            attack_run=template, defence=defence, state=Run.State.PLAYED, fence=1,
            entry=Entry.objects.order_by("pk")[number % sum(SIDES.values())],
            played_at=now - timedelta(days=DAYS * number / (RESULTS * BATCHES)),
            **labels_of(tournament, random, random.uniform(0.3, 0.95), number % BATCHES),
        )
        for number, template in enumerate(templates)
    )  # fmt: skip
    copied = [str(field.column) for field in DefenceRun._meta.concrete_fields if not field.primary_key]
    own = {"attack_run_id": "run.id", "defence_id": "defence.id",
           "hits": "case attack.track_name when 'targeted_attack' then result.hits else 0 end"}  # fmt: skip
    statement = " ".join(
        (
            "insert into tournaments_defencerun (",
            ", ".join(f'"{column}"' for column in copied),
            ") select",
            ", ".join(own.get(column, f'result."{column}"') for column in copied),
            "from tournaments_attackrun run join submissions_player attack on attack.id = run.attack_id",
            "join submissions_player defence on defence.track_name = 'defence'",
            "join tournaments_defencerun result",
            "on result.id = %s + (run.id * 31 + defence.id * 17) %% %s * %s + run.batch",
            "where run.state = 'played' and run.tournament_id = %s",
        )
    )
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("set session_replication_role = replica")  # without looking up each foreign key
        cursor.execute(statement, [rows[0].pk, RESULTS, BATCHES, tournament.pk])
        if connection.vendor == "postgresql":
            cursor.execute("set session_replication_role = origin")
    AttackRun.objects.filter(pk__in=[each.pk for each in templates]).delete()
