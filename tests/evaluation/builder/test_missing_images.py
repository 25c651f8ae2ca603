"""Images that a host fetches from the layer store: what the store lacks is no fault of the host. Without an engine."""

from __future__ import annotations

import hashlib
import json
from io import BytesIO
from pathlib import Path
from typing import IO
from unittest.mock import Mock

import pytest
from docker.errors import ImageNotFound

from evaluation.builder import docker_builder
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.layer_store import LayerStore
from evaluation.domain.errors import HostFault, ImageFault

LAYER = f"sha256:{'1' * 64}"


class MemoryStore:
    """Layers in memory."""

    def __init__(self, *contents: bytes) -> None:
        self.contents = {hashlib.sha256(content).hexdigest(): content for content in contents}

    def has(self, digest: str) -> bool:
        return digest in self.contents

    def put(self, file: Path) -> str:
        raise NotImplementedError

    def open(self, digest: str) -> IO[bytes]:
        return BytesIO(self.contents[digest])

    def image_of(self, recipe: str) -> str | None:
        raise NotImplementedError


class SilentStore(MemoryStore):
    """A store that does not answer."""

    def has(self, digest: str) -> bool:
        raise HostFault("the store does not answer")


@pytest.fixture(autouse=True)
def _empty_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that has no image."""
    client = Mock()
    client.images.get.side_effect = ImageNotFound("no such image")
    monkeypatch.setattr(docker_builder, "connect_engine", lambda: client)


def fetch(store: LayerStore | None, identity: str) -> None:
    DockerBuilder(store=store).fetch(identity)


def test_an_image_whose_configuration_the_store_lacks_is_gone() -> None:
    with pytest.raises(ImageFault, match="neither on this engine nor in the layer store"):
        fetch(MemoryStore(), LAYER)


def test_an_image_of_which_the_store_lacks_a_layer_is_gone() -> None:
    config = json.dumps({"rootfs": {"diff_ids": [LAYER]}}).encode()
    with pytest.raises(ImageFault, match=f"the layer {LAYER} of the image"):
        fetch(MemoryStore(config), f"sha256:{hashlib.sha256(config).hexdigest()}")


@pytest.mark.parametrize("store", [None, SilentStore()])
def test_a_host_whose_store_does_not_answer_or_that_has_none_is_at_fault(store: LayerStore | None) -> None:
    with pytest.raises(HostFault):
        fetch(store, LAYER)


def test_a_missing_image_is_no_fault_of_a_host() -> None:
    assert not issubclass(ImageFault, HostFault)
