"""Submissions that challenge, and challenges of them."""

from __future__ import annotations

from datetime import timedelta

from accounts.models import User
from accounts.services import create_team
from competitions.services import enter
from core import clock
from formats.query.challenges.models import Challenge
from formats.query.challenges.services import challenge
from formats.query.matches.player_builds import baseline_player
from repositories.models import Repository
from rounds.models import Release, Round, RoundEntry
from submissions.models import Submission

BUNDLED = {"model": "numpy-classifier", "untargeted": "gaussian-noise", "targeted": "targeted-interpolation"}
"""The bundled submission that teams submit a copy of, by the track."""


def ready(repository: Repository, by: User) -> Submission:
    """Return a ready submission: a copy of a bundled one, which needs no build."""
    number, now = Submission.objects.count() + 1, clock.database_now()
    return Submission.objects.create(
        repository=repository, commit=f"{number:040x}", tag=f"submission-{number}", submitted_by=by, received_at=now,
        title=f"Owl {number}", licence="MIT", state=Submission.State.READY, state_since=now,
        player=baseline_player(repository.track, BUNDLED[repository.track.name], lambda line: None),
    )  # fmt: skip


def list_baselines(repository: Repository) -> None:
    """List bundled opponents on the tracks of the competition."""
    tracks = repository.entry.competition.tracks
    tracks.filter(name="model").update(baselines=["numpy-classifier"])
    tracks.filter(name="untargeted").update(baselines=["gaussian-noise", "salt-and-pepper"])
    tracks.filter(name="targeted").update(baselines=["targeted-interpolation"])


def request_challenges(repository: Repository, by: User, *opponents: str) -> list[Challenge]:
    """Request challenges of a new submission against bundled opponents, on one sample each."""
    list_baselines(repository)
    submission = ready(repository, by)
    made = [challenge(submission=submission, opponent=name, by=by) for name in opponents]
    Challenge.objects.update(samples=1)
    return made


def other_team(repository: Repository, track_name: str = "model") -> Repository:
    """Return the repository of a team of its own, the Herons, in the same competition."""
    captain = User.objects.create_user("hannah", "hannah@example.org")
    competition = repository.entry.competition
    entry = enter(team=create_team(slug="herons", name="The Herons", captain=captain), competition=competition)
    track = competition.tracks.get(name=track_name)
    return Repository.objects.create(entry=entry, track=track, created_at=clock.now())


def release(submission: Submission) -> Release:
    """Release the code of a submission: that of a published round in which it took part."""
    competition, now = submission.repository.entry.competition, clock.now()
    number = Round.objects.count() + 1
    window = competition.freeze_windows.create(
        starts_at=now - timedelta(days=9), ends_at=now - timedelta(days=8), reason="a round"
    )
    played = Round.objects.create(
        competition=competition, number=number, title=f"Round {number}", kind=Round.Kind.FINAL, window=window,
        sample_set=competition.sample_sets.get(purpose="validation"), salt="s", commitment="c", planned_at=now,
        state_since=now, state=Round.State.PUBLISHED,
    )  # fmt: skip
    assert submission.player is not None
    RoundEntry.objects.create(
        round=played, track=submission.repository.track, submission=submission, player=submission.player, order=1,
        prior=1, eligible=True,
    )  # fmt: skip
    return Release.objects.create(
        round=played, part=Release.Part.CODE, released_at=now, released_by=submission.submitted_by
    )
