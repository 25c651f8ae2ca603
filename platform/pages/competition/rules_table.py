"""Table of the rules of a competition."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

from competitions.models import RulesVersion
from competitions.rules import least_accuracy
from evaluation.domain.images import ImageShape


@dataclass(frozen=True)
class RuleRow:
    """A rule, its value and a note."""

    name: str
    value: str
    note: str = ""


def images(shape: ImageShape, classes: int) -> RuleRow:
    """Return the rule about the images."""
    height, width, channels = shape
    return RuleRow(
        gettext("Images"),
        gettext("%(shape)s, %(classes)s classes") % {"shape": f"{height} x {width} x {channels}", "classes": classes},
        gettext("Integers from 0 to 255."),
    )


def clean_accuracy(version: RulesVersion, note: str) -> RuleRow:
    """Return the rule about the clean accuracy in the smoke test; the note says whose."""
    return RuleRow(
        gettext("Clean accuracy in the smoke test"),
        gettext("at least %(share)s") % {"share": f"{100 * least_accuracy(version.values):.0f}\u00a0%"},
        note,
    )
