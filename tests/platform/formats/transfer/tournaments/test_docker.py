"""The transfer format on a site that runs players in Docker, from the push to the leaderboard."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.models import User
from accounts.services import create_team
from competitions.models import Competition
from competitions.services import enter
from evaluation.legacy.environment import IMAGE_VARIABLE, VARIABLE
from evaluation.sandbox.docker_sandbox import DockerSandbox
from formats.transfer.tournaments import pair_totals, services
from formats.transfer.tournaments.selectors import current_entrants
from repositories.services import repository_of
from submissions import pipeline
from submissions.models import Submission
from submissions.selectors import whole_log
from tests.platform.formats.transfer.tournaments.conftest import COPY, play_all, write_repository
from tests.platform.submissions.push_gate.conftest import Copy
from workers.sandboxes import open_sandbox

pytestmark = [pytest.mark.docker, pytest.mark.django_db(transaction=True)]

ALL_OF_CLASS_1 = """
test "$PWD $1 $2" = "/code /input_images /output_data/result.csv" || exit 11
python3 -c "import collections; collections.Iterable" || exit 12
for file in "$1"/*.png; do echo "$(basename "$file"),1"; done >"$2"
"""
"""A defence that needs the legacy environment."""


@pytest.fixture
def push(
    transfer: Competition, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Push a script to a new team's repository of a track, through the push gate; return what the pusher reads.

    The legacy image of the site is its base image.
    """
    settings.SANDBOX = "docker"
    sandbox = open_sandbox()
    assert isinstance(sandbox, DockerSandbox)
    monkeypatch.setenv(VARIABLE, sys.prefix)
    monkeypatch.setenv(IMAGE_VARIABLE, sandbox.base_image)

    def through(slug: str, track: str, script: str, container: str, **files: str) -> str:
        captain = User.objects.create_user(slug, f"{slug}@example.org")
        entry = enter(team=create_team(slug=slug, name=slug, captain=captain), competition=transfer)
        copy = Copy(tmp_path / slug, repository_of(entry=entry, track=transfer.tracks.get(name=track)))
        write_repository(copy.folder, track, script, container=container)
        copy.write(dict(files))
        commit = copy.commit()
        message, end = copy.ask(captain, commit, "submission-1")
        copy.land(commit, "submission-1")
        return f"{message}\n{end()}"

    return through


def test_pushed_submissions_are_built_played_in_containers_and_scored(
    push: Callable[..., str], transfer: Competition
) -> None:
    transfer.tracks.update(baselines=[])
    assert " received: " in push("owls", "attack", COPY, "gauntlet-base")
    # of 2017: nobody installs what its requirements name
    answer = push("bats", "defence", ALL_OF_CLASS_1, "some/image:1", **{"apt.txt": "not; a package\n"})
    assert "in the legacy environment\n" in answer
    for _ in range(Submission.objects.count()):
        pipeline.advance()
    submissions = {row.repository.track.name: row for row in Submission.objects.all()}
    for submission in submissions.values():
        assert submission.state == "ready", "".join(whole_log(submission.builds.get()))
    images = {name: row.player.image for name, row in submissions.items() if row.player}
    assert images["attack"].startswith("sha256:"), "an image of its own"
    assert images["defence"] == "", "the legacy image of the host that plays it"

    tournament = services.make_tournament(transfer)
    assert play_all(tournament) == 4  # one attack on two batches, then one defence on both

    attack, defence = sorted(current_entrants(tournament), key=lambda row: row.track.name)
    assert {attack.submission_id, defence.submission_id} == {row.pk for row in submissions.values()}
    assert (attack.coverage, defence.coverage) == (1.0, 1.0)
    [counts] = pair_totals.pair_counts(tournament, [attack.player], [defence.player])
    assert (counts.images, counts.made, counts.labelled) == (6, 6, 6)
    assert (attack.raw, defence.raw) == (6 - counts.correct, counts.correct)
