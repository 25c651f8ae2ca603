"""The track of the curves format."""

from __future__ import annotations

from competitions.formats import TrackSide, TrackSpec
from evaluation.domain.players import TrackName

MODEL = TrackName.MODEL.value

TRACKS = (TrackSpec(MODEL, "model", TrackSide.DEFENCE),)
