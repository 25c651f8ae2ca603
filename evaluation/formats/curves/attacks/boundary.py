"""Boundary attack (Brendel et al. 2018): a random walk along the boundary, towards the clean image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from evaluation.formats.curves.attacks.base import Attack, AttackedBatch, expanded, lengths
from evaluation.formats.curves.attacks.decision_attack_starts import start
from evaluation.formats.curves.attacks.query_limit import Steps, affordable, ask
from evaluation.formats.curves.threat_models import Capability, Knowledge, Norm

_TINY = 1e-12


@dataclass(frozen=True)
class Boundary(Attack):
    """Steps on the sphere around the clean image, and towards it, whose lengths adapt to how often they succeed."""

    name: ClassVar[str] = "boundary"
    title: ClassVar[str] = "Boundary"
    source: ClassVar[str] = "Brendel et al. 2018; parameters: authors' code of Dong et al. 2020; starts at the boundary"
    knowledge: ClassVar[Knowledge] = Knowledge.DECISION
    capability: ClassVar[Capability] = Capability.OPTIMISED
    norms: ClassVar[frozenset[Norm]] = frozenset({Norm.L2})

    directions: int = 25
    """That are tried for a step."""
    spherical_step: float = 0.01
    """Of the distance."""
    source_step: float = 0.01
    """Of the distance."""
    adaptation: float = 1.5
    """Factor of the steps."""
    measured: int = 10
    """In every so many steps the spherical move is asked for alone, to measure both rates of success."""
    spherical_window: int = 100
    source_window: int = 30

    def run(self, batch: AttackedBatch) -> None:
        images, rows = start(batch)
        (channels, height, width), walk = batch.images.shape[1:], _Walk(batch, self)

        def draw(which: Tensor, count: int) -> Tensor:
            # in the order of memory of the images: operations on a mixture of both are slow
            return batch.normal(which, count, height, width, channels).permute(0, 1, 4, 2, 3)

        noise = Steps(batch, draw, channels * height * width)
        while len(rows := affordable(batch, rows, 1)):
            spheres, proposals = walk.propose(batch.of(rows, images), rows, noise.next(rows))
            measured = walk.steps[rows] % self.measured == 0
            if measured.any():
                # 1. some ask for the image on the sphere first
                on_sphere = ask(batch, spheres[measured], rows[measured])
                walk.spherical.append(rows[measured], on_sphere)
                asking = ~measured
                asking[measured] = on_sphere
                asking &= batch.model.left(rows) > 0
                # 2. and for the image nearer to the clean one
                accepted = torch.zeros_like(asking)
                accepted[asking] = ask(batch, proposals[asking], rows[asking])
                both = measured & asking
                walk.source.append(rows[both], accepted[both])
            else:
                accepted = ask(batch, proposals, rows)
            # as the model sees it: a walk that goes on from an image that only its rounding made adversarial would stay
            images[rows[accepted]] = batch.findings.seen(proposals[accepted])
            walk.end_steps(rows, accepted)


class _SuccessWindow:
    """The last answers of each row."""

    def __init__(self, count: int, length: int, device: torch.device) -> None:
        self._answers = torch.zeros((count, length), device=device)
        self._known = torch.zeros(count, dtype=torch.int64, device=device)

    @property
    def full(self) -> Tensor:
        """Whether there are enough answers, bool (count,)."""
        return self._known >= self._answers.shape[1]

    @property
    def rate(self) -> Tensor:
        """The share of successes, (count,)."""
        return self._answers.mean(dim=1)

    def append(self, rows: Tensor, answers: Tensor) -> None:
        """Add an answer for each of these rows."""
        self._answers[rows, self._known[rows] % self._answers.shape[1]] = answers.float()
        self._known[rows] += 1

    def clear(self, rows: Tensor) -> None:
        """Forget the answers of these rows."""
        self._known[rows] = 0


class _Walk:
    """Lengths of steps of each row, and what they depend on."""

    def __init__(self, batch: AttackedBatch, attack: Boundary) -> None:
        count, device = len(batch.images), batch.images.device
        self._batch, self._attack = batch, attack
        self._spherical_steps = torch.full((count,), attack.spherical_step, device=device)
        self._source_steps = torch.full((count,), attack.source_step, device=device)
        self.steps = torch.ones(count, dtype=torch.int64, device=device)
        """The number of the step that each row tries."""
        self._tried = torch.zeros_like(self.steps)
        self.spherical = _SuccessWindow(count, attack.spherical_window, device)
        self.source = _SuccessWindow(count, attack.source_window, device)

    def propose(self, images: Tensor, rows: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Return images on the spheres around the clean images, and images from there nearer to them."""
        clean = self._batch.of(rows, self._batch.images)
        to_clean = clean - images
        length = lengths(to_clean).clamp(min=_TINY)
        step = expanded(self._spherical_steps[rows])
        # the noise without its part towards the clean image, as long as the step, and back onto the sphere
        along = (noise * to_clean).sum(dim=(1, 2, 3), keepdim=True)
        across = (lengths(noise).square() - (along / length).square()).clamp(min=_TINY).sqrt()
        share = step * length / across
        shrink = 1.0 / (step.square() + 1.0).sqrt()
        spheres = torch.addcmul(clean, noise, share * shrink)
        spheres.addcmul_(to_clean, -(1.0 + share * along / length.square()) * shrink).clamp_(0.0, 1.0)
        # clipping has changed the distance, too
        to_clean = clean - spheres
        after = lengths(to_clean).clamp(min=_TINY)
        move = (expanded(self._source_steps[rows]) * length + after - length).clamp(min=0.0) / after
        return spheres, torch.addcmul(spheres, to_clean, move).clamp_(0.0, 1.0)

    def end_steps(self, rows: Tensor, accepted: Tensor) -> None:
        """End the steps of rows that succeeded or tried all directions, and adapt the lengths of the next ones."""
        self._tried[rows] += 1
        rows = rows[accepted | (self._tried[rows] >= self._attack.directions)]
        self._tried[rows] = 0
        self.steps[rows] += 1
        ended = rows
        for window, lengths_of in (
            (self.spherical, (self._spherical_steps, self._source_steps)),
            (self.source, (self._source_steps,)),
        ):
            # each for itself, as the attack's own authors have it: where few moves on the sphere succeed, the other
            # window, which only these fill, would keep steps that are too long for ever
            rows = ended[window.full[ended]]
            if not len(rows):
                continue
            rate = window.rate[rows]
            factor = torch.where(rate > 0.5, self._attack.adaptation, 1.0)
            factor = torch.where(rate < 0.2, 1.0 / self._attack.adaptation, factor)
            for each in lengths_of:
                each[rows] *= factor
            window.clear(rows[factor != 1.0])
