"""Adapter: the pictures of the samples of a match."""

from __future__ import annotations

import io

import numpy as np

from competitions.sample_pictures import sample_picture
from core import object_store
from core.errors import Refusal
from evaluation.domain.images import Image
from evaluation.formats.query.runner.piece_file import IMAGES
from formats.query.matches.models import Match, Piece


def picture(match: Match, sample: int, name: str) -> bytes:
    """Return a picture of a sample as PNG. Raise `Refusal` if it has not been played or the name is unknown."""
    return sample_picture(match.sample_set, sample, name, lambda: _perturbed(match, sample))


def _perturbed(match: Match, sample: int) -> Image:
    piece = match.pieces.filter(state=Piece.State.PLAYED, first__lte=sample).order_by("-first").first()
    if piece is None or sample >= piece.first + piece.count:
        raise Refusal(f"sample {sample} of {match} has not been played", fix="choose one that was played")
    with np.load(io.BytesIO(object_store.get(piece.artefact)), allow_pickle=False) as columns:
        image: Image = columns[IMAGES][columns["sample"].tolist().index(sample)]
    return image
