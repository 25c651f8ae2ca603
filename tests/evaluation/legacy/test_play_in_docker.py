"""Submissions of 2018 as containers: on an image of the legacy environment, which here has numpy alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from evaluation.builder.build_context_tar import tree_context
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.image_archive import BuiltConfig, ImageArchive, compose_config, docker_archive, write_layer
from evaluation.builder.lean_build_steps import SDK_DIRECTORY, WORK_DIRECTORY
from evaluation.builder.manifest import read_manifest
from evaluation.domain.errors import HostRefusal
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.formats.query.submissions_2018.builders import any_year_builder, write_image_source
from evaluation.formats.query.submissions_2018.manifest_2018 import read_submission
from evaluation.legacy.environment import IMAGE_VARIABLE, VARIABLE
from evaluation.sandbox.base import Resources
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.sdk_tree import SDK
from tests.evaluation.legacy.conftest import REPOSITORIES, RULES, samples

pytestmark = pytest.mark.docker

IMAGE = "gauntlet-legacy-test:latest"
NUMPY = "numpy==1.26.4"


@pytest.fixture
def sandbox() -> DockerSandbox:
    return DockerSandbox()


@pytest.fixture
def image(root: Path, tmp_path: Path) -> str:
    """The image that `make legacy-image` makes of a small environment; an engine that has it keeps it."""
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    wheel = ("--no-deps", "--only-binary=:all:", "--python-version=3.11", NUMPY)  # for the base image's Python
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, *wheel], check=True)
    environment = {VARIABLE: str(tmp_path), IMAGE_VARIABLE: IMAGE}
    subprocess.run([root / ".ci" / "legacy-image"], env=os.environ | environment, check=True)
    return IMAGE


@pytest.fixture
def build(sandbox: DockerSandbox, image: str, tmp_path: Path) -> Callable[[str], QueryPlayer]:
    """Makes players of look-alikes as the builder does, but without a build: they install nothing."""

    def make(name: str) -> QueryPlayer:
        base = sandbox.client.images.get(image).attrs
        source, sdk = tmp_path / name / "source", tmp_path / name / "sdk"
        layers: dict[str, Path] = {}
        write_image_source(REPOSITORIES / name, read_submission(REPOSITORIES / name), source)
        SDK.write(sdk)
        for folder, place in ((source, WORK_DIRECTORY), (sdk, SDK_DIRECTORY)):
            layer = folder.with_suffix(".tar")
            layers[write_layer(tree_context(folder, place.lstrip("/")), layer)] = layer
        below = base["RootFS"]["Layers"]
        config = compose_config(
            BuiltConfig(tuple(below), tuple(base["Config"]["Env"]), WORK_DIRECTORY),
            [*below, *layers],
            digest=f"test-{name}",
            architecture=base["Architecture"],
            made_at=datetime.now(UTC),
        )
        stream: Any = docker_archive(config, {digest: partial(FileIO, path) for digest, path in layers.items()})
        sandbox.client.images.load(stream)
        manifest = read_manifest(source)
        identity = ImageArchive(config, layers).identity
        return QueryPlayer(name, manifest.run, f"test-{name}", image=identity, track=manifest.track)

    return make


@pytest.mark.slow(30)
def test_a_model_and_an_attack_of_2018_play_in_containers(
    sandbox: DockerSandbox, build: Callable[[str], QueryPlayer]
) -> None:
    players = [build(name) for name in ("logits-model", "forks")]
    model, attack = (SandboxedPlayer(sandbox, player, Resources()) for player in players)
    match = RefereedMatch(
        rules=RULES, track=TrackName.UNTARGETED, model=model, attack=attack, seed=1, fresh_audit=False
    )
    try:
        rows = [row for piece in match.play(samples(4, TrackName.UNTARGETED)) for row in piece.samples]
        assert not match.failures, "".join([*model.logs, *attack.logs])
    finally:
        match.close()
        for player in players:
            sandbox.client.images.remove(str(player.image))
    assert [(row.queries, row.outcome) for row in rows] == [(2, Outcome.ADVERSARIAL)] * 4


def test_a_host_without_the_image_says_how_to_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, sys.prefix)
    monkeypatch.setenv(IMAGE_VARIABLE, "gauntlet-legacy:nowhere")
    with pytest.raises(HostRefusal, match="needs the image gauntlet-legacy:nowhere") as refused:
        any_year_builder("docker").build(REPOSITORIES / "plain-attack", on_log=print)
    assert "make legacy-image" in str(refused.value)


def test_the_layers_of_the_legacy_image_are_stored_with_each_player(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that never built one fetches them; what `keep` stores, tests of builds state with a real image."""
    built = QueryPlayer("plain-attack", ("true",), "digest", image="sha256:1", track=TrackName.UNTARGETED)
    kept: list[str] = []
    monkeypatch.setenv(VARIABLE, sys.prefix)
    monkeypatch.setenv(IMAGE_VARIABLE, "gauntlet-legacy:latest")
    monkeypatch.setattr(DockerBuilder, "has", lambda builder, image: True)
    monkeypatch.setattr(DockerBuilder, "build", lambda builder, source, *, on_log: built)
    monkeypatch.setattr(DockerBuilder, "keep", lambda builder, identity: kept.append(identity))
    assert any_year_builder("docker").build(REPOSITORIES / "plain-attack", on_log=print) is built
    assert kept == [built.image]
