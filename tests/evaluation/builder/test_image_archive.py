"""Images as files: what of a build's configuration stays, and archives that an engine loads."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluation.builder.build_context_tar import ContextEntry
from evaluation.builder.docker_builder import check_image_store
from evaluation.builder.image_archive import (
    BuiltConfig,
    ImageArchive,
    compose_config,
    docker_archive,
    read_config,
    read_layer_names,
    write_layer,
)
from evaluation.domain.errors import BuildRefusal, Fault

NOW = datetime(2018, 10, 31, tzinfo=UTC)
LAYER = f"sha256:{64 * 'a'}"


def composed(**config: object) -> dict[str, Any]:
    built = read_config(json.dumps({"config": config, "rootfs": {"type": "layers", "diff_ids": [LAYER]}}).encode())
    text = compose_config(built, built.layers, digest="sha256:recipe", architecture="amd64", made_at=NOW)
    made: dict[str, Any] = json.loads(text)
    return made


def test_a_configuration_keeps_what_a_player_needs_and_drops_the_rest() -> None:
    made = composed(
        Env=["PATH=/bin", "PYTHONPATH=/player/more"],
        WorkingDir="/player",
        User="root",
        Entrypoint=["evil"],
        Cmd=["evil"],
        Labels={"gauntlet.digest": "sha256:another"},
        Healthcheck={"Test": ["CMD", "evil"]},
        OnBuild=["RUN evil"],
    )

    assert made["config"] == {
        "User": "65534:65534",
        "Env": ["PATH=/bin", "PYTHONPATH=/opt/gauntlet:/player/more", "HOME=/tmp", "PYTHONUNBUFFERED=1"],
        "WorkingDir": "/player",
        "Labels": {"gauntlet.digest": "sha256:recipe", "gauntlet.base-layers": "0"},
    }
    assert made["rootfs"] == {"type": "layers", "diff_ids": [LAYER]}
    assert made["history"] == []


@pytest.mark.parametrize(
    ("config", "problem"),
    [({"Volumes": {"/data": {}}}, "VOLUME /data"), ({"Env": ["X=" + "x" * 70_000]}, "larger than 64 KiB")],
)
def test_it_refuses_what_no_player_may_have(config: dict[str, object], problem: str) -> None:
    with pytest.raises(BuildRefusal, match=problem):
        composed(**config)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no JSON",
        b"[]",
        b'{"config": []}',
        b'{"config": {"Env": "PATH=/bin"}}',
        b'{"config": {"Env": [7]}}',
        b'{"config": {"Env": ["no value"]}}',
        b'{"config": {"Env": ["PATH=/bin\\u0000"]}}',
        b'{"config": {"WorkingDir": 7}}',
        b'{"config": {"WorkingDir": "here"}}',
        b'{"config": {"Volumes": ["/data"]}}',
        b'{"rootfs": 7}',
        b'{"rootfs": {"diff_ids": {}}}',
        b'{"rootfs": {"diff_ids": ["../../etc/passwd"]}}',
        b"[" * 100_000,
        b'{"config": "\xff"}',
    ],
    ids=range(16),
)
def test_a_configuration_of_a_hostile_build_is_no_configuration(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_config(content)


@pytest.mark.parametrize("content", [b"", b"{}", b"[7]", b"[" * 100_000, b'"a"', b"\xff"], ids=range(6))
def test_a_list_of_layers_of_a_hostile_build_is_no_list(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_layer_names(content)


def test_an_archive_holds_the_layers_that_are_not_elsewhere(tmp_path: Path) -> None:
    layer = tmp_path / "layer.tar"
    name = write_layer([ContextEntry("opt/file", b"content")], layer)
    names = [LAYER, name]
    config = compose_config(BuiltConfig(()), names, digest="d", architecture="amd64", made_at=NOW)
    archive = ImageArchive(config, {name: layer})

    with tarfile.open(fileobj=io.BytesIO(b"".join(docker_archive(config, {name: lambda: layer.open("rb")})))) as stream:
        members = {member.name: stream.extractfile(member).read() for member in stream.getmembers()}  # type: ignore[union-attr]

    assert sorted(members) == ["1.tar", "config.json", "manifest.json"]
    assert json.loads(members["manifest.json"])[0]["Layers"] == ["0.tar", "1.tar"]
    assert f"sha256:{hashlib.sha256(members['1.tar']).hexdigest()}" == name
    assert f"sha256:{hashlib.sha256(members['config.json']).hexdigest()}" == archive.identity


def test_an_engine_that_calls_images_by_other_names_is_refused_with_the_setting_to_change() -> None:
    # as Docker 29 answers on a new host; it cannot be had in every test
    containerd = {"DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]]}
    check_image_store({"DriverStatus": [["Backing Filesystem", "extfs"]]})
    check_image_store({"DriverStatus": None})
    with pytest.raises(Fault, match="containerd-snapshotter"):
        check_image_store(containerd)
