"""Submissions of a player in a bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluation.bundle.checked_fields import Fields

_SUBMISSION = {"team", "commit", "title", "licence", "eligible", "why"}


@dataclass(frozen=True)
class BundleSubmission:
    """A submission of a player, and whether it may win prizes; `why` says why not."""

    team: str
    commit: str
    title: str
    licence: str
    eligible: bool
    why: str = ""


def read_submission(number: int, values: Mapping[str, Any]) -> BundleSubmission:
    """Return a submission of line `number`. Raise `BundleRefusal`."""
    line = Fields(number, values, names=_SUBMISSION)
    if line.flag("eligible") == bool(line.text("why")):
        raise line.refusal("a submission must be eligible, or have a reason why not")
    return BundleSubmission(
        team=line.text("team"),
        commit=line.text("commit"),
        title=line.text("title"),
        licence=line.text("licence"),
        eligible=line.flag("eligible"),
        why=line.text("why"),
    )
