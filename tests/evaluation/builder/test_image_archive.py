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

from evaluation.builder.context import ContextEntry
from evaluation.builder.docker_builder import check_image_store
from evaluation.builder.image_archive import ImageArchive, compose_config, docker_archive, write_layer
from evaluation.domain.errors import BuildRefusal, Fault

NOW = datetime(2018, 10, 31, tzinfo=UTC)
BUILT: dict[str, Any] = {"architecture": "amd64", "os": "linux", "config": {}}


def composed(**config: object) -> dict[str, Any]:
    text = compose_config(BUILT | {"config": config}, ["sha256:a"], digest="sha256:recipe", made_at=NOW)
    made: dict[str, Any] = json.loads(text)
    return made


def test_it_works() -> None:
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
        "Labels": {"gauntlet.digest": "sha256:recipe"},
    }
    assert made["rootfs"] == {"type": "layers", "diff_ids": ["sha256:a"]}
    assert made["history"] == []


@pytest.mark.parametrize(
    ("config", "problem"),
    [({"Volumes": {"/data": {}}}, "VOLUME /data"), ({"Env": ["X=" + "x" * 70_000]}, "more than 64 KiB")],
)
def test_it_refuses_what_no_player_may_have(config: dict[str, object], problem: str) -> None:
    with pytest.raises(BuildRefusal, match=problem):
        composed(**config)


def test_an_archive_holds_the_layers_that_are_not_elsewhere(tmp_path: Path) -> None:
    layer = tmp_path / "layer.tar"
    name = write_layer([ContextEntry("opt/file", b"content")], layer)
    archive = ImageArchive(compose_config(BUILT, ["sha256:base", name], digest="d", made_at=NOW), {name: layer})

    with tarfile.open(fileobj=io.BytesIO(b"".join(docker_archive(archive)))) as stream:
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
