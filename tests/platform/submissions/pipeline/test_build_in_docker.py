"""Builds, players and images on a real Docker engine."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from docker.errors import ImageNotFound
from pytest_django import Settings

from competitions.models import Competition
from core import clock
from evaluation.sandbox.docker import DockerSandbox
from submissions import builds, images, pipeline
from submissions.models import Player, Submission
from submissions.sandboxes import open_sandbox

pytestmark = [pytest.mark.docker, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sample_sets")]

Submit = Callable[..., Submission]


@pytest.fixture(autouse=True)
def sandbox(settings: Settings) -> DockerSandbox:
    """The site runs players in Docker."""
    settings.SANDBOX = "docker"
    opened = open_sandbox()
    assert isinstance(opened, DockerSandbox)
    return opened


@pytest.mark.parametrize(("track", "name"), [("model", "numpy-classifier"), ("untargeted", "gaussian-noise")])
def test_it_works(submit: Submit, root: Path, track: str, name: str) -> None:
    submission = submit(track, root / "evaluation/baselines" / name)

    pipeline.advance(submission.pk)

    submission.refresh_from_db()
    assert submission.state == Submission.State.READY, submission.problem
    assert submission.player is not None
    assert submission.player.image.startswith("sha256:")
    assert submission.player.digest != submission.player.image


def test_a_player_whose_image_is_gone_is_built_again(submit: Submit, root: Path, sandbox: DockerSandbox) -> None:
    files = {
        file.name: file.read_text() for file in (root / "tests/repos/players/honest-model").iterdir() if file.is_file()
    }
    # an image of this test's own: others play with that of the same model without a change
    submission = submit("model", files | {"unique.txt": uuid.uuid4().hex})
    player = builds.build(submission, lambda line: None)
    sandbox.client.images.remove(player.image, force=True)
    lines: list[str] = []

    ready = builds.ready_player(player, lines.append)

    assert ready.digest == player.digest
    assert lines[0].startswith("building ")
    assert sandbox.client.images.get(str(ready.image)).id == ready.image
    sandbox.client.images.remove(str(ready.image), force=True)


@pytest.fixture
def make_image(sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Makes images under a label of this test's own, since others work with the engine, too."""
    label = f"gauntlet.test-{uuid.uuid4().hex}"
    monkeypatch.setattr(images, "DIGEST_LABEL", label)
    made: list[str] = []

    def make(digest: str) -> str:
        recipe = f"FROM {sandbox.base_image}\nLABEL {label}={digest}\n"
        image, _ = sandbox.client.images.build(fileobj=io.BytesIO(recipe.encode()), rm=True)
        made.append(str(image.id))
        return made[-1]

    yield make
    for image in sandbox.client.images.list(filters={"label": label}):
        sandbox.client.images.remove(str(image.id), force=True)


def test_only_images_that_nobody_needs_are_collected(
    submit: Submit,
    competition: Competition,
    sandbox: DockerSandbox,
    make_image: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submission = submit("model", {"main.py": ""})
    player = Player.objects.create(
        competition=competition,
        kind="model",
        digest="sha256:needed",
        title="Needed",
        command=["python"],
        repository=submission.repository,
        commit=submission.commit,
        created_at=clock.now(),
    )
    Submission.objects.update(state=Submission.State.READY, player=player)
    needed, superfluous = make_image(player.digest), make_image("sha256:superfluous")

    assert images.collect() == 0, "they are young"
    monkeypatch.setattr(clock, "now", lambda: timezone.now() + images.GRACE + timedelta(minutes=1))
    assert images.collect() == 1

    assert sandbox.client.images.get(needed).id == needed
    with pytest.raises(ImageNotFound):
        sandbox.client.images.get(superfluous)
