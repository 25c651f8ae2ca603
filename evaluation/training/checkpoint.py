"""Checkpoints: the state of an unfinished training run, from which the same command continues."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from evaluation.domain.errors import Refusal

CHECKPOINT = "checkpoint.pt"
_UNFINISHED = f"{CHECKPOINT}.unfinished"


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoint in the folder of one run.

    `settings` decide the result: a checkpoint with other ones belongs to another run. `host` names what equal bits
    depend on besides: a run that continues on another one ends with slightly different weights.
    """

    folder: Path
    settings: Mapping[str, Any]
    host: Mapping[str, Any]

    def load(self) -> dict[str, Any] | None:
        """Return the state that was saved last, or None. Raise `Refusal` if it is damaged or of another run."""
        path = self.folder / CHECKPOINT
        if not path.exists():
            return None
        again = "add --restart to discard it, or name another --out"
        try:
            saved: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
            settings, state = saved["settings"], dict(saved["state"])
        except Exception as error:  # torch raises whatever the damaged bytes lead to
            raise Refusal(f"{path} is damaged", fix=again) from error
        if other := _differences(settings, self.settings):
            raise Refusal(f"{path} is of a run with other settings: {other}", fix=again)
        return state | {"moved": _differences(saved["host"], self.host)}

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the saved state in one step: whenever the run is killed, a whole one is there."""
        unfinished = self.folder / _UNFINISHED
        with unfinished.open("wb") as file:
            torch.save({"settings": dict(self.settings), "host": dict(self.host), "state": dict(state)}, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.folder / CHECKPOINT)


def discard_checkpoint(folder: Path) -> None:
    """Remove the saved state, if there is one."""
    for path in (folder / CHECKPOINT, folder / _UNFINISHED):
        path.unlink(missing_ok=True)


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    names = sorted(before.keys() | now.keys())
    changed = [name for name in names if before.get(name) != now.get(name)]
    return ", ".join(f"{name} {before.get(name)}, now {now.get(name)}" for name in changed)
