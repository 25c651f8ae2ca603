"""A published final of three teams on two digits, made of rows and of real files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pytest

from accounts.models import Team, User
from competitions.models import Competition, Entry, FreezeWindow, RulesVersion, SampleSet, Track
from competitions.sample_draw import draw_samples, keep_draw
from competitions.sample_store import keep_samples
from core import clock, object_store
from evaluation.formats.query.results import Outcome, PieceResult, RefereedSample, Trace
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.piece_file import pack
from formats.query.matches.models import Match, Piece
from formats.query.matches.models import SampleResult as SampleRow
from formats.query.rounds.models import RoundMatch
from repositories.models import Repository
from rounds.models import Round, RoundEntry
from submissions.models import Player, Submission

SALT = "5" * 64
SAMPLES = 3
LINES = b'{"kind":"head"}\n{"kind":"sample"}\n'


@dataclass
class Published:
    """The round, its players and what was perturbed of its samples."""

    round: Round
    entries: dict[str, RoundEntry]
    pair: Match
    perturbed: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]


@pytest.fixture
def keep(competition: Competition, rules: RulesVersion) -> Callable[..., SampleSet]:
    """Keeps samples of a split for a purpose."""

    def made(name: str, purpose: str, split: str, count: int = 6) -> SampleSet:
        digest, class_names = keep_samples(
            source="digits", split=split, count=count, target_seed=7, rules=rules.rules_as(QueryRules)
        )
        return SampleSet.objects.create(
            competition=competition, name=name, purpose=purpose, source="digits", split=split, count=count,
            target_seed=7, digest=digest, class_names=list(class_names), imported_at=clock.now(),
        )  # fmt: skip

    return made


@pytest.fixture
def published(
    competition: Competition,
    rules: RulesVersion,
    tracks: dict[str, Track],
    keep: Callable[..., SampleSet],
    alice: User,
) -> Published:
    """A final with a model of the Owls, one of the Hawks without prizes, and an attack of the Foxes."""
    now = clock.now()
    draw = draw_samples(source=keep("final", "final", "final"), count=SAMPLES, salt=SALT)
    drawn = keep_draw(draw, name="round-1")
    window = FreezeWindow.objects.create(
        competition=competition, starts_at=now, ends_at=now + timedelta(days=1), reason="the final"
    )
    made = Round.objects.create(
        competition=competition, number=1, title="The final", kind=Round.Kind.FINAL, window=window, sample_set=drawn,
        salt=SALT, commitment=draw.commitment, state=Round.State.PUBLISHED, state_since=now, planned_at=now,
        rules=rules, outcome=object_store.put(LINES),
    )  # fmt: skip
    entries = {
        "owls": _entry(made, tracks["model"], "owls", alice),
        "hawks": _entry(made, tracks["model"], "hawks", alice, eligible=False),
        "foxes": _entry(made, tracks["untargeted"], "foxes", alice),
    }
    match = Match.objects.create(
        rules=rules, sample_set=drawn, model=entries["owls"].player, attack=entries["foxes"].player, seed=1,
        state=Match.State.PLAYED, created_at=now, finished_at=now,
    )  # fmt: skip
    RoundMatch.objects.create(round=made, match=match, samples=SAMPLES)
    perturbed = np.arange(SAMPLES * 64 * 64 * 3, dtype=np.uint32).astype(np.uint8).reshape(SAMPLES, 64, 64, 3)
    _play(match, 0, perturbed[:2])
    _play(match, 2, perturbed[2:])
    return Published(made, entries, match, perturbed)


def _entry(round_: Round, track: Track, slug: str, by: User, *, eligible: bool = True) -> RoundEntry:
    now = clock.now()
    team = Team.objects.create(slug=slug, name=slug.title(), created_at=now)
    entry = Entry.objects.create(team=team, competition=round_.competition, joined_at=now)
    repository = Repository.objects.create(entry=entry, track=track, created_at=now)
    number = repository.pk
    player = Player.objects.create(
        competition=round_.competition, track_name=track.name, digest=f"sha256:{number:064x}", title=slug,
        command=["x"],
        repository=repository, commit=f"{number:040x}", created_at=now,
    )  # fmt: skip
    submission = Submission.objects.create(
        repository=repository, commit=player.commit, tag="submission-1", submitted_by=by, received_at=now, title=slug,
        licence="MIT", state=Submission.State.READY, state_since=now, player=player,
    )  # fmt: skip
    return RoundEntry.objects.create(
        round=round_, track=track, submission=submission, player=player, order=1, prior=1, eligible=eligible
    )


def _play(match: Match, first: int, images: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> None:
    rows = tuple(
        RefereedSample(first + place, 3, None, Outcome.ADVERSARIAL, 1.5, 9.0, 50, 0.2, None, found_label=4)
        for place in range(len(images))
    )
    none = np.zeros(0, np.uint16)
    nothing = Trace(none, none, np.zeros(0, np.uint32), np.zeros(0, np.int16), np.zeros(0, np.float32))
    piece = Piece.objects.create(
        match=match, number=first, first=first, count=len(images), state=Piece.State.PLAYED,
        artefact=object_store.put(pack(PieceResult(samples=rows, perturbed=images, trace=nothing, seconds=1.0))),
    )  # fmt: skip
    SampleRow.objects.bulk_create(
        SampleRow(
            match=match, piece=piece, sample=row.sample, outcome=row.outcome, distance=row.distance, worst_case=9.0,
            queries=row.queries, seconds=row.seconds, found_label=row.found_label,
        )
        for row in rows
    )  # fmt: skip
