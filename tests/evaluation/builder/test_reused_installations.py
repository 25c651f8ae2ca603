"""A second build with equal requirements installs nothing, and its image has the files of a build without a cache."""

from __future__ import annotations

import re
import tarfile
import threading
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import docker
import pytest
from docker.errors import ImageNotFound

from evaluation.builder.docker_build_settings import BuildSettings, CacheLimits
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.image_archive import layer_names
from evaluation.builder.installed_layer_cache import InstalledLayerCache
from evaluation.domain.errors import BuildRefusal
from evaluation.sandbox.docker_engine import NO_NETWORK
from tests.evaluation.builder.test_frozen_images import FolderStore

pytestmark = pytest.mark.docker

Make = Callable[..., Path]


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny_thing-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_thing.py", "WORD = 'from a wheel'\n")
        wheel.writestr("tiny_thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        wheel.writestr(
            "tiny_thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("tiny_thing-1.0.dist-info/RECORD", "")
    return folder


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
        """Nothing."""


@contextmanager
def mirror(folder: Path) -> Iterator[str]:
    """The address of a mirror that serves `folder` until the context ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@dataclass(frozen=True)
class Built:
    """A built image, on the engine and in the store."""

    client: docker.DockerClient
    store: FolderStore
    identity: str

    def layers(self) -> list[str]:
        """Its layers on the base image."""
        base_layers = self.client.images.get(BuildSettings().base_image).attrs["RootFS"]["Layers"]
        return layer_names(self.store.path(hexadecimal(self.identity)).read_bytes())[len(base_layers) :]

    def files(self) -> dict[str, tuple[object, ...]]:
        """Their files: type, mode, owner, target and content, except of compiled modules, which hold times."""
        found: dict[str, tuple[object, ...]] = {}
        for name in self.layers():
            with tarfile.open(self.store.path(hexadecimal(name))) as layer:
                for member in layer:
                    content = layer.extractfile(member) if member.isreg() else None
                    data = content.read() if content and not member.name.endswith(".pyc") else b""
                    found[member.name] = (member.type, member.mode, member.uid, member.gid, member.linkname, data)
        return found

    def printed(self) -> bytes:
        """What its program prints as a player."""
        output: bytes = self.client.containers.run(
            self.identity,
            ["python", "main.py"],
            **NO_NETWORK,
            user="65534:65534",
            read_only=True,
            remove=True,
        )
        return output

    def forget(self) -> None:
        """Remove it from the engine."""
        self.client.images.remove(self.identity, force=True)


def hexadecimal(name: str) -> str:
    return name.removeprefix("sha256:")


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Callable[..., Built]]:
    """Build a repository and store its layers; the image goes when the test ends, or with `forget`."""
    store = FolderStore(tmp_path / "store")
    with closing(docker.from_env()) as client:

        def make(source: Path, settings: BuildSettings, cache: InstalledLayerCache | None, log: list[str]) -> Built:
            player = DockerBuilder(settings, store=store, cache=cache).build(source, on_log=log.append)
            made.append(Built(client, store, str(player.image)))
            return made[-1]

        made: list[Built] = []
        yield make
        for built in made:
            with suppress(ImageNotFound):
                built.forget()


def test_a_second_build_installs_nothing_and_gives_the_files_of_a_build_without_a_cache(
    make_repository: Make, tmp_path: Path, wheels: Path, build: Callable[..., Built]
) -> None:
    requirements = {"requirements.txt": f"--no-index\ntiny-thing==1.0  # {uuid.uuid4().hex}\n"}
    code = "import os, tiny_thing\nprint(os.getcwd(), tiny_thing.WORD, 'again')\n"
    first = make_repository("first", requirements | {"main.py": f"# {uuid.uuid4().hex}\n"})
    second = make_repository("second", requirements | {"main.py": code, "data/deep/weights.txt": "1\n"})
    (second / "link").symlink_to("data/deep")
    (second / f"{'long' * 50} \udcff\n").touch()
    (second / "main.py").chmod(0o755)
    cache = InstalledLayerCache(tmp_path / "cache", "7", CacheLimits())
    log: list[str] = []
    with mirror(wheels) as address:
        settings = BuildSettings(find_links=address)
        uncached = build(second, settings, None, [])
        files = uncached.files()
        uncached.forget()
        before = build(first, settings, cache, log)
    assert any("Successfully installed tiny-thing-1.0" in line for line in log)

    # the mirror is gone
    log.clear()
    after = build(second, settings, cache, log)

    assert re.fullmatch(
        r"building with the lean pack\nrequirements unchanged: installed layer of \S+ \S+ UTC reused", "\n".join(log)
    )
    assert after.files() == files
    assert after.layers()[0] == before.layers()[0]
    assert after.printed() == b"/submission from a wheel again\n"

    # the engine need not have the layer
    before.forget()
    after.forget()
    assert build(second, settings, cache, log).printed() == b"/submission from a wheel again\n"

    # and a limit that is lower now holds
    with pytest.raises(BuildRefusal, match="the image is too large"):
        build(first, replace(settings, max_image_bytes=64), cache, log)


def test_a_build_without_requirements_has_no_container(make_repository: Make, build: Callable[..., Built]) -> None:
    source = make_repository(files={"main.py": f"print('plays')  # {uuid.uuid4().hex}\n"})
    log: list[str] = []

    built = build(source, BuildSettings(), None, log)

    assert log == ["building with the lean pack"]
    assert built.printed() == b"plays\n"
