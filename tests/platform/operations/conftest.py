"""A small cluster of Kubernetes as its API tells of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from operations.launcher.kubernetes import KubernetesLauncher
from operations.launcher.kubernetes_job import PodOptions
from tests.kubernetes_api import KubernetesApi

PODS = PodOptions(
    image="registry.example/gauntlet-worker:1", secret="gauntlet-worker", slots=2, minutes=240, idle_seconds=60,  # noqa: S106
    memory_gib=8, disk_gib=20,
)  # fmt: skip


@pytest.fixture
def api(tmp_path: Path) -> Iterator[KubernetesApi]:
    made = KubernetesApi(tmp_path)
    yield made
    made.close()


@pytest.fixture
def kubernetes_launcher(api: KubernetesApi) -> KubernetesLauncher:
    return KubernetesLauncher("gauntlet-tests", "gauntlet", PODS, server=api.address, account=api.folder)
