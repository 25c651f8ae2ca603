"""Gallery of adversarials: clean image, perturbed image, amplified difference, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image as Picture
from PIL import ImageDraw, ImageFont

from evaluation.domain.images import Image
from evaluation.domain.samples import Sample
from evaluation.formats.query.results import MatchResult, Outcome, RefereedSample

_TILE = 128
_MARGIN = 12
_CAPTION = 34
_HEAD = 40


@dataclass(frozen=True, eq=False)
class PlottedAdversarial:
    """One adversarial with its match and sample."""

    match: MatchResult
    row: RefereedSample
    clean: Image
    perturbed: Image


def plotted_adversarials(
    matches: Sequence[MatchResult], samples: Sequence[Sample], each: int
) -> list[PlottedAdversarial]:
    """Return the first `each` adversarials of every match."""
    clean = {sample.number: sample.image for sample in samples}
    chosen = []
    for match in matches:
        images = np.concatenate([piece.perturbed for piece in match.pieces])
        found = [
            PlottedAdversarial(match, row, clean[row.sample], image)
            for row, image in zip(match.samples, images, strict=True)
            if row.outcome is Outcome.ADVERSARIAL
        ]
        chosen += found[:each]
    return chosen


def write_gallery(
    shown: Sequence[PlottedAdversarial], class_names: Sequence[str], path: Path, *, columns: int = 2
) -> None:
    """Draw `shown` as a PNG, `columns` adversarials side by side."""
    width, height = 3 * _TILE + 4 * _MARGIN, _TILE + _CAPTION + 2 * _MARGIN
    rows = -(-len(shown) // columns)
    canvas = Picture.new("RGB", (columns * width, _HEAD + rows * height), "white")
    draw = ImageDraw.Draw(canvas)
    title = ImageFont.load_default(18)
    draw.text((_MARGIN, _MARGIN), "clean, perturbed, difference (amplified to full range)", "black", title)
    for index, plotted in enumerate(shown):
        left, top = index % columns * width + _MARGIN, _HEAD + index // columns * height
        _draw_adversarial(canvas, draw, plotted, class_names, left, top)
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.save(path)


def _draw_adversarial(
    canvas: Picture.Image,
    draw: ImageDraw.ImageDraw,
    plotted: PlottedAdversarial,
    class_names: Sequence[str],
    left: int,
    top: int,
) -> None:
    for position, image in enumerate((plotted.clean, plotted.perturbed, _amplified(plotted))):
        tile = Picture.fromarray(image.squeeze()).convert("RGB").resize((_TILE, _TILE), Picture.Resampling.NEAREST)
        canvas.paste(tile, (left + position * (_TILE + _MARGIN), top + _CAPTION))
    row = plotted.row
    label = "none" if row.found_label is None or row.found_label < 0 else class_names[row.found_label]
    font = ImageFont.load_default(12)
    draw.text((left, top), f"{plotted.match.attack} against {plotted.match.model}", "black", font)
    labels = f"true {class_names[row.label]}, predicted {label}, distance {row.distance:.2f}, {row.queries} queries"
    draw.text((left, top + 15), labels, "dimgray", font)


def _amplified(plotted: PlottedAdversarial) -> Image:
    """Return the difference around mid-grey, scaled so that its largest value is black or white."""
    difference = plotted.perturbed.astype(np.float64) - plotted.clean
    largest = max(float(np.abs(difference).max()), 1.0)
    return np.rint(127.5 + 127.5 * difference / largest).astype(np.uint8)
