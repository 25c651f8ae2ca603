"""Images and checkouts that are kept on a host, and that are removed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from django.core.files.storage import storages
from pytest_django import Settings

from competitions.models import FreezeWindow, RulesVersion, SampleSet
from core import clock, object_store
from evaluation.sandbox.docker_sandbox import DockerSandbox
from formats.query.leaderboards.models import Pool, PoolPlace
from formats.query.matches.models import Match
from repositories.models import Repository
from rounds.models import Round, RoundEntry
from submissions import player_builds, unused_image_removal
from submissions.image_layers import remove_layers
from submissions.models import Player, Submission

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock

pytestmark = pytest.mark.django_db

MakePlayer = Callable[..., Player]


@pytest.fixture
def player(repositories: dict[str, Repository]) -> MakePlayer:
    """Create the row of a player."""

    def make(name: str, kind: str = "model") -> Player:
        return Player.objects.create(
            competition=repositories[kind].track.competition,
            track_name=kind,
            digest=name,
            title=name,
            command=["python"],
            baseline=name,
            created_at=clock.now(),
        )

    return make


def test_a_build_finds_no_part_of_a_checkout_whose_removal_was_killed(submit: Callable[..., Submission]) -> None:
    submission = submit("model", {name: name for name in ("main.py", "weights", "more weights")})
    folder = player_builds.first_checkout(submission)
    files = sorted(path.name for path in folder.iterdir())
    os.utime(folder, (0, 0))
    if (child := os.fork()) == 0:
        removals: list[str] = []

        def kill_at_the_second(event: str, _: object) -> None:
            if event == "os.remove":
                removals.append(event)
                if len(removals) == 2:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill_at_the_second)
        try:
            player_builds.remove_unused_checkouts()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    assert sorted(path.name for path in player_builds.first_checkout(submission).iterdir()) == files
    (left,) = set(folder.parent.iterdir()) - {folder}
    os.utime(left, (0, 0))
    assert player_builds.remove_unused_checkouts() == 1
    assert list(folder.parent.iterdir()) == [folder]


def test_only_the_newest_ready_submission_of_a_repository_is_needed(
    submit: Callable[..., Submission], player: MakePlayer
) -> None:
    for name, state in (
        ("superseded", "ready"),
        ("newest", "ready"),
        ("rejected", "rejected"),
        ("withdrawn", "withdrawn"),
    ):
        submission = submit("model", {"main.py": name})
        Submission.objects.filter(pk=submission.pk).update(state=state, player=player(name))

    assert unused_image_removal.needed_players() == {"newest"}


def test_disqualified_players_are_not_needed(submit: Callable[..., Submission], player: MakePlayer) -> None:
    submission = submit("model", {"main.py": ""})
    Submission.objects.update(state="ready", player=player("cheat"), disqualified_at=clock.now())

    assert submission.pk
    assert unused_image_removal.needed_players() == set()


def test_pools_and_unfinished_matches_need_their_players(
    player: MakePlayer,
    repositories: dict[str, Repository],
    rules: RulesVersion,
    sample_sets: dict[str, SampleSet],
) -> None:
    pool = Pool.objects.create(track=repositories["model"].track, number=1, made_at=clock.now(), reason="the first")
    PoolPlace.objects.create(pool=pool, place=1, player=player("in a pool"))
    for state in Match.State:
        Match.objects.create(
            rules=rules,
            sample_set=sample_sets["validation"],
            model=player(f"model {state}"),
            attack=player(f"attack {state}", "untargeted"),
            seed=1,
            state=state,
            created_at=clock.now(),
        )

    assert unused_image_removal.needed_players() == {
        "in a pool",
        "model waiting",
        "attack waiting",
        "model playing",
        "attack playing",
        "model audit",
        "attack audit",
        "model suspended",
        "attack suspended",
    }


def test_a_round_needs_its_players_until_it_is_played(
    submit: Callable[..., Submission], player: MakePlayer, sample_sets: dict[str, SampleSet]
) -> None:
    submission, now = submit("model", {"main.py": ""}), clock.now()
    competition = submission.repository.track.competition
    window = FreezeWindow.objects.create(
        competition=competition, starts_at=now, ends_at=now + timedelta(days=1), reason="round 1"
    )
    played = Round.objects.create(
        competition=competition,
        number=1,
        title="Round 1",
        kind=Round.Kind.DEVELOPMENT,
        window=window,
        sample_set=sample_sets["validation"],
        state=Round.State.PAUSED,
        state_since=now,
        planned_at=now,
    )
    RoundEntry.objects.create(
        round=played,
        track=submission.repository.track,
        submission=submission,
        player=player("frozen"),
        order=1,
        prior=1,
    )

    assert unused_image_removal.needed_players() == {"frozen"}
    Round.objects.update(state=Round.State.SCORED)
    assert unused_image_removal.needed_players() == set()


def test_checkouts_unused_for_a_day_are_removed(submit: Callable[..., Submission]) -> None:
    first, second = (submit("model", {"main.py": name}) for name in ("first", "second"))
    old, used = (player_builds.checkout_of(submission.repository, submission.commit) for submission in (first, second))
    two_days_ago = (clock.now() - timedelta(days=2)).timestamp()
    os.utime(old, (two_days_ago, two_days_ago))
    os.utime(used, (two_days_ago, two_days_ago))
    player_builds.checkout_of(second.repository, second.commit)

    assert unused_image_removal.collect() == 0

    assert not old.exists()
    assert (used / "main.py").read_text() == "second"


def kept(tmp_path: Path, name: str, *layers: str) -> str:
    """Store an image whose layers contain their own names; return its id."""
    names = []
    for layer in layers:
        (tmp_path / layer).write_text(layer)
        names.append(f"sha256:{object_store.put_file(tmp_path / layer)}")
    config = json.dumps({"name": name, "rootfs": {"diff_ids": names}})
    return f"sha256:{object_store.put(config.encode())}"


def test_stored_images_of_old_unused_players_are_removed_except_shared_layers(
    player: MakePlayer, tmp_path: Path
) -> None:
    base = kept(tmp_path, "base", "debian")
    images_of = {
        "old": kept(tmp_path, "old", "debian", "shared", "old weights"),
        "young": kept(tmp_path, "young", "debian", "young weights"),
        "needed": kept(tmp_path, "needed", "debian", "shared"),
    }
    for name, image in images_of.items():
        made = player(name)
        Player.objects.filter(pk=made.pk).update(image=image, created_at=clock.now() - timedelta(days=name != "young"))

    removed = remove_layers({"needed"}, base, newer_than=clock.now() - timedelta(hours=1))

    layers = {hashlib.sha256(name.encode()).hexdigest() for name in ("debian", "shared", "young weights")}
    left = {path.parent.name + path.name for path in Path(storages["objects"].path("")).glob("*/*")}
    identities = {image.removeprefix("sha256:") for image in (base, images_of["young"], images_of["needed"])}
    assert removed == 2
    assert left == layers | identities


def test_a_superseded_player_keeps_its_image_for_two_weeks_however_old_it_is(
    submit: Callable[..., Submission],
    player: MakePlayer,
    tmp_path: Path,
    the_clock: FakeClock,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the newer submission is withdrawn or disqualified, it counts again and is played against the next pool."""
    builder = Mock(**{"keep_base_image.return_value": kept(tmp_path, "base", "debian"), "has.return_value": False})
    monkeypatch.setattr(unused_image_removal, "open_sandbox", lambda: Mock(spec=DockerSandbox))
    monkeypatch.setattr(unused_image_removal, "docker_builder", lambda: builder)
    images = {}
    for name in ("first", "second", "third"):
        submission, made = submit("model", {"main.py": name}), player(name)
        images[name] = kept(tmp_path, name, "debian", f"weights of {name}")
        Player.objects.filter(pk=made.pk).update(image=images[name])
        Submission.objects.filter(pk=submission.pk).update(state="ready", state_since=clock.now(), player=made)
        the_clock.forward(days=settings.IMAGES_KEPT.days + 1)

    def stored() -> list[str]:
        unused_image_removal.keep()
        return [name for name, image in images.items() if object_store.size(image.removeprefix("sha256:"))]

    Submission.objects.filter(player__title="third").update(state_since=clock.now())
    assert stored() == ["second", "third"]
    the_clock.forward(days=settings.IMAGES_KEPT.days)
    assert stored() == ["third"]
    Submission.objects.filter(player__title="third").update(disqualified_at=clock.now())
    assert stored() == ["third"]
    the_clock.forward(days=settings.IMAGES_KEPT.days)
    assert stored() == []
