"""Rules of a competition of released models: which attacks benchmark them, and at which budgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from evaluation.domain.images import ImageShape
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm

KNOWLEDGE: Mapping[str, Knowledge] = {
    **dict.fromkeys(("apgd-ce", "bim", "deepfool", "fmn", "mim"), Knowledge.WHITE_BOX),
    **dict.fromkeys(("n-attack", "square"), Knowledge.SCORE),
    **dict.fromkeys(("boundary", "evolutionary", "hop-skip-jump"), Knowledge.DECISION),
}
"""What each attack that rules may list sees of a model."""


@dataclass(frozen=True)
class ListedAttack:
    """An attack of the benchmark. It may ask the model at most `queries` times for each image."""

    name: str
    goal: Goal
    norm: Norm
    queries: int

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Return the attack of a table of a competition's file. Raise `ValueError` naming what is wrong."""
        known = ("name", "goal", "norm", "queries")
        if set(values) != set(known):
            raise ValueError(f"each attack has exactly the keys {', '.join(known)}, not {', '.join(sorted(values))}")
        return cls(values["name"], Goal(values["goal"]), Norm(values["norm"]), values["queries"])

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ValueError(f"the name of an attack is a string, not {self.name!r}")
        if type(self.queries) is not int or not 1 <= self.queries <= 10**6:
            raise ValueError(f"queries of {self.name} must be a whole number from 1 to 1,000,000")
        if self.norm not in (Norm.LINF, Norm.L2):
            raise ValueError(f"the norm of {self.name} must be linf or l2")

    def __str__(self) -> str:
        return f"{self.name}, {self.goal}, {self.norm}, {self.queries:,} queries"


@dataclass(frozen=True)
class CurvesRules:
    """The curves format: every released model is benchmarked by the listed attacks (Dong et al. 2020).

    The defaults are the budgets and query limits of the paper for CIFAR-10. Distances are of images with values in
    [0, 1]. Seconds are those of the reference machine; a worker multiplies them by its calibration factor.
    """

    name: str = "released-models"
    version: int = 1
    format: Literal["curves"] = "curves"
    shape: ImageShape = ImageShape(32, 32, 3)
    classes: int = 10
    attacks: tuple[ListedAttack, ...] = (
        ListedAttack("boundary", Goal.UNTARGETED, Norm.L2, 10_000),
        ListedAttack("evolutionary", Goal.UNTARGETED, Norm.L2, 10_000),
    )
    budget_linf: float = 0.0314
    """The budget at which leaderboards compare accuracies; 8 of 255 steps, rounded up."""
    budget_l2: float = 1.0
    setup_seconds: float = 100.0
    model_seconds_per_image: float = 0.040

    def __post_init__(self) -> None:
        if not self.attacks:
            raise ValueError("attacks must name at least one attack")
        keys = [(each.name, each.goal, each.norm) for each in self.attacks]
        if len(set(keys)) < len(keys):
            raise ValueError("attacks names an attack twice with the same goal and norm")
        if not 2 <= self.classes <= 32767:
            raise ValueError("classes must be from 2 to 32,767, the largest int16 label")

    def budget(self, norm: Norm) -> float:
        """Return the fixed budget of a norm."""
        return self.budget_linf if norm is Norm.LINF else self.budget_l2

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        attacks = [{name: _plain(value) for name, value in asdict(each).items()} for each in self.attacks]
        return asdict(self) | {"shape": list(self.shape), "attacks": attacks}


def _plain(value: object) -> object:
    return str(value) if isinstance(value, str) else value
