"""What is built is what plays: the image of the first build, its layers kept, on every host."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import docker
import pytest
from docker.types import Mount

from evaluation.builder import build_container
from evaluation.builder.build_container import BUILD_LABEL, BuildContainer, sweep
from evaluation.builder.build_context_tar import ContextEntry
from evaluation.builder.build_guards import BuildGuards
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.docker_builder import DockerBuilder, builder_image_name
from evaluation.builder.exported_layers import UnreadableError
from evaluation.domain.errors import Fault
from evaluation.domain.players import QueryPlayer
from evaluation.sandbox.docker_engine import NO_NETWORK
from evaluation.sandbox.host_process import host_name

pytestmark = pytest.mark.docker

KILLED_WHILE_IT_KEEPS = """
import os, signal, sys
from evaluation.builder.docker_builder import DockerBuilder

class Store:
    asked = 0

    def has(self, digest):
        self.asked += 1
        if self.asked == 2:  # before the first layer, which is on the disk now
            os.kill(os.getpid(), signal.SIGKILL)
        return False

DockerBuilder(store=Store()).keep(sys.argv[1])
"""
PROGRAM = '#include <stdio.h>\nint main(void) { puts("the same everywhere"); return 0; }\n'


class FolderStore:
    """Layers in a folder, as several hosts share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def has(self, digest: str) -> bool:
        return self.path(digest).is_file()

    def put(self, file: Path) -> str:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        shutil.copy(file, self.path(digest))
        return digest

    def path(self, digest: str) -> Path:
        return self.folder / digest

    def open(self, digest: str) -> IO[bytes]:
        return self.path(digest).open("rb")

    def image_of(self, recipe: str) -> str | None:
        return None


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


@pytest.fixture
def removed() -> Iterator[Callable[[QueryPlayer], None]]:
    """Takes a player's image off the local engine, now or when the test ends."""
    client = docker.from_env()
    seen: set[str] = set()

    def remove(player: QueryPlayer) -> None:
        image = str(player.image)
        seen.add(image)
        client.images.remove(image, force=True)

    yield remove
    client.close()


@pytest.fixture
def other_host() -> Iterator[str]:
    """The address of a second engine, which shares nothing with the first one."""
    with tempfile.TemporaryDirectory(prefix="engine-") as folder:
        address = f"unix://{folder}/docker.sock"
        # in a network of its own: without a bridge, an engine removes the one that the first engine made
        words = [
            "unshare",
            "--net",
            "dockerd",
            "--data-root",
            f"{folder}/data",
            "--exec-root",
            f"{folder}/run",
            "--pidfile",
        ]
        words += [f"{folder}/pid", "--host", address, "--bridge", "none", "--iptables=false", "--ip-forward=false"]
        with (Path(folder) / "log").open("w") as log:
            engine = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        try:
            deadline = time.monotonic() + 60
            while not _answers(address):
                assert engine.poll() is None, (Path(folder) / "log").read_text()[-2000:]
                assert time.monotonic() < deadline
                time.sleep(0.2)
            yield address
        finally:
            engine.terminate()
            engine.wait(60)


def test_two_hosts_play_the_same_image(
    make_repository: Callable[..., Path],
    tmp_path: Path,
    store: FolderStore,
    other_host: str,
    monkeypatch: pytest.MonkeyPatch,
    removed: Callable[[QueryPlayer], None],
) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    source = make_repository(files={"Dockerfile": "FROM scratch\nCOPY program /program\n", "unique": uuid.uuid4().hex})
    subprocess.run(["gcc", "-static", "-o", source / "program", tmp_path / "program.c"], check=True)
    here = DockerBuilder(store=store)
    player = here.build(source, on_log=lambda line: None)
    identity = str(player.image)

    monkeypatch.setenv("DOCKER_HOST", other_host)
    there = DockerBuilder(store=store)
    assert not there.has(identity)
    there.fetch(identity)

    monkeypatch.delenv("DOCKER_HOST")
    with closing(docker.from_env()) as first, closing(docker.DockerClient(base_url=other_host)) as second:
        mine, theirs = first.images.get(identity), second.images.get(identity)
        assert mine.attrs["RootFS"]["Layers"] == theirs.attrs["RootFS"]["Layers"]
        assert mine.attrs["Config"] == theirs.attrs["Config"]
        outputs = [
            engine.containers.run(identity, ["/program"], **NO_NETWORK, remove=True) for engine in (first, second)
        ]
    assert outputs == [b"the same everywhere\n"] * 2
    removed(player)


def test_of_two_hosts_that_build_equal_content_at_once_the_second_stores_nothing(
    make_repository: Callable[..., Path], store: FolderStore, removed: Callable[[QueryPlayer], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    post_build = "#!/bin/sh\nexec cat /proc/sys/kernel/random/uuid >weights.txt\n"
    source = make_repository(files={"main.py": uuid.uuid4().hex, "postBuild": post_build})
    first = DockerBuilder(store=store).build(source, on_log=lambda line: None)
    removed(first)
    known = set(store.folder.iterdir())
    answers = iter((None, first.image))
    monkeypatch.setattr(store, "image_of", lambda recipe: next(answers))

    second = DockerBuilder(store=store).build(source, on_log=lambda line: None)

    assert second == first
    assert set(store.folder.iterdir()) == known
    removed(second)


def test_it_rejects_an_image_whose_files_are_gone_or_changed(
    make_repository: Callable[..., Path], store: FolderStore, removed: Callable[[QueryPlayer], None]
) -> None:
    builder = DockerBuilder(store=store)
    player = builder.build(make_repository(files={"main.py": uuid.uuid4().hex}), on_log=lambda line: None)
    identity = str(player.image)
    removed(player)
    layers = set(store.folder.iterdir()) - {store.path(identity.removeprefix("sha256:"))}
    (layer,) = (path for path in layers if b"opt/gauntlet/" in path.read_bytes())

    layer.write_bytes(layer.read_bytes().replace(b"gauntlet", b"tampered"))
    with pytest.raises(Fault, match="engine"):
        builder.fetch(identity)
    layer.unlink()
    with pytest.raises(Fault, match="is not in the layer store"):
        builder.fetch(identity)
    with pytest.raises(Fault, match="neither on this engine nor in the layer store"):
        builder.fetch(f"sha256:{'0' * 64}")
    assert not builder.has(identity)


def test_the_base_image_is_kept_for_hosts_that_have_another_one(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(docker.from_env()) as client:
        client.api.import_image_from_data(b"".join(_small_archive()), repository="gauntlet-test-base", tag="latest")
        try:
            builder = DockerBuilder(BuildSettings(base_image="gauntlet-test-base:latest"), store=store)
            identity = builder.keep_base_image()
            client.images.remove(identity, force=True)
            builder.fetch(identity)
            assert client.images.get(identity).id == identity
        finally:
            client.images.remove(identity, force=True)


def test_a_storage_without_an_image_is_not_read(tmp_path: Path) -> None:
    with closing(docker.from_env()) as client:
        base = client.images.get(BuildSettings().base_image)
        name = builder_image_name(str(base.id))
        with (
            BuildContainer(client, BuildSettings(), image=name, proxy=None) as container,
            pytest.raises(UnreadableError),
        ):
            container.export(tmp_path, base.attrs["RootFS"]["Layers"], lambda: None)
        # and this host is not the cause
        layers = base.attrs["RootFS"]["Layers"]
        BuildGuards(client, "engine", BuildSettings().base_image, name, layers, None).require_export()


def test_a_build_whose_result_is_not_read_to_its_end_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = tmp_path / "export.py"
    export.write_text("import os; os.mkdir('/store/out'); open('/store/out/more', 'wb').truncate(1 << 28)")
    monkeypatch.setattr(build_container, "_EXPORT", export)
    with closing(docker.from_env()) as client:
        name = builder_image_name(str(client.images.get(BuildSettings().base_image).id))
        build = BuildContainer(client, BuildSettings(), image=name, proxy=None)
        with pytest.raises(UnreadableError, match="out/more is not a file"), build as container:
            container.export(tmp_path, [], lambda: None)
        assert client.containers.list(all=True, filters={"name": build.name}) == []


def test_what_the_site_puts_into_the_storage_of_a_build_is_not_what_the_build_used(tmp_path: Path) -> None:
    settings = BuildSettings(network="none")
    size = 32 << 20
    dockerfile = f"FROM {settings.base_image}\nCOPY weights /weights\n".encode()
    context = [ContextEntry("Dockerfile", dockerfile), ContextEntry("weights", os.urandom(size))]
    with closing(docker.from_env()) as client:
        base = client.images.get(settings.base_image)
        name = builder_image_name(str(base.id))
        with BuildContainer(client, settings, image=name, proxy=None) as container:
            container.build("Dockerfile", (), context, print, lambda: None)
            built = container.used()
            container.export(tmp_path, base.attrs["RootFS"]["Layers"], lambda: None)
            exported = container.used()
    assert size <= built.bytes < 1.5 * size
    assert size <= exported.bytes < 1.5 * size


def test_the_container_of_a_build_ends_by_itself_after_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its builder, which stops it at the limit, may have been killed meanwhile."""
    monkeypatch.setattr(build_container, "_AFTER_LIMIT_SECONDS", 0, raising=False)
    with closing(docker.from_env()) as client:
        name = builder_image_name(str(client.images.get(BuildSettings().base_image).id))
        with BuildContainer(client, BuildSettings(seconds=1), image=name, proxy=None) as build:
            container = client.containers.get(build._create(["sh", "-c", "trap '' TERM; sleep 20"]))
            container.start()
            assert container.wait(timeout=60)["StatusCode"] == 137


def test_what_a_killed_builder_left_is_swept_and_nothing_else() -> None:
    with closing(docker.from_env()) as client, subprocess.Popen(["true"]) as dead:
        name = builder_image_name(str(client.images.get(BuildSettings().base_image).id))
        label = f"{host_name()}:{dead.pid}:1"
        left = client.volumes.create(f"gauntlet-test-{uuid.uuid4().hex}", labels={BUILD_LABEL: label})
        mount = Mount("/store", left.name, type="volume")
        running = client.containers.run(
            name, ["sleep", "600"], mounts=[mount], labels={BUILD_LABEL: label}, **NO_NETWORK, detach=True
        )
        with BuildContainer(client, BuildSettings(), image=name, proxy=None) as own:
            while left.name in {volume.name for volume in client.volumes.list()}:  # other tests sweep, too
                sweep(client)
            assert client.volumes.get(own.name).name == own.name
            with pytest.raises(docker.errors.NotFound):
                client.containers.get(str(running.id))


def test_layers_that_a_killed_builder_left_on_the_disk_are_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with closing(docker.from_env()) as client:
        name = f"gauntlet-test-{uuid.uuid4().hex}"
        client.api.import_image_from_data(b"".join(_small_archive()), repository=name)
        try:
            killed = subprocess.run(
                [sys.executable, "-c", KILLED_WHILE_IT_KEEPS, name], env=os.environ | {"TMPDIR": str(tmp_path)}
            )
        finally:
            client.images.remove(name, force=True)
        assert killed.returncode == -signal.SIGKILL
        assert any(path.stat().st_size for path in tmp_path.rglob("layer.tar"))
        sweep(client)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(15)
@pytest.mark.usefixtures("engine_alone")  # meanwhile the engine can open no files for others
def test_a_storage_that_the_engine_cannot_remove_is_swept() -> None:
    with closing(docker.from_env()) as client, subprocess.Popen(["true"]) as dead:
        name = builder_image_name(str(client.images.get(BuildSettings().base_image).id))
        labels = {BUILD_LABEL: f"{host_name()}:{dead.pid}:1", "gauntlet.builder-image": name}
        left = client.volumes.create(f"gauntlet-test-{uuid.uuid4().hex}", labels=labels)
        # deeper than the files that an engine may open
        nested = "import os\nos.chdir('/store')\nfor _ in range(21_000):\n    os.mkdir('d')\n    os.chdir('d')"
        mount = Mount("/store", left.name, type="volume")
        client.containers.run(name, ["python3", "-c", nested], mounts=[mount], **NO_NETWORK, remove=True)
        beside = client.containers.create(name, ["true"], mounts=[mount])  # as of another process that empties it

        sweep(client)
        assert client.volumes.get(str(left.name)).name == left.name
        beside.remove()
        while left.name in {volume.name for volume in client.volumes.list()}:  # other tests sweep, too
            sweep(client)


def test_a_host_that_cannot_build_blames_no_submission(
    make_repository: Callable[..., Path], removed: Callable[[QueryPlayer], None]
) -> None:
    usual = make_repository("usual", files={"main.py": uuid.uuid4().hex})
    removed(DockerBuilder().build(usual, on_log=lambda line: None))  # its guards are proved now
    source = make_repository(
        files={"Dockerfile": "FROM gauntlet-not-in-the-store\nRUN true\n", "unique": uuid.uuid4().hex}
    )
    with closing(docker.from_env()) as client:
        # its builder image has the base image by another name
        client.images.get(BuildSettings().base_image).tag("gauntlet-not-in-the-store")
        builder = DockerBuilder(BuildSettings(base_image="gauntlet-not-in-the-store"))
        try:
            with pytest.raises(Fault, match="builds fail on this host"):
                builder.build(source, on_log=lambda line: None)
            with pytest.raises(Fault, match="builds fail on this host"):
                builder.guards()
        finally:
            client.images.remove("gauntlet-not-in-the-store")


def test_every_guard_of_builds_holds_here() -> None:
    guards = DockerBuilder().guards()

    assert [f"{guard.name}: {guard.seen}" for guard in guards if not guard.held] == []
    assert {guard.name for guard in guards} >= {
        "rootless", "no network", "services unreachable", "memory limit", "CPU limit", "process limit", "disk limit",
        "time limit", "nothing left behind",
    }  # fmt: skip


def _answers(address: str) -> bool:
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        try:
            connection.connect(address.removeprefix("unix://"))
        except OSError:
            return False
    return True


def _small_archive() -> Iterator[bytes]:
    with tempfile.TemporaryFile() as file:
        subprocess.run(["tar", "-C", "/etc", "-cf", "-", "hostname"], stdout=file, check=True)
        file.seek(0)
        yield file.read()
