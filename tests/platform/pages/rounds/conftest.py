"""Fixture of a round with a given number of players."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection

from accounts.models import Team, User
from competitions.models import Competition, Entry, RulesVersion, Track
from formats.query.rounds.models import Decision, RoundStage, RoundWarning
from repositories.models import Repository
from rounds.models import Round, RoundEntry
from submissions.models import Player, Submission

KINDS = ("model", "untargeted", "targeted")
LADDER = (
    (8, "mean_rank", 50),
    (16, "mean_rank", 25),
    (40, "mean_rank", 15),
    (100, "mean_rank", 10),
    (200, "median", 10),
)
"""Samples, order, and how many of 100 players advance."""

Play = Callable[..., Round]


@pytest.fixture
def play(planned: Round, rules: RulesVersion, alice: User) -> Play:
    """Publish round 1 with this many players on each track; the first model is not broken, cuts follow the ladder."""

    def publish(players: int, state: str = Round.State.PUBLISHED) -> Round:
        field = {kind: _field(planned.competition, kind, players, alice) for kind in KINDS}
        for kind in KINDS:
            _enter(planned, kind, field[kind])
        for bracket in ("untargeted", "targeted"):
            _decide(planned, bracket, field)
        RoundWarning.objects.create(
            round=planned,
            model=_player(field["model"][0]),
            attack=_player(field["untargeted"][-1]),
            nearer=6,
            samples=8,
        )
        planned.state, planned.rules, planned.outcome = state, rules, "0dd" * 21 + "0"
        planned.save()
        return planned

    return publish


def _player(submission: Submission) -> Player:
    assert submission.player is not None
    return submission.player


def _field(competition: Competition, kind: str, players: int, by: User) -> Sequence[Submission]:
    at = competition.created_at
    track = competition.tracks.get(name=kind)
    slugs = [f"{kind}-{place}" for place in range(1, players + 1)]
    teams = Team.objects.bulk_create(
        Team(slug=slug, name=f"Team of {slug}", slug_skeleton=slug, name_skeleton=slug, created_at=at) for slug in slugs
    )
    entries = Entry.objects.bulk_create(Entry(team=team, competition=competition, joined_at=at) for team in teams)
    made = Repository.objects.bulk_create(Repository(entry=entry, track=track, created_at=at) for entry in entries)
    digests = Player.objects.bulk_create(
        Player(
            competition=competition, track_name=kind, digest=f"sha256:{slug}", title=slug, command=[],
            repository=repository, created_at=at,
        )
        for slug, repository in zip(slugs, made, strict=True)
    )  # fmt: skip
    return Submission.objects.bulk_create(
        Submission(
            repository=player.repository, commit="a" * 40, tag="submission-1", submitted_by=by, received_at=at,
            title=f"Player {player.title}", licence="MIT", state="ready", state_since=at, player=player,
        )
        for player in digests
    )  # fmt: skip


def _stays(stage: int, players: int) -> int:
    return max(min(players, 10), players * LADDER[stage][2] // 100)


def _enter(round_: Round, kind: str, field: Sequence[Submission]) -> None:
    track = Track.objects.get(competition=round_.competition, name=kind)
    rows = []
    for place, submission in enumerate(field, start=1):
        last = place <= min(len(field), 10)
        stage = 5 if last else next(n for n in range(1, 6) if place > _stays(n - 1, len(field)))
        value = 2.0 - place / 100 if kind == "model" else 1.0 + place / 100
        score: dict[str, Any] = {"value": value, "low": value - 0.1, "high": value + 0.1, "failures": 3}
        score |= {"met": 5, "opponents": 5, "rank_low": place, "rank_high": place + 1}
        rows.append(
            RoundEntry(
                round=round_, track=track, submission=submission, player=submission.player, order=place, prior=place,
                place=place, stage=stage, not_broken=kind == "model" and place == 1,
                worst_opponent=submission.player if last else None, **(score if last else {}),
            )
        )  # fmt: skip
    RoundEntry.objects.bulk_create(rows)


def _decide(round_: Round, bracket: str, field: dict[str, Sequence[Submission]]) -> None:
    digests = {kind: [_player(each).digest for each in rows] for kind, rows in field.items()}
    panel = {"models": digests["model"][:6], "attacks": digests[bracket][:6]}
    counted = {side: names[:5] for side, names in panel.items()}
    sides = ["targeted"] if bracket == "targeted" else ["model", "untargeted"]
    tracks = {track.name: track for track in round_.competition.tracks.all()}
    rows = []
    for number, (samples, ordered_by, _) in enumerate(LADDER, start=1):
        stage = RoundStage.objects.create(
            round=round_, bracket=bracket, number=number, samples=samples, ordered_by=ordered_by, panel=panel,
            counted=counted, loop=1, renewed=number == 1,
        )  # fmt: skip
        for kind in sides:
            players = len(field[kind])
            met = players if number == 1 else _stays(number - 2, players)
            stays = _stays(number - 1, players)
            rows += [
                Decision(
                    stage=stage, track=tracks[kind], player=each.player, place=place, value=place * 0.75,
                    cut_line=None if number == 5 else stays * 0.75, kept=place <= stays,
                )
                for place, each in enumerate(field[kind][:met], start=1)
            ]  # fmt: skip
    Decision.objects.bulk_create(rows)
    with connection.cursor() as cursor:
        # a database does this within a minute; until then its query plans assume empty tables
        cursor.execute("ANALYZE")
