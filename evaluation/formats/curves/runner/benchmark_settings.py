"""What a benchmark fixes for all of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluation.domain.images import ImageShape
from evaluation.formats.curves.attacks.smallest_budget import BISECTIONS
from evaluation.formats.curves.threat_models import Knowledge, Norm

ITERATIONS = (0, 1, 2, 5, 10, 20, 50, 100)
"""The strengths of white-box and transfer attacks."""
QUERIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)
"""The strengths of attacks with queries."""
MOST_QUERIES = 20_000
"""Of one image (Dong et al. 2020, section 5.1)."""
SMALL_IMAGES: Mapping[Norm, float] = {Norm.LINF: 8 / 255, Norm.L2: 1.0, Norm.NORMALISED_L2: 0.001**0.5}
"""The fixed budgets of CIFAR-10 (section 4.1)."""
PHOTOGRAPH_SIDE = 64
"""Images larger than this have the budgets of ImageNet."""
PHOTOGRAPHS: Mapping[Norm, float] = {Norm.LINF: 16 / 255, Norm.L2: 1.0, Norm.NORMALISED_L2: 0.001**0.5}
"""The fixed budgets of ImageNet (section 4.1)."""
FIRST_BUDGETS: Mapping[Norm, float] = {Norm.LINF: 0.1, Norm.L2: 1.0, Norm.NORMALISED_L2: 0.02}
"""Where the search for the smallest budget starts: linf as in the authors' code, the others of like size."""


@dataclass(frozen=True)
class BenchmarkSettings:
    """Seed, limits and budgets."""

    seed: int = 0
    batch: int = 100
    query_limit: int = MOST_QUERIES
    """Of one image, for attacks with scores or decisions."""
    fixed_budgets: Mapping[Norm, float] = field(default_factory=lambda: dict(SMALL_IMAGES))
    """The budgets of accuracy by strength."""

    first_budgets: Mapping[Norm, float] = field(default_factory=lambda: dict(FIRST_BUDGETS))
    """Where the search for the smallest budget starts."""

    halvings: int = BISECTIONS
    """Of the interval in which the smallest budget lies."""

    iterations: int = ITERATIONS[-1]
    """The strength up to which white-box and transfer attacks are recorded, if it is more than `ITERATIONS` have."""

    def strengths(self, knowledge: Knowledge) -> tuple[int, ...]:
        """Return the strengths at which an attack is recorded."""
        if knowledge in (Knowledge.WHITE_BOX, Knowledge.TRANSFER):
            return ITERATIONS if self.iterations <= ITERATIONS[-1] else (*ITERATIONS, self.iterations)
        return (*(number for number in QUERIES if number < self.query_limit), self.query_limit)


def settings_for(
    shape: ImageShape,
    seed: int,
    batch: int,
    query_limit: int,
    budgets: Mapping[Norm, float],
    halvings: int = BISECTIONS,
) -> BenchmarkSettings:
    """Return the settings for images of a shape; `budgets` replace the fixed ones of the paper."""
    usual = PHOTOGRAPHS if max(shape.height, shape.width) > PHOTOGRAPH_SIDE else SMALL_IMAGES
    return BenchmarkSettings(seed, batch, query_limit, {**usual, **budgets}, halvings=halvings)
