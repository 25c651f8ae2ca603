"""Catalogue of the bundled submissions of the query format."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evaluation.baselines.bundled import FOLDER, BundledRepository
from evaluation.domain.errors import Fault, Refusal
from evaluation.domain.players import Track

_NETWORK = {"network.py": "shared/network.py"}
_PLAIN_SURROGATE = {"surrogate-plain.safetensors": "plain-resnet/weights.safetensors"}
_ROBUST_SURROGATE = {"surrogate-robust.safetensors": "adversarial-logit-pairing/weights.safetensors"}
_STARTS = {"starts.npz": "shared/starts.npz"}

SHARED_PARTS: Mapping[str, Mapping[str, str]] = {
    "adversarial-logit-pairing": _NETWORK,
    "frozen-noise": _NETWORK,
    "iterative-transfer": _NETWORK | _PLAIN_SURROGATE | _ROBUST_SURROGATE,
    "plain-resnet": _NETWORK,
    "single-step-transfer": _NETWORK | _ROBUST_SURROGATE,
    "targeted-boundary": _STARTS,
    "targeted-interpolation": _STARTS,
    "targeted-iterative-transfer": _NETWORK | _PLAIN_SURROGATE | _ROBUST_SURROGATE | _STARTS,
    "targeted-pointwise": _STARTS,
}
"""For each bundled submission, the files that are not in its own folder: name in its repository to path below `FOLDER`.

Every submission contains `LICENCE` besides.
"""


@dataclass(frozen=True)
class Baseline(BundledRepository):
    """One bundled submission of the query format."""

    track: Track

    @property
    def source(self) -> Path:
        return FOLDER / self.name

    @property
    def parts(self) -> Mapping[str, str]:
        return SHARED_PARTS.get(self.name, {})


@cache
def baselines() -> tuple[Baseline, ...]:
    """Return all bundled submissions: models, untargeted, then targeted attacks; by name within a track.

    Raise `Fault` if a folder has no readable manifest.
    """
    manifests = sorted(FOLDER.glob("*/submission.toml"))
    found = [Baseline(manifest.parent.name, _track(manifest)) for manifest in manifests]
    return tuple(sorted(found, key=lambda baseline: list(Track).index(baseline.track)))


def find_baseline(name: str) -> Baseline:
    """Return the bundled submission `name`. Raise `Refusal` if there is none."""
    found = next((baseline for baseline in baselines() if baseline.name == name), None)
    if found is None:
        raise Refusal(f"no bundled submission is called {name!r}", fix="run `gauntlet baselines` to list them")
    return found


def is_bundled(directory: Path | None) -> bool:
    """Return True if a player's directory is the repository of a bundled submission."""
    return directory is not None and any(
        baseline.repository().resolve() == directory.resolve()
        for baseline in baselines()
        if baseline.name == directory.name
    )


def _track(manifest: Path) -> Track:
    try:
        return Track(tomllib.loads(manifest.read_text(encoding="utf-8"))["submission"]["track"])
    except (OSError, KeyError, ValueError) as error:
        raise Fault(f"the bundled submission {manifest.parent.name} has no readable manifest: {error}") from error
