"""The page cache of an image's layers, as the engine stores them."""

from __future__ import annotations

import uuid
from pathlib import Path

import docker
import pytest

from evaluation.sandbox import page_cache_privacy
from evaluation.sandbox.docker_engine import NO_NETWORK
from evaluation.sandbox.docker_page_cache_privacy import level_layers
from evaluation.sandbox.docker_sandbox import DockerSandbox

pytestmark = [pytest.mark.docker, pytest.mark.slow(10)]

LOOK = """
import os, sys
sys.argv = [""]
{source}
path = "/usr/lib/os-release"
descriptor = os.open(path, os.O_RDONLY)
if {read}:
    os.pread(descriptor, 1, 0)
print(resident_pages(descriptor, os.path.getsize(path))[0])
"""


def look(image: str, *, read: bool) -> str:
    """Whether the first page of a file of the image is in memory, as root of a container sees it."""
    source = (
        Path(page_cache_privacy.__file__)
        .read_text(encoding="utf-8")
        .replace("from __future__ import annotations\n", "")
    )
    client = docker.from_env()
    try:
        program = LOOK.format(source=source.partition('if __name__ == "__main__"')[0], read=read)
        output: bytes = client.containers.run(
            image, entrypoint=["python3", "-c", program], **NO_NETWORK, user="0:0", remove=True
        )
        return output.decode().strip()
    finally:
        client.close()


def test_what_a_container_read_cannot_be_seen_in_another() -> None:
    sandbox = DockerSandbox()

    def seen_after_levelling() -> str:
        level_layers(sandbox.client, sandbox.base_image, sandbox.base_image, {})
        return look(sandbox.base_image, read=False)

    # another test may level the caches of this host meanwhile, or a container of its own may read the file
    assert any(look(sandbox.base_image, read=True) == look(sandbox.base_image, read=False) == "1" for _ in range(5))
    assert any(seen_after_levelling() == "0" for _ in range(5))


def test_an_engine_without_the_switch_levels_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache_privacy, "DROP_CACHES", "/proc/sys/vm/no-such-switch")
    sandbox = DockerSandbox()
    labels = {"gauntlet.test": uuid.uuid4().hex}

    def levelled() -> bool:
        assert look(sandbox.base_image, read=True) == "1"
        level_layers(sandbox.client, sandbox.base_image, sandbox.base_image, labels)
        return look(sandbox.base_image, read=False) == "0"

    assert any(levelled() for _ in range(5))  # a container of another test may read the file meanwhile
    assert not sandbox.client.containers.list(
        all=True, filters={"label": f"gauntlet.test={labels['gauntlet.test']}"}, ignore_removed=True
    )
