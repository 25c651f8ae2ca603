"""The client program: which one is taken, and whose cause a failure is. Small scripts stand in for `docker`."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.builder.docker_client import BuildOrder, DockerClient, find_client
from evaluation.domain.errors import BuildRefusal, Fault

ORDER = BuildOrder("Dockerfile", "gauntlet/test")
ANSWERS = 'case "$1" in version) exit 0;; events) exec sleep 60;; esac;'
"""What a client does while the engine answers."""


@pytest.fixture(autouse=True)
def forgotten_choice() -> Iterator[None]:
    find_client.cache_clear()
    yield
    find_client.cache_clear()


def client(directory: Path, script: str) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / "docker"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def nothing_to_watch() -> None:
    pass


def test_it_works(tmp_path: Path) -> None:
    log: list[str] = []
    script = 'echo "$DOCKER_BUILDKIT $*"; head -c 10 >/dev/null; printf "a line\\r\\nhalf"'

    DockerClient(str(client(tmp_path, script))).build(ORDER, [], log.append, nothing_to_watch)

    assert log == [
        "1 build --progress plain --force-rm --network default -f Dockerfile -t gauntlet/test -",
        "a line",
        "half",
    ]


def test_it_takes_the_first_client_that_speaks_buildkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = 'case "$1" in buildx) exit 1;; esac; echo "Docker version {}, build x"'
    bare = client(tmp_path / "bare", version.format("28.2.2"))
    old = client(tmp_path / "old", version.format("20.10.24"))
    plugin = client(tmp_path / "plugin", "exit 0")

    monkeypatch.setenv("PATH", f"{bare.parent}:{old.parent}:{plugin.parent}")
    assert find_client() == str(old)

    find_client.cache_clear()
    monkeypatch.setenv("PATH", f"{bare.parent}:{plugin.parent}:{old.parent}")
    assert find_client() == str(plugin)

    find_client.cache_clear()
    monkeypatch.setenv("PATH", str(bare.parent))
    with pytest.raises(Fault, match="buildx plugin, or set GAUNTLET_DOCKER_CLIENT"):
        find_client()


def test_it_blames_the_recipe_with_its_last_lines(tmp_path: Path) -> None:
    script = f'{ANSWERS} seq 1 100; echo "#5 0.1 Cannot connect to the Docker daemon"; exit 1'

    with pytest.raises(BuildRefusal) as caught:
        DockerClient(str(client(tmp_path, script))).build(ORDER, [], print, nothing_to_watch)

    assert "    100\n    #5 0.1 Cannot connect" in caught.value.problem
    assert "    50\n" not in caught.value.problem


@pytest.mark.parametrize(
    "line",
    [
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        "ERROR: failed to dial gRPC: cannot connect to the Docker daemon",
        "error during connect: EOF",
    ],
)
def test_a_recipe_cannot_pass_for_the_engine_by_what_it_prints(tmp_path: Path, line: str) -> None:
    with pytest.raises(BuildRefusal):
        DockerClient(str(client(tmp_path, f'{ANSWERS} echo "{line}"; exit 1'))).build(
            ORDER, [], print, nothing_to_watch
        )


@pytest.mark.parametrize(
    "script",
    [
        'case "$1" in events) sleep 0.5; exit 1;; version) exit 0;; esac; echo "it was away for a moment"; exit 1',
        'echo "Cannot connect to the Docker daemon at unix:///nowhere. Is the docker daemon running?" >&2; exit 1',
        '[ "$1" = version ] && exit 1; [ "$1" = events ] && exec sleep 60; echo "something"; exit 1',
    ],
)
def test_it_blames_the_engine_that_does_not_answer(tmp_path: Path, script: str) -> None:
    with pytest.raises(Fault):
        DockerClient(str(client(tmp_path, script))).build(ORDER, [], print, nothing_to_watch)


def test_it_tells_a_missing_image_from_a_missing_engine(tmp_path: Path) -> None:
    missing = client(tmp_path / "a", 'echo "Error: No such image: x" >&2; exit 1')
    silent = client(tmp_path / "b", 'echo "Cannot connect to the Docker daemon at tcp://x" >&2; exit 1')

    assert DockerClient(str(missing)).image("x") is None
    with pytest.raises(Fault, match="no Docker engine answers"):
        DockerClient(str(silent)).image("x")
    with pytest.raises(Fault, match="no-such-program"):
        DockerClient("no-such-program").image("x")


@pytest.mark.parametrize("script", ["exec sleep 100", "while :; do echo talking; done"], ids=["silent", "talking"])
def test_it_stops_a_build_when_the_watch_says_so(tmp_path: Path, script: str) -> None:
    """And removes its image, although the engine named it only after the client was killed."""
    started = time.monotonic()
    removing = tmp_path / "removing"
    remove = f'[ "$1" = image ] && {{ echo $* >> {removing}; [ $(wc -l < {removing}) = 3 ]; exit; }}'

    def watch() -> None:
        if time.monotonic() > started + 1:
            raise BuildRefusal("too long")

    with pytest.raises(BuildRefusal, match="too long"):
        DockerClient(str(client(tmp_path, f"{remove}\n{script}"))).build(ORDER, [], lambda _: None, watch)
    assert removing.read_text().splitlines() == [f"image rm {ORDER.tag}"] * 3
