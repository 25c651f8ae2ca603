"""The tracks of the transfer format."""

from __future__ import annotations

from competitions.formats import TrackSide, TrackSpec
from evaluation.formats.transfer.rules import TransferTrack

ATTACK = TransferTrack.ATTACK.value
TARGETED_ATTACK = TransferTrack.TARGETED_ATTACK.value
DEFENCE = TransferTrack.DEFENCE.value

TRACKS = (
    TrackSpec(ATTACK, "attack", TrackSide.ATTACK),
    TrackSpec(TARGETED_ATTACK, "targeted attack", TrackSide.ATTACK),
    TrackSpec(DEFENCE, "defence", TrackSide.DEFENCE),
)
"""In the order of pages."""

ATTACK_TRACKS = tuple(track.name for track in TRACKS if track.side is TrackSide.ATTACK)
"""Names of the tracks of attacks, in the order of pages."""
