"""What the galleries of all formats have in common: columns of players, lines of samples, and the amplification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page

from evaluation.charts.sample_pictures import AMPLIFICATIONS, USUAL_AMPLIFICATION
from pages.player_names import PlayerName

COLUMNS = 5
"""Players side by side in the gallery of a round: the best ones."""

SAMPLES_PER_PAGE = 6
"""Samples on a page of the gallery of a round."""


@dataclass(frozen=True, kw_only=True)
class GalleryCell:
    """What became of a sample: the class that was found, and the addresses of the pictures where there are any."""

    found: str
    perturbed: str = ""
    difference: str = ""


@dataclass(frozen=True, kw_only=True)
class GalleryLine:
    """A sample: its clean image, the names of its class and its target, and a cell for each column."""

    sample: int
    label: str
    target: str
    clean: str
    cells: Sequence[GalleryCell | None]


@dataclass(frozen=True, kw_only=True)
class RoundGallery:
    """A page of the gallery of a round. `chosen` is the player that all columns meet, one of `choices`."""

    columns: Sequence[PlayerName]
    lines: Sequence[GalleryLine]
    page: Page[int]
    factor: int
    chosen: int | None
    choices: Sequence[tuple[int, PlayerName]]
    factors: Sequence[int] = AMPLIFICATIONS


def amplification(factor: str) -> int:
    """Return the amplification that a reader has chosen, the usual one for anything else."""
    return next((each for each in AMPLIFICATIONS if str(each) == factor), USUAL_AMPLIFICATION)
