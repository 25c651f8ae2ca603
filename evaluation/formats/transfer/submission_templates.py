"""Templates of submissions to the tracks of the transfer format, in the layout of 2017."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evaluation.baselines.templates import FRAMEWORKS, GRADIENT_STEPS, Template
from evaluation.formats.transfer.catalogue import ATTACK_FILES, DEFENCE_FILES
from evaluation.formats.transfer.metadata import METADATA_NAME
from evaluation.formats.transfer.rules import TransferTrack

_ATTACK = GRADIENT_STEPS | ATTACK_FILES


@dataclass(frozen=True)
class TransferTemplate(Template):
    """See `Template`."""

    format: ClassVar[str] = "transfer"
    manifest: ClassVar[str] = METADATA_NAME
    programs: ClassVar = {
        TransferTrack.ATTACK: _ATTACK,
        TransferTrack.TARGETED_ATTACK: _ATTACK,
        TransferTrack.DEFENCE: DEFENCE_FILES,
    }


def transfer_templates() -> tuple[TransferTemplate, ...]:
    """Return the templates of defences in every framework, and of attacks in those that compute gradients."""
    return tuple(
        TransferTemplate(each.name, track, each)
        for each in FRAMEWORKS.values()
        for track in TransferTrack
        if each.gradients or not track.is_attack
    )
