"""The corpus below `tests/repos/builds`: each repository with the pack, and what both builders make of it."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
import time
import tomllib
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evaluation.builder import build_limits
from evaluation.builder.base import Builder
from evaluation.builder.build_pack_detection import detect_pack
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.image_archive import DIGEST_LABEL
from evaluation.builder.image_recipe import image_name, make_recipe
from evaluation.builder.in_place_builder import InPlaceBuilder
from evaluation.domain.errors import BuildRefusal, Fault, ManifestRefusal
from evaluation.domain.players import QueryPlayer
from evaluation.sandbox.docker_engine import NO_NETWORK, connect_engine
from evaluation.sandbox.sdk_tree import SDK

CORPUS = Path(__file__).resolve().parents[2] / "repos" / "builds"
EXPECTED: dict[str, dict[str, Any]] = {
    path.parent.name: tomllib.loads(path.read_text()) for path in sorted(CORPUS.glob("*/expected.toml"))
}
FOR_DOCKER = [name for name, expected in EXPECTED.items() if "docker" in expected]


@dataclass(frozen=True)
class Seen:
    player: QueryPlayer | None
    text: str


def outcome(builder: Builder, source: Path) -> Seen:
    log: list[str] = []
    try:
        player = builder.build(source, on_log=log.append)
    except BuildRefusal as refusal:
        return Seen(None, f"{refusal.problem}\nfix: {refusal.fix}")
    return Seen(player, "\n".join(log))


@pytest.fixture
def fresh(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A copy of a repository of the corpus that no engine has seen; its image goes when the test ends."""
    source = tmp_path / "repository"
    shutil.copytree(CORPUS / request.param, source)
    (source / "unique.txt").write_text(uuid.uuid4().hex)
    yield source
    base = docker("image", "inspect", "-f", "{{.Id}}", BuildSettings().base_image).strip()
    name = image_name(make_recipe(source, BuildSettings(), base_id=base, sdk_digest=SDK.digest()).digest)
    left = set(docker("image", "ls", "--format", "{{.Tag}}", name).split())
    if left:
        docker("image", "rm", "--force", *(f"{name}:{tag}" for tag in left))
    assert left <= {"latest"}


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True, timeout=120).stdout


def run(player: QueryPlayer) -> str:
    """What the player prints when it is run as sandboxes run it."""
    assert player.image is not None
    with closing(connect_engine()) as client:
        output: bytes = client.containers.run(
            player.image,
            list(player.command),
            **NO_NETWORK,
            read_only=True,
            tmpfs={"/tmp": ""},
            user="65534:65534",
            cap_drop=["ALL"],
            remove=True,
        )
    return output.decode()


@pytest.mark.parametrize("name", EXPECTED)
def test_its_pack_is_detected(name: str) -> None:
    assert detect_pack(CORPUS / name, "3.11") == EXPECTED[name]["pack"]


@pytest.mark.parametrize("name", EXPECTED)
def test_process_does_as_expected(name: str) -> None:
    expected = EXPECTED[name]["process"]

    seen = outcome(InPlaceBuilder(), CORPUS / name)

    assert expected["text"] in seen.text
    assert "fix: " in seen.text or seen.player
    assert ("built" if seen.player else "refused") == expected["outcome"]
    if seen.player:
        assert seen.player.directory == CORPUS / name
        assert seen.player.image is None


@pytest.mark.docker
@pytest.mark.parametrize(("name", "fresh"), [(name, name) for name in FOR_DOCKER], indirect=["fresh"], ids=FOR_DOCKER)
def test_docker_does_as_expected(name: str, fresh: Path) -> None:
    expected = EXPECTED[name]["docker"]
    builder = DockerBuilder(BuildSettings(**EXPECTED[name].get("settings", {})))

    seen = outcome(builder, fresh)

    if expected["outcome"] == "refused":
        assert seen.player is None
        assert expected["text"] in seen.text
    else:
        assert seen.player is not None, seen.text
        assert expected["text"] in run(seen.player)
        assert DockerBuilder().has(str(seen.player.image))


@pytest.mark.docker
@pytest.mark.parametrize("fresh", ["nothing-needed"], indirect=True)
def test_docker_reuses_an_image(fresh: Path) -> None:
    first = outcome(DockerBuilder(), fresh)
    second = outcome(DockerBuilder(), fresh)

    assert first.player == second.player
    assert "already built" in second.text
    assert "already built" not in first.text
    assert second.player is not None
    assert docker("image", "inspect", "-f", f'{{{{index .Config.Labels "{DIGEST_LABEL}"}}}}', str(second.player.image))


@pytest.mark.docker
@pytest.mark.parametrize("fresh", ["nothing-needed"], indirect=True)
def test_docker_installs_from_the_operators_wheels_and_keeps_a_build_off_the_network(
    fresh: Path, tmp_path: Path
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "tiny_thing-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_thing.py", "WORD = 'from a wheel'\n")
        wheel.writestr("tiny_thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        wheel.writestr(
            "tiny_thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("tiny_thing-1.0.dist-info/RECORD", "")
    (fresh / "requirements.txt").write_text("--no-index\ntiny-thing==1.0\n")
    (fresh / "postBuild").write_text('#!/bin/sh\nexec python3 -c "import socket; print(socket.if_nameindex())" >seen\n')
    (fresh / "main.py").write_text("import tiny_thing\nprint(tiny_thing.WORD)\nprint(open('seen').read())\n")

    seen = outcome(DockerBuilder(BuildSettings(network="none", find_links=str(wheels))), fresh)

    assert seen.player is not None, seen.text
    assert run(seen.player).split("\n")[:2] == ["from a wheel", "[(1, 'lo')]"]


@pytest.mark.docker
@pytest.mark.parametrize("fresh", ["nothing-needed"], indirect=True)
def test_a_mirror_that_is_away_is_the_hosts_cause(fresh: Path) -> None:
    (fresh / "requirements.txt").write_text("tiny-thing==1.0\n")
    settings = BuildSettings(index_url="http://site:s3cr3t@127.0.0.1:9/simple")

    with pytest.raises(Fault, match=r"package mirrors are unreachable: http://127\.0\.0\.1:9$"):
        DockerBuilder(settings).build(fresh, on_log=lambda line: None)


@pytest.mark.docker
@pytest.mark.parametrize("fresh", ["nothing-needed"], indirect=True)
def test_a_build_that_waits_for_a_mirror_until_its_time_limit_is_not_the_submissions_fault(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fresh / "requirements.txt").write_text("tiny-thing==1.0\n")
    monkeypatch.setattr("evaluation.builder.mirror_proxy._PROBE_SECONDS", 0.1)
    asked: list[socket.socket] = []
    late = SimpleNamespace(monotonic=lambda: time.monotonic() + 10_000 * len(asked))
    monkeypatch.setattr(build_limits, "time", late)
    with socket.create_server(("127.0.0.1", 0)) as hung:
        waiter = threading.Thread(target=lambda: asked.append(hung.accept()[0]), daemon=True)
        waiter.start()
        settings = BuildSettings(index_url=f"http://127.0.0.1:{hung.getsockname()[1]}/simple")
        with pytest.raises(Fault, match="package mirrors are unreachable"):
            DockerBuilder(settings).build(fresh, on_log=lambda line: None)
        asked.pop().close()


@pytest.mark.docker
def test_docker_names_a_missing_base_image() -> None:
    with pytest.raises(Fault, match="no-such-base is not on this engine"):
        DockerBuilder(BuildSettings(base_image="no-such-base")).build(CORPUS / "nothing-needed", on_log=print)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"requirements.txt": "numpy[no-such-extra]\n"}, ""),
        ({"requirements.txt": 'numpy; python_version < "3"\nno-such-package; sys_platform == "other"\n'}, ""),
        ({"requirements.txt": "--index-url https://mirror.example\nnumpy \\\n  >=1 --hash=sha256:00  # why\n"}, ""),
        ({"requirements.txt": "numpy @ https://mirror.example/numpy.whl\n"}, "not a package name"),
        ({"requirements.txt": "numpy\n\n-e .\n"}, "requirements.txt, line 3: '-e .'"),
        ({"requirements.txt": "--find-links wheels\n"}, "requirements.txt, line 1"),
        ({"pyproject.toml": '[project]\ndependencies = ["no-such-package"]\n'}, "pyproject.toml: the requirement"),
        ({"pyproject.toml": '[project]\nrequires-python = ">=4"\n'}, "asks for Python >=4"),
        ({"pyproject.toml": "project = 3\n"}, "pyproject.toml: "),
        ({"pyproject.toml": "[project]\ndependencies = [1]\n"}, "pyproject.toml: "),
        ({"binder/requirements.txt": "no-such-package\n"}, "binder/requirements.txt, line 1"),
        ({"binder/requirements.txt": "", "pyproject.toml": "project = 3\n"}, ""),
    ],
)
def test_process_checks_each_requirement(
    make_repository: Callable[..., Path], files: dict[str, str], problem: str
) -> None:
    seen = outcome(InPlaceBuilder(), make_repository(files=files))

    assert (seen.player is None) == bool(problem), seen.text
    assert problem in seen.text


def test_it_rejects_a_repository_without_a_manifest(tmp_path: Path) -> None:
    with pytest.raises(ManifestRefusal):
        InPlaceBuilder().build(tmp_path, on_log=print)


def written(source: Path, dockerfile: str) -> Path:
    """A model with a Dockerfile that no engine has seen."""
    shutil.copytree(CORPUS / "dockerfile", source)
    (source / "Dockerfile").write_text(
        f"FROM {BuildSettings().base_image}\nENV UNIQUE={uuid.uuid4().hex}\n{dockerfile}"
    )
    return source


@pytest.mark.docker
@pytest.mark.parametrize("fresh", ["nothing-needed"], indirect=True)
def test_a_build_reads_no_other_teams_image(fresh: Path, tmp_path: Path) -> None:
    (fresh / "main.py").write_text("SECRET = 'unpublished'\n")
    victim = outcome(DockerBuilder(), fresh)
    assert victim.player is not None, victim.text
    image = docker("image", "inspect", "-f", "{{index .RepoTags 0}}", str(victim.player.image)).strip()
    thief = tmp_path / "thief"
    shutil.copytree(CORPUS / "dockerfile", thief)
    base = BuildSettings().base_image
    for dockerfile in (
        f"FROM {image}\nRUN cat /submission/main.py\n",
        f"FROM {base}\nCOPY --from={image} /submission /stolen\nRUN cat /stolen/main.py\n",
        f"FROM {base}\nRUN --mount=from={image},target=/stolen cat /stolen/submission/main.py\n",
        f"ARG X={image}\nfr\\\nom $X\nRUN cat /submission/main.py\n",
    ):
        (thief / "Dockerfile").write_text(f"{dockerfile}RUN exit 1 # {uuid.uuid4().hex}\n")
        log: list[str] = []

        with pytest.raises(BuildRefusal, match="not allowed"):
            DockerBuilder().build(thief, on_log=log.append)

        assert log == []  # nothing was built


@pytest.mark.docker
def test_a_recipe_that_prints_what_the_client_says_of_a_lost_engine_is_refused(tmp_path: Path) -> None:
    lost = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    source = written(tmp_path / "source", f'RUN ["sh", "-c", "echo; echo \'{lost}\'; exit 1\\n{lost}"]\n')
    with pytest.raises(BuildRefusal, match=f"(?s)the build failed; last log lines:.*\n    {re.escape(lost)}\n"):
        DockerBuilder().build(source, on_log=lambda line: None)


@pytest.mark.docker
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_an_engine_that_goes_away_in_mid_build_is_the_hosts_cause_although_it_comes_back(
    tmp_path: Path, engine_proxy: Any
) -> None:
    source = written(tmp_path / "source", "RUN echo the step has begun && sleep 60\n")

    def log(line: str) -> None:
        if "the step has begun" in line and "sleep" not in line:
            engine_proxy.cut()
            engine_proxy.repair()

    with pytest.raises(Fault, match=r"engine (failed during a build|says)"):
        DockerBuilder().build(source, on_log=log)


@pytest.mark.docker
def test_an_engine_whose_disk_is_full_begins_no_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_limits, "LEAST_FREE_BYTES", 1 << 60)
    source = written(tmp_path / "source", "RUN true\n")
    with pytest.raises(Fault, match="the engine's disk is full"):
        DockerBuilder().build(source, on_log=lambda line: None)
