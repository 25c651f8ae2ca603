"""A competition of the transfer format whose runs have made-up results, so that nothing is built or run.

The Owls (captain Olli) attack in both tracks, the Bats (captain Bea) defend; a baseline attacks, too. Rita organises.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.services import create_team
from competitions.bundled_baselines import bundled_digest
from competitions.models import Competition, Organiser
from competitions.services import enter
from formats.transfer.tournaments import run_queue, services
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Tournament
from formats.transfer.tournaments.selectors import AnyRun
from repositories.models import Repository
from submissions.models import Player, Submission
from tests.platform.formats.transfer.tournaments.results import claimed_runs

Send = Callable[..., Submission]


@pytest.fixture
def rita(transfer: Competition) -> User:
    """Organiser of the competition."""
    user = User.objects.create_user("rita", "rita@example.org")
    Organiser.objects.create(competition=transfer, user=user)
    return user


@pytest.fixture
def send(transfer: Competition) -> Send:
    """Create a ready submission of a team without a repository on disk."""
    entries: dict[str, Any] = {}

    def make(team: str, track_name: str, title: str) -> Submission:
        if team not in entries:
            captain = User.objects.create_user(f"captain-{team}", f"{team}@example.org")
            made = create_team(slug=team, name=f"The {team.capitalize()}", captain=captain)
            entries[team] = enter(team=made, competition=transfer), captain
        entry, captain = entries[team]
        now = timezone.now()
        track = transfer.tracks.get(name=track_name)
        repository, _ = Repository.objects.get_or_create(entry=entry, track=track, defaults={"created_at": now})
        number = Submission.objects.count() + 1
        return Submission.objects.create(
            repository=repository,
            commit=f"{number:040x}",
            tag=f"submission-{number}",
            submitted_by=captain,
            received_at=now,
            title=title,
            licence="MIT",
            state=Submission.State.READY,
            state_since=now,
            player=Player.objects.create(
                competition=transfer,
                track_name=track_name,
                digest=f"sha256:{number:064x}",
                title=title,
                command=["run.sh"],
                repository=repository,
                commit=f"{number:040x}",
                created_at=now,
            ),
        )

    return make


@pytest.fixture
def baseline(transfer: Competition) -> Player:
    """The built baseline of the attacks."""
    return Player.objects.create(
        competition=transfer,
        track_name="attack",
        digest=f"sha256:{'b' * 64}",
        title="noop",
        command=["run.sh"],
        baseline="noop",
        tree_digest=bundled_digest("attack", "noop"),
        created_at=timezone.now(),
    )


@pytest.fixture
def sent(send: Send, baseline: Player) -> dict[str, Submission]:
    """Three ready submissions, one to each track."""
    return {
        "attack": send("owls", "attack", "Brighter"),
        "targeted": send("owls", "targeted_attack", "Aimed"),
        "defence": send("bats", "defence", "Median of five"),
    }


@pytest.fixture
def played(transfer: Competition, sent: dict[str, Submission]) -> Tournament:
    """The tournament, with every run played."""
    tournament = services.make_tournament(transfer)
    play(tournament)
    return tournament


def play(tournament: Tournament, most: int | None = None) -> None:
    """Give up to `most` waiting runs a result, all by default, with the steps of the tournament that follow.

    The baseline fools on no image, others on each second one. The first batch of an attack of a team lacks an image.
    """
    for run in islice(claimed_runs(tournament), most):
        run_queue.commit(run, result(run))
    if most is not None:
        services.advance(tournament)


def result(run: AnyRun) -> dict[str, Any]:
    """Return the columns of a played run; defences label images again as before."""
    if isinstance(run, AttackRun):
        return attacked(run)
    if isinstance(run, DefenceRun):
        return labelled(run)
    return {"seconds": 3.0, "calibration": 1.0, "changed": 0, "lost": 0, "gained": 0}


def attacked(run: AttackRun) -> dict[str, Any]:
    """Return the columns of a played attack."""
    incomplete = run.batch == 0 and not run.attack.baseline
    made = run.images - incomplete
    return {
        "seconds": 12.5,
        "calibration": 1.0,
        "reason": "crashed" if incomplete else "",
        "detail": "a secret of the team" if incomplete else "",
        "made": made,
        "hashes": ["a" * 64] * made + [""] * incomplete,
        "notes": {"clipped": 2, "missing": 1} if incomplete else {},
        "artefact": "c" * 64,
    }


def labelled(run: DefenceRun) -> dict[str, Any]:
    """Return the columns of a played defence."""
    made = run.attack_run.made or 0
    fooled = 0 if run.attack_run.attack.baseline else made // 2
    targeted = run.attack_run.attack.track_name == "targeted_attack"
    return {
        "seconds": 3.0,
        "calibration": 1.0,
        "reason": "",
        "detail": "",
        "labelled": made,
        "correct": made - fooled,
        "hits": fooled if targeted else 0,
        "labels": [1] * made + [-1] * (run.attack_run.images - made),
        "rows": {"repeated": 3} if run.attack_run.batch == 0 else {},
    }
