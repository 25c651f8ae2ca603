"""Players whose image is gone: the fault says what to do, and so does the page of a submission that counts again."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.files.storage import storages
from django.test import Client
from docker.errors import ImageNotFound
from pytest_django import Settings

from accounts.models import User
from core import clock, object_store
from core.errors import HostFault
from evaluation.builder import docker_builder
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.domain.errors import ImageFault
from submissions import removed_images
from submissions.image_layers import ObjectLayers
from submissions.models import Player, Submission
from submissions.player_builds import fetch_image
from submissions.services import disqualify, reinstate, withdraw

Submit = Callable[..., Submission]

REMOVED = "The image of this submission was removed"


@pytest.fixture
def ready(submit: Submit) -> Callable[[str], Submission]:
    """Make a ready submission, built a month ago, whose image the store does not have."""

    def make(name: str) -> Submission:
        submission = submit("model", {"main.py": name})
        submission.player = Player.objects.create(
            competition=submission.repository.track.competition, track_name="model", digest=f"sha256:{name}",
            title=name, command=["python"], image=f"sha256:{len(name):064x}", repository=submission.repository,
            commit=submission.commit, created_at=clock.now() - timedelta(days=30),
        )  # fmt: skip
        submission.state = Submission.State.READY
        submission.save()
        return submission

    return make


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> DockerBuilder:
    """The builder of a host whose engine has no image."""
    client = Mock()
    client.images.get.side_effect = ImageNotFound("no such image")
    monkeypatch.setattr(docker_builder, "connect_engine", lambda: client)
    return DockerBuilder(store=ObjectLayers())


def _configuration(*own: str) -> bytes:
    """The configuration of an image with layers of its own on a base image, whose layer the store lacks."""
    names = [f"sha256:{64 * 'a'}", *own]
    labels = {"gauntlet.base-layers": "1"}
    return json.dumps({"config": {"Labels": labels}, "rootfs": {"diff_ids": names}}).encode()


def _unreadable(*arguments: Any) -> bool:
    raise OSError("the store does not answer")


def test_the_fault_names_the_player_and_says_what_to_do(
    ready: Callable[[str], Submission], builder: DockerBuilder
) -> None:
    player = ready("older").player
    assert player is not None
    with pytest.raises(ImageFault, match=r"no longer has the image of older \(older\): push the submission again"):
        fetch_image(player, builder)
    player.baseline = "numpy-classifier"
    with pytest.raises(ImageFault, match="rebuild the baseline numpy-classifier"):
        fetch_image(player, builder)


def test_a_store_that_does_not_answer_is_a_fault_of_the_host(
    ready: Callable[[str], Submission], builder: DockerBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = ready("older").player
    assert player is not None
    monkeypatch.setattr(storages["objects"], "exists", _unreadable)
    with pytest.raises(HostFault, match="the store does not answer"):
        fetch_image(player, builder)


def test_the_page_says_that_it_has_to_be_pushed_again_once_it_counts(
    ready: Callable[[str], Submission], client: Client, alice: User, charlie: User
) -> None:
    older, newer = ready("older"), ready("the newer one")
    client.force_login(alice)
    address = f"/submissions/{older.pk}"
    assert REMOVED not in client.get(address).content.decode()
    withdraw(submission=newer, by=alice)
    assert REMOVED in client.get(address).content.decode()
    client.force_login(charlie)
    assert REMOVED not in client.get(address).content.decode()


def test_the_page_says_so_after_a_reinstatement(
    ready: Callable[[str], Submission], client: Client, alice: User, olga: User
) -> None:
    submission = ready("older")
    client.force_login(alice)
    disqualify(submission=submission, by=olga, reason="it remembers images")
    assert REMOVED not in client.get(f"/submissions/{submission.pk}").content.decode()
    reinstate(submission=submission, by=olga, reason="it does not")
    assert REMOVED in client.get(f"/submissions/{submission.pk}").content.decode()


@pytest.mark.parametrize("kept", ["stored", "young", "none", "unknown"])
def test_an_image_that_may_be_there_is_not_called_removed(
    ready: Callable[[str], Submission], monkeypatch: pytest.MonkeyPatch, settings: Settings, kept: str
) -> None:
    submission = ready("older")
    player = submission.player
    assert player is not None
    assert removed_images.image_is_removed(submission)
    if kept == "stored":
        player.image = f"sha256:{object_store.put(_configuration())}"
    elif kept == "young":
        player.created_at = clock.now() - settings.IMAGES_KEPT + timedelta(minutes=1)
    elif kept == "none":
        player.image = ""
    else:
        monkeypatch.setattr(storages["objects"], "exists", _unreadable)
    assert not removed_images.image_is_removed(submission)


def test_an_image_without_one_of_its_own_layers_is_called_removed(ready: Callable[[str], Submission]) -> None:
    submission = ready("older")
    player = submission.player
    assert player is not None
    layer = object_store.put(b"its files")
    player.image = f"sha256:{object_store.put(_configuration(f'sha256:{layer}'))}"
    assert not removed_images.image_is_removed(submission)
    object_store.remove(layer)
    assert removed_images.image_is_removed(submission)
