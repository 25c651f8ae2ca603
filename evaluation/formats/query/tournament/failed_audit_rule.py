"""The rule by which a model that failed audits leaves a round. Pure.

One match alone never decides, because an attack can make the audit of its own match fail against an honest model.
Labels of images at a boundary depend on the rounding of floating point, and so on the frame in which an image is asked
about; an attack that sends only such images makes most replays differ. So more than half of the attacks that measure
the model must agree, and at least two. They come from different teams: a team has one attack in a bracket.
"""

from __future__ import annotations

LEAST_ATTACKS = 2
"""Least number of failed audits with which a model leaves."""


class NobodyLeftError(ValueError):
    """Every remaining model is inconsistent: no model is left to measure the attacks."""

    def __init__(self) -> None:
        super().__init__("every remaining model failed its audits")


def distrusted(*, failed: int, met: int) -> bool:
    """Return True if a model leaves whose audits failed in `failed` of its matches with the `met` attacks.

    These attacks are the counted ones of the stage, or all remaining attacks where the models are given. Attacks of
    the model's own team are not among them; otherwise the team could remove it.
    """
    return failed >= LEAST_ATTACKS and 2 * failed > met
