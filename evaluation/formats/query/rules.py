"""Rules of a competition: one typed, versioned value. Every score names the version it was made under.

Constants of a competition (64, 200, 1,000 ...) are defined only here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from evaluation.domain.images import ImageShape


@dataclass(frozen=True)
class QueryRules:
    """The query format: an attack may query the model, a limited number of times for each sample.

    The defaults are version 1, the Adversarial Vision Challenge of NeurIPS 2018 (Brendel et al. 2020, sections 3.3,
    4.1 and 4.2). Seconds are those of the reference machine; a worker multiplies them by its calibration factor.
    """

    name: str = "avc-2018"
    version: int = 1
    format: Literal["query"] = "query"
    norm: Literal["l2"] = "l2"
    shape: ImageShape = ImageShape(64, 64, 3)
    classes: int = 200
    query_budget: int = 1000
    piece_samples: int = 10
    setup_seconds: float = 100.0
    model_seconds_per_image: float = 0.040
    attack_seconds_per_sample: float = 90.0
    opponents: int = 5

    def __post_init__(self) -> None:
        if self.query_budget < 1:
            raise ValueError("query_budget must be at least 1")
        if not 1 <= self.piece_samples <= 64:
            raise ValueError("piece_samples must be from 1 to 64, the most images of a frame")
        if not 2 <= self.classes <= 32767:
            raise ValueError("classes must be from 2 to 32,767, the largest int16 label")

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self) | {"shape": list(self.shape)}
