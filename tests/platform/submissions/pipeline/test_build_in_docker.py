"""Builds, players and images on a real Docker engine."""

from __future__ import annotations

import io
import tarfile
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import storages
from django.utils import timezone
from docker.errors import ImageNotFound
from pytest_django import Settings

from competitions.models import Competition
from core import clock, object_store
from core.errors import Fault
from evaluation.formats.query.catalogue import find_baseline
from evaluation.sandbox.docker_sandbox import DockerSandbox
from formats.query.matches import player_builds
from submissions import pipeline, unused_image_removal
from submissions.models import Player, Submission
from workers.sandboxes import open_sandbox

pytestmark = [pytest.mark.docker, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sample_sets")]

Submit = Callable[..., Submission]


@pytest.fixture(autouse=True)
def sandbox(settings: Settings) -> DockerSandbox:
    """A site that runs players in Docker."""
    settings.SANDBOX = "docker"
    opened = open_sandbox()
    assert isinstance(opened, DockerSandbox)
    return opened


@pytest.mark.parametrize(("track", "name"), [("model", "numpy-classifier"), ("untargeted", "gaussian-noise")])
def test_a_submission_becomes_a_player_with_an_image_and_a_digest_of_its_own(
    submit: Submit, track: str, name: str
) -> None:
    submission = submit(track, find_baseline(name).repository())

    pipeline.advance()

    submission.refresh_from_db()
    assert submission.state == Submission.State.READY, submission.problem
    assert submission.player is not None
    assert submission.player.image.startswith("sha256:")
    assert submission.player.digest != submission.player.image


def test_what_a_team_installed_is_kept_for_the_team(
    submit: Submit, root: Path, settings: Settings, sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        file.name: file.read_text() for file in (root / "tests/repos/players/honest-model").iterdir() if file.is_file()
    }
    # met by the base image: nothing is fetched
    submission = submit("model", files | {"requirements.txt": f"numpy  # {uuid.uuid4().hex}\n"})
    player = player_builds.build(submission, lambda line: None)
    sandbox.client.images.remove(player.image, force=True)
    (kept,) = settings.INSTALLED_LAYERS.glob("*/*")
    assert kept.parent.name == str(submission.repository.entry.team_id)

    monkeypatch.setenv("GAUNTLET_BUILD_CACHE_DAYS", "0")
    unused_image_removal.collect()

    assert not kept.exists()


@pytest.fixture
def changing(submit: Submit, root: Path) -> Callable[[], Submission]:
    """Submit a model whose `postBuild` writes something random, so that every build differs."""

    def make() -> Submission:
        folder = root / "tests/repos/players/honest-model"
        files = {file.name: file.read_text() for file in folder.iterdir() if file.is_file()}
        post_build = "#!/bin/sh\nexec cat /proc/sys/kernel/random/uuid >weights.txt\n"
        # an image of this test only: other tests play with that of the same model unchanged
        return submit("model", files | {"unique.txt": uuid.uuid4().hex, "postBuild": post_build})

    return make


def test_a_missing_image_is_fetched_and_a_lost_one_is_a_platform_error_and_never_another_player(
    changing: Callable[[], Submission], sandbox: DockerSandbox
) -> None:
    submission = changing()
    first = player_builds.build(submission, lambda line: None)
    layers = sandbox.client.images.get(first.image).attrs["RootFS"]["Layers"]
    sandbox.client.images.remove(first.image, force=True)
    lines: list[str] = []

    ready = player_builds.ready_player(first, lines.append)

    assert (ready.digest, ready.image, lines) == (first.digest, first.image, [])
    assert sandbox.client.images.get(first.image).attrs["RootFS"]["Layers"] == layers

    sandbox.client.images.remove(first.image, force=True)
    object_store.remove(first.image.removeprefix("sha256:"))
    with pytest.raises(Fault, match="neither on this engine nor in the layer store"):
        player_builds.ready_player(first, lambda line: None)
    second = player_builds.build(submission, lambda line: None)

    assert second.pk != first.pk
    assert second.image != first.image
    first.refresh_from_db()
    assert player_builds.build(submission, lambda line: None) == second, "its image can be had"
    sandbox.client.images.remove(second.image, force=True)
    assert player_builds.build(submission, lambda line: None) == second, "the store has it"
    sandbox.client.images.remove(second.image, force=True)


@pytest.mark.parametrize("lost", ["configuration", "layer"])
def test_a_lost_image_whose_content_its_recipe_decides_is_built_again_for_the_same_player(
    submit: Submit, root: Path, sandbox: DockerSandbox, lost: str
) -> None:
    folder = root / "tests/repos/players/honest-model"
    files = {file.name: file.read_text() for file in folder.iterdir() if file.is_file()}
    # met by the base image: the installing step makes a layer without a file
    submission = submit("model", files | {"unique.txt": uuid.uuid4().hex, "requirements.txt": "numpy\n"})
    first = player_builds.build(submission, lambda line: None)
    image = sandbox.client.images.get(first.image)
    layers = image.attrs["RootFS"]["Layers"]
    object_store.remove((first.image if lost == "configuration" else layers[-2]).removeprefix("sha256:"))

    def remove_images() -> None:
        for each in sandbox.client.images.list(filters={"label": f"gauntlet.digest={first.digest}"}):
            sandbox.client.images.remove(str(each.id), force=True)

    remove_images()

    second = player_builds.build(submission, lambda line: None)

    assert (second.pk, second.digest) == (first.pk, first.digest)
    remove_images()
    assert player_builds.ready_player(second, lambda line: None).image == second.image
    remove_images()


def test_equal_content_is_not_built_again_on_another_host(
    changing: Callable[[], Submission], sandbox: DockerSandbox
) -> None:
    def stored() -> set[Path]:
        return set(Path(storages["objects"].path("")).glob("*/*"))

    submission = changing()
    first = player_builds.build(submission, lambda line: None)
    known = stored()
    sandbox.client.images.remove(first.image, force=True)
    lines: list[str] = []

    assert player_builds.build(submission, lines.append) == first

    assert lines == ["the image is already built"]
    assert stored() == known, "nothing that belongs to no player"
    sandbox.client.images.remove(first.image, force=True)


@pytest.fixture
def make_image(sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Create images with a label of this test only, since the engine is shared."""
    label = f"gauntlet.test-{uuid.uuid4().hex}"
    monkeypatch.setattr(unused_image_removal, "DIGEST_LABEL", label)
    made: list[str] = []

    def make(digest: str) -> str:
        recipe = f"FROM {sandbox.base_image}\nLABEL {label}={digest}\n"
        image, _ = sandbox.client.images.build(fileobj=io.BytesIO(recipe.encode()), rm=True)
        made.append(str(image.id))
        return made[-1]

    yield make
    for image in sandbox.client.images.list(filters={"label": label}):
        sandbox.client.images.remove(str(image.id), force=True)


def test_only_unused_images_are_removed(
    submit: Submit,
    competition: Competition,
    sandbox: DockerSandbox,
    make_image: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submission = submit("model", {"main.py": ""})
    player = Player.objects.create(
        competition=competition,
        track_name="model",
        digest="sha256:needed",
        title="Needed",
        command=["python"],
        repository=submission.repository,
        commit=submission.commit,
        created_at=clock.now(),
    )
    Submission.objects.update(state=Submission.State.READY, player=player)
    needed, superfluous = make_image(player.digest), make_image("sha256:superfluous")

    assert unused_image_removal.collect() == 0, "they are young"
    monkeypatch.setattr(clock, "now", lambda: timezone.now() + unused_image_removal.GRACE + timedelta(minutes=1))
    assert unused_image_removal.collect() == 1

    assert sandbox.client.images.get(needed).id == needed
    with pytest.raises(ImageNotFound):
        sandbox.client.images.get(superfluous)


def test_an_image_of_a_second_build_is_kept_while_its_player_is_needed(
    submit: Submit, sandbox: DockerSandbox, make_image: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first image of the recipe was lost: the player has another digest than the image's label."""
    submission = submit("model", {"main.py": ""})
    image = make_image("sha256:recipe")
    player = Player.objects.create(
        competition=submission.repository.track.competition,
        track_name="model",
        digest="sha256:second-build",
        title="Needed",
        command=["python"],
        image=image,
        repository=submission.repository,
        commit=submission.commit,
        created_at=clock.now(),
    )
    Submission.objects.update(state=Submission.State.READY, player=player)
    monkeypatch.setattr(clock, "now", lambda: timezone.now() + unused_image_removal.GRACE + timedelta(minutes=1))

    assert unused_image_removal.collect() == 0

    assert sandbox.client.images.get(image).id == image


@pytest.fixture
def small_base(sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A small base image; its id."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    name = f"gauntlet-test-{uuid.uuid4().hex}"
    sandbox.client.api.import_image_from_data(content.getvalue(), repository=name, tag="latest")
    monkeypatch.setenv("GAUNTLET_BASE_IMAGE", f"{name}:latest")
    image = sandbox.client.images.get(f"{name}:latest")
    yield str(image.id)
    sandbox.client.images.remove(str(image.id), force=True)


def test_images_are_stored_for_hosts_with_another_base_image(
    changing: Callable[[], Submission], sandbox: DockerSandbox, small_base: str
) -> None:
    submission = changing()
    player = Player.objects.create(
        competition=submission.repository.track.competition,
        track_name="model",
        digest="sha256:made-by-an-earlier-version",
        title="Needed",
        command=["python"],
        image=small_base,
        repository=submission.repository,
        commit=submission.commit,
        created_at=clock.now(),
    )
    Submission.objects.update(state=Submission.State.READY, player=player)

    unused_image_removal.keep()

    sandbox.client.images.remove(small_base, force=True)
    assert player_builds.ready_player(player, lambda line: None).image == small_base
    assert sandbox.client.images.get(small_base).id == small_base
