"""A smoke test on a host that plays other matches of the same team."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.builder.in_place_builder import InPlaceBuilder
from evaluation.datasets.load import load_dataset
from evaluation.domain.smoke_test_result import SmokeTestResult
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.audit_exclusion_lock import InstanceLock
from evaluation.formats.query.runner.smoke_test import check_model
from evaluation.sandbox.process_sandbox import ProcessSandbox

HONEST = Path(__file__).parents[4] / "repos" / "players" / "honest-model"


def test_a_model_is_tested_while_its_team_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    player = replace(InPlaceBuilder().build(HONEST, on_log=lambda line: None), team="7")
    results: list[SmokeTestResult] = []

    def check() -> None:
        results.append(
            check_model(
                player,
                samples=load_dataset("digits").samples("dev"),
                rules=QueryRules(classes=10),
                sandbox=ProcessSandbox(),
                seed=1,
                calibration=1.0,
                least_accuracy=0.0,
                most=2,
            )
        )

    tested = threading.Thread(target=check)
    playing = [InstanceLock(player), InstanceLock(replace(player, digest="sha256:another model"))]
    try:
        tested.start()
        tested.join(60.0)
        assert not tested.is_alive()
    finally:
        for lock in playing:
            lock.release()
        tested.join()
    assert [check.name for check in results[0].checks if check.passed] == ["rules", "accuracy", "time", "stateless"]
