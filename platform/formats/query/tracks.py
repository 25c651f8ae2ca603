"""The tracks of the query format."""

from __future__ import annotations

from competitions.formats import TrackSide, TrackSpec
from evaluation.domain.players import TrackName

MODEL = TrackName.MODEL.value
UNTARGETED = TrackName.UNTARGETED.value
TARGETED = TrackName.TARGETED.value

TRACKS = (
    TrackSpec(MODEL, "model", TrackSide.DEFENCE),
    TrackSpec(UNTARGETED, "untargeted attack", TrackSide.ATTACK),
    TrackSpec(TARGETED, "targeted attack", TrackSide.ATTACK),
)
"""In the order of pages."""

ATTACK_TRACKS = tuple(track.name for track in TRACKS if track.side is TrackSide.ATTACK)
"""Names of the tracks of attacks, in the order of pages."""
