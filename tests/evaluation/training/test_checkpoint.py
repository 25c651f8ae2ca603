"""Checkpoints of unfinished runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from evaluation.domain.errors import Refusal
from evaluation.training.checkpoint import CHECKPOINT, Checkpoints, discard_checkpoint


def checkpoints(folder: Path, *, epochs: int = 3, torch_version: str = "2.0") -> Checkpoints:
    return Checkpoints(folder, settings={"epochs": epochs, "sides": (1, 2)}, host={"torch": torch_version})


def test_a_saved_state_is_loaded_until_it_is_discarded(tmp_path: Path) -> None:
    assert checkpoints(tmp_path).load() is None
    checkpoints(tmp_path).save({"step": 4, "network": {"weight": torch.arange(3.0)}})
    state = checkpoints(tmp_path).load()
    assert state is not None
    assert (state["step"], state["moved"]) == (4, "")
    assert torch.equal(state["network"]["weight"], torch.arange(3.0))
    discard_checkpoint(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_killed_while_it_writes_keeps_the_last_whole_state(tmp_path: Path) -> None:
    checkpoints(tmp_path).save({"step": 4})
    (tmp_path / f"{CHECKPOINT}.unfinished").write_bytes(b"half")
    state = checkpoints(tmp_path).load()
    assert state is not None
    assert state["step"] == 4


def test_it_says_what_is_different_on_this_host(tmp_path: Path) -> None:
    checkpoints(tmp_path).save({"step": 4})
    state = checkpoints(tmp_path, torch_version="3.0").load()
    assert state is not None
    assert state["moved"] == "torch 2.0, now 3.0"


def test_it_rejects_a_checkpoint_of_another_run(tmp_path: Path) -> None:
    checkpoints(tmp_path).save({"step": 4})
    with pytest.raises(Refusal, match="epochs 3, now 5") as refused:
        checkpoints(tmp_path, epochs=5).load()
    assert "--restart" in refused.value.fix


def test_it_rejects_a_damaged_checkpoint(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_bytes(b"not a checkpoint")
    with pytest.raises(Refusal, match="damaged"):
        checkpoints(tmp_path).load()
