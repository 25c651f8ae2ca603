"""A worker that a cluster started, on a node without bubblewrap, opens no sandbox."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from core.errors import Fault
from evaluation.sandbox.bubblewrap import bubblewrap_works
from workers import sandboxes


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sandboxes, "_open", {})
    monkeypatch.setenv("PATH", "/nowhere")
    bubblewrap_works.cache_clear()
    yield
    bubblewrap_works.cache_clear()


def test_a_job_of_a_cluster_names_the_guard_that_its_node_lacks(no_bubblewrap: None, settings: Settings) -> None:
    """Elsewhere an operator has chosen the host, and every page warns."""
    settings.WORKER_JOB = "gauntlet-1-cpu-7"
    with pytest.raises(Fault, match="bubblewrap is not installed"):
        sandboxes.open_sandbox()
    settings.WORKER_JOB = ""
    sandboxes.open_sandbox()
