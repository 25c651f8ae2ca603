"""Templates of submissions: the program of a track, and a network in the framework that a team uses."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from evaluation.baselines.bundled import DIGITS, FOLDER, BundledRepository

TEMPLATES = "templates"

_WEIGHTS = {"weights.npz": "numpy-classifier/weights.npz"}
_OWN = ("README.md", "network.py", "requirements.txt")


@dataclass(frozen=True)
class Framework:
    """A library of networks. Each has a module `network` with the same two functions.

    `scores` maps images to scores; `gradients` (not where the library computes none) are what attacks follow.
    """

    name: str
    title: str
    package: str
    """The module whose import shows that it is installed."""
    gradients: bool = True
    files: Mapping[str, str] = field(default_factory=lambda: _WEIGHTS)
    """The files beside `network.py`: name in the repository to path below `FOLDER`."""

    @property
    def parts(self) -> dict[str, str]:
        """All its files."""
        return {name: f"{TEMPLATES}/{self.name}/{name}" for name in _OWN} | dict(self.files)


FRAMEWORKS: Mapping[str, Framework] = {
    each.name: each
    for each in (
        Framework("numpy", "numpy", "numpy"),
        Framework("pytorch", "PyTorch", "torch"),
        Framework("tensorflow", "TensorFlow", "tensorflow"),
        Framework("jax", "JAX", "jax"),
        Framework(
            "onnxruntime",
            "ONNX Runtime",
            "onnxruntime",
            gradients=False,
            files={name: f"{TEMPLATES}/onnxruntime/{name}" for name in ("model.onnx", "export.py")},
        ),
    )
}
"""The frameworks, by the name in `gauntlet new --template`."""


@dataclass(frozen=True)
class Template(BundledRepository):
    """The template of one track in one framework."""

    framework: Framework

    programs: ClassVar[Mapping[str, Mapping[str, str]]]
    """The files that a track's program shares with others, by track: name in the repository to path below `FOLDER`."""

    @property
    def origin(self) -> str:
        return f"the template for {self.framework.title}"

    @property
    def source(self) -> Path:
        return FOLDER / TEMPLATES / self.format / self.track

    @property
    def parts(self) -> Mapping[str, str]:
        return self.framework.parts | dict(self.programs[self.track])

    @property
    def data_sets(self) -> tuple[str, ...]:
        return (DIGITS,)

    def package_missing_for(self, data_set: str) -> str:
        return "" if importlib.util.find_spec(self.framework.package) else self.framework.package


GRADIENT_STEPS = {"gradient_steps.py": f"{TEMPLATES}/shared/gradient_steps.py"}
LINE_SEARCH = {"line_search.py": f"{TEMPLATES}/shared/line_search.py"}
