"""Threat models: what an attack wants, may change and may know (Dong et al. 2020, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Goal(StrEnum):
    """What an adversarial image makes a model say (section 2.1)."""

    UNTARGETED = "untargeted"
    """Any class but the right one."""
    TARGETED = "targeted"
    """The target class of the image."""


class Capability(StrEnum):
    """How the perturbation is limited (section 2.2)."""

    CONSTRAINED = "constrained"
    """It stays within a budget (eq. 1)."""
    OPTIMISED = "optimised"
    """The attack makes it as small as it can (eq. 2)."""


class Norm(StrEnum):
    """The distance of two images with values in [0, 1]."""

    LINF = "linf"
    L2 = "l2"
    NORMALISED_L2 = "l2-normalised"
    """L2 divided by the square root of the number of values, as on ImageNet (section 5.2)."""


class Knowledge(StrEnum):
    """What an attack may see of the model (section 2.3)."""

    WHITE_BOX = "white-box"
    """Its scores and gradients; the attack adapts to a defence."""
    TRANSFER = "transfer"
    """Nothing: the attack has a substitute model."""
    SCORE = "score"
    """The scores of images, within a number of queries."""
    DECISION = "decision"
    """The class of images, within a number of queries."""


@dataclass(frozen=True)
class ThreatModel:
    """A threat model: every result names one."""

    goal: Goal
    capability: Capability
    norm: Norm
    knowledge: Knowledge

    def __str__(self) -> str:
        return f"{self.knowledge}, {self.goal}, {self.capability}, {self.norm}"
