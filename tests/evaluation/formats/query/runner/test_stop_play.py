"""A match whose result nobody needs any more is stopped by another thread."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from evaluation.builder.in_place_builder import InPlaceBuilder
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import StoppedError
from evaluation.domain.players import TrackName
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.sandbox.base import Resources
from evaluation.sandbox.process_sandbox import ProcessSandbox
from evaluation.sandbox.stoppable_sandbox import StoppableSandbox

REPOSITORIES = Path(__file__).parents[4] / "repos"


@pytest.mark.parametrize(
    ("model", "seconds"), [("players/honest-model", 1.5), ("cheats/model-never-connects", 0.5)], ids=["plays", "starts"]
)
def test_a_stopped_match_ends_at_once_and_leaves_no_player(
    model: str, seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    sandbox = StoppableSandbox(ProcessSandbox())
    names = (model, "cheats/attack-endless-loop")
    players = [InPlaceBuilder().build(REPOSITORIES / name, on_log=lambda line: None) for name in names]
    rules = QueryRules(classes=10)
    connections = [SandboxedPlayer(sandbox, player, Resources()) for player in players]
    match = RefereedMatch(rules=rules, track=TrackName.UNTARGETED, model=connections[0], attack=connections[1], seed=8)
    stops = threading.Timer(seconds, sandbox.stop)
    stops.start()
    try:
        with pytest.raises(StoppedError):
            match.play_piece(list(load_dataset("digits").samples("dev")[1:4]))
    finally:
        stops.join()
        with suppress(StoppedError):
            match.close()
    assert list(tmp_path.rglob("*.json")) == []
    with pytest.raises(StoppedError):
        sandbox.prove(Resources())
