"""Results of the benchmark: one attack with one threat model against one model, image by image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.formats.curves.threat_models import Capability, ThreatModel

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Results:
    """What an attack found for n images. Distances are in the norm of the threat model; infinite: nothing was found.

    An image that the model gets wrong, or labels as its target or not at all, is adversarial at distance 0.
    """

    threat_model: ThreatModel
    attack: str
    parameters: Mapping[str, object]
    """Of the attack, of the search for the smallest budget, and the seed."""
    model: str
    model_digest: str
    dataset: str
    dataset_digest: str
    """Of the images, labels and targets in their order."""
    numbers: Integers
    """The numbers of the images in the data set, (n,)."""
    labels: Integers
    targets: Integers
    """Target classes, (n,); -1 for the untargeted goal."""
    clean_labels: Integers
    """What the model says of the clean images, (n,)."""
    distances: Floats
    """The distance of the nearest adversarial that the search over budgets, or an optimising attack, found, (n,).

    Of an attack that is run at the fixed budget alone: of what it found within it. In results of a site: `nearest`.
    """
    tried_budgets: Floats
    """The budgets that the search tried, (n, tries) in this order; NaN: none."""
    tried_found: Booleans
    """Whether it found an adversarial within each, (n, tries)."""
    fixed_budget: float
    """The budget of `traces`."""
    strengths: Integers
    """Iterations or queries, ascending, (s,)."""
    traces: Floats
    """The distance of the nearest adversarial found within so many iterations or queries, (n, s)."""
    queries: Integers
    """Queries of the model for each image in all, (n,)."""
    gradients: Integers
    """Gradients of the model for each image in all, (n,)."""

    @property
    def searched(self) -> bool:
        """Whether distances are as small as the attack could make them: not of one at the fixed budget alone."""
        optimised = self.threat_model.capability is Capability.OPTIMISED
        return optimised or self.tried_budgets.shape[1] > 0 or not self.distances.any()

    @property
    def nearest(self) -> Floats:
        """The distance of the nearest adversarial of all runs of the attack, those at the fixed budget included, (n,).

        Success is not monotone in the budget: a search may miss an adversarial that the run at the fixed budget found.
        """
        found: Floats = np.minimum(self.distances, self.traces.min(axis=1, initial=np.inf))
        return found

    @property
    def right(self) -> Booleans:
        """Whether the model gets each clean image right, (n,)."""
        found: Booleans = self.clean_labels == self.labels
        return found
