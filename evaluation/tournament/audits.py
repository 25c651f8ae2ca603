"""When a model has failed the audit of a stage, so that it leaves the round. Pure.

One match alone never decides: an attack can make the audit of its own match fail against an honest model. Labels of
images at a boundary depend on the rounding of floating point, and so on the company in which an image is asked about;
whoever collects such images and asks for nothing else makes most replays differ. So it takes more than half of the
attacks that measure the model, and at least two. They are of as many teams: a team has one attack in a bracket.
"""

from __future__ import annotations

LEAST_ATTACKS = 2
"""Fewer failed audits than these never make a model leave by themselves."""


class NobodyLeftError(ValueError):
    """Every model that was still in is inconsistent: nothing is left that attacks could be measured by."""

    def __init__(self) -> None:
        super().__init__("every model that was still in did not pass its audits")


def distrusted(*, failed: int, met: int) -> bool:
    """Whether a model leaves whose audits failed in the matches with `failed` of the `met` attacks that measure it.

    These are the counted attacks of the stage, in a bracket of given models all attacks still in; never those of its
    own team, which could leave it alone.
    """
    return failed >= LEAST_ATTACKS and 2 * failed > met
