"""All attacks of the benchmark, with their parameters for each curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.attacks.apgd import ApgdCe, ApgdT
from evaluation.formats.curves.attacks.autoattack import AutoAttack
from evaluation.formats.curves.attacks.base import Attack
from evaluation.formats.curves.attacks.boundary import Boundary
from evaluation.formats.curves.attacks.carlini_wagner import CarliniWagner
from evaluation.formats.curves.attacks.deepfool import DeepFool
from evaluation.formats.curves.attacks.diverse_inputs import TransferDim
from evaluation.formats.curves.attacks.evolutionary import Evolutionary
from evaluation.formats.curves.attacks.fab import Fab, FabT
from evaluation.formats.curves.attacks.fast_minimum_norm import FastMinimumNorm
from evaluation.formats.curves.attacks.fgsm import Fgsm, TransferFgsm
from evaluation.formats.curves.attacks.hop_skip_jump import HopSkipJump
from evaluation.formats.curves.attacks.iterative import Bim, Mim, Pgd, TransferBim, TransferMim
from evaluation.formats.curves.attacks.n_attack import NAttack
from evaluation.formats.curves.attacks.nes import Nes
from evaluation.formats.curves.attacks.spsa import Spsa
from evaluation.formats.curves.attacks.square import Square
from evaluation.formats.curves.attacks.zoo import Zoo

_ITERATIONS = 100
_LINF_STEP = 1 / 255
_L2_STEP = 0.15
"""Iterations and steps of accuracy by strength (authors' code of Dong et al. 2020)."""
_SAMPLES = 500
"""Of each draw, of accuracy by strength (authors' code of Dong et al. 2020)."""


@dataclass(frozen=True)
class CatalogueEntry:
    """An attack with its parameters for each curve."""

    by_budget: Attack
    by_strength: Attack | None = None
    """At a fixed budget, where it has other parameters; None: the same."""


_WHITE_BOX = (
    CatalogueEntry(Fgsm()),
    CatalogueEntry(Bim(), Bim(_ITERATIONS, linf_step=_LINF_STEP, l2_step=_L2_STEP)),
    CatalogueEntry(Mim(), Mim(_ITERATIONS, linf_step=_LINF_STEP, l2_step=_L2_STEP)),
    CatalogueEntry(Pgd(), Pgd(_ITERATIONS, linf_step=_LINF_STEP, l2_step=_L2_STEP, restarts=1)),
    CatalogueEntry(DeepFool()),
    CatalogueEntry(CarliniWagner()),
    CatalogueEntry(FastMinimumNorm()),
    CatalogueEntry(ApgdCe()),
    CatalogueEntry(ApgdT()),
    CatalogueEntry(Fab()),
    CatalogueEntry(FabT()),
    CatalogueEntry(AutoAttack()),
)
_TRANSFER = (
    CatalogueEntry(TransferFgsm()),
    CatalogueEntry(TransferBim(), TransferBim(_ITERATIONS, linf_step=_LINF_STEP, l2_step=_L2_STEP)),
    CatalogueEntry(TransferMim(), TransferMim(_ITERATIONS, linf_step=_LINF_STEP, l2_step=_L2_STEP)),
    CatalogueEntry(TransferDim(), TransferDim(_ITERATIONS, linf_step=_LINF_STEP, l2_step=_L2_STEP)),
)
_SCORE = (
    CatalogueEntry(Nes(), Nes(_SAMPLES, linf_step=_LINF_STEP, l2_step=_L2_STEP)),
    CatalogueEntry(Spsa(), Spsa(_SAMPLES, linf_step=_LINF_STEP, l2_step=0.005)),
    CatalogueEntry(NAttack(), NAttack(_SAMPLES)),
    CatalogueEntry(Zoo()),
    CatalogueEntry(Square()),
)
_DECISION = (CatalogueEntry(Boundary()), CatalogueEntry(Evolutionary()), CatalogueEntry(HopSkipJump()))

ATTACKS: Mapping[str, CatalogueEntry] = {
    entry.by_budget.name: entry for entry in (*_WHITE_BOX, *_TRANSFER, *_SCORE, *_DECISION)
}


def attack_called(name: str) -> CatalogueEntry:
    """Return the attack of a name. Raise `Refusal`, with all names, if there is none."""
    if name not in ATTACKS:
        raise Refusal(f"there is no attack {name!r}", fix=f"name one of: {', '.join(sorted(ATTACKS))}")
    return ATTACKS[name]
