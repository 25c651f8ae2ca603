"""Rules of the transfer format: attacks get images and an epsilon, defences label what comes out, nobody is queried.

The defaults are version 1, the NIPS 2017 competition (Kurakin et al. 2018, sections 3.2 to 3.5).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal

from evaluation.domain.images import ImageShape

FIRST_LABEL = 1
"""The label 0 of a sample in the files of submissions: 2017 counted from 1, and 0 ("background") was never used."""


class TransferTrack(StrEnum):
    """What is submitted and how it is scored."""

    ATTACK = "attack"
    TARGETED_ATTACK = "targeted_attack"
    DEFENCE = "defence"

    @property
    def is_attack(self) -> bool:
        """True for both tracks of attacks."""
        return self is not TransferTrack.DEFENCE


class Opponents(StrEnum):
    """Which opponents a score counts.

    `coverage`: every opponent, weighted by the share of the images that it processed. `complete`: only opponents that
    processed every image, the rule of 2017 (section 3.3).
    """

    COVERAGE = "coverage"
    COMPLETE = "complete"


@dataclass(frozen=True)
class TransferRules:
    """The transfer format. Epsilons are sizes of the maximum-norm ball in levels of 0 to 255.

    The epsilon of batch i is `epsilons[i % n]` (`cycled`, as the code of 2017 did) or drawn with the seed of the match
    (`drawn`, as algorithm 1 says). Seconds are those of the reference machine, for one submission and one batch.
    """

    name: str = "nips-2017"
    version: int = 1
    format: Literal["transfer"] = "transfer"
    norm: Literal["linf"] = "linf"
    shape: ImageShape = ImageShape(299, 299, 3)
    classes: int = 1000
    batch_images: int = 100
    epsilons: tuple[int, ...] = (4, 8, 12, 16)
    epsilon_order: Literal["cycled", "drawn"] = "cycled"
    batch_seconds: float = 500.0
    result_bytes: int = 10_000
    """The most bytes of a defence's result file; a larger one is ignored."""
    opponents: Opponents = Opponents.COVERAGE

    def __post_init__(self) -> None:
        if self.shape.channels != 3:
            raise ValueError("images must have 3 channels: attacks write RGB files")
        if not 2 <= self.classes <= 32767:
            raise ValueError("classes must be from 2 to 32,767, the largest int16 label")
        if self.batch_images < 1:
            raise ValueError("batch_images must be at least 1")
        if not self.epsilons or not all(1 <= epsilon <= 255 for epsilon in self.epsilons):
            raise ValueError("epsilons must be whole numbers from 1 to 255, at least one")
        if not 0 < self.batch_seconds < float("inf"):
            raise ValueError("batch_seconds must be a number above 0")
        # a row is a name of 16 digits, ".png", a comma, a label and a line end
        if self.result_bytes < self.batch_images * 28:
            raise ValueError("result_bytes must be at least 28 for each image of a batch")

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self) | {"shape": list(self.shape), "epsilons": list(self.epsilons)}
