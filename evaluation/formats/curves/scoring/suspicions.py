"""Suspicion card: what in the results of a model says that its robustness is overestimated.

Sources: Athalye et al. 2018, section 3.1 (signs of obfuscated gradients); Carlini et al. 2019, sections 4 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from evaluation.formats.curves.results import Floats, Results
from evaluation.formats.curves.scoring.curves import accuracy_by_budget, accuracy_by_strength
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm


class Suspicion(StrEnum):
    """A kind of warning."""

    LESS_KNOWLEDGE_IS_STRONGER = "less-knowledge-is-stronger"
    """An attack without gradients leaves less accuracy than all white-box attacks."""
    ONE_STEP_IS_STRONGER = "one-step-is-stronger"
    """FGSM leaves less accuracy than an iterative attack."""
    LARGER_BUDGET_FAILS = "larger-budget-fails"
    """An attack fails with a larger budget than one within which it succeeded."""
    SQUARE_ADDS_TO_AUTOATTACK = "square-adds-to-autoattack"
    """In AutoAttack, Square finds what its white-box attacks did not (a flag of the authors' code)."""
    NO_BUDGET_IS_ENOUGH = "no-budget-is-enough"
    """White-box attacks do not bring the accuracy to 0 with any budget tried."""


@dataclass(frozen=True)
class SuspicionWarning:
    """A warning about a model."""

    suspicion: Suspicion
    norm: Norm
    text: str


AUTOATTACK = "autoattack"
"""The name of the ensemble, whose last attack is Square and whose strength is the number of attacks."""
LEAST_DIFFERENCE = 0.02
"""Differences of accuracy up to this share are no sign, nor those within two standard errors."""
LEAST_FAILURES = 0.05
"""Up to this share of images, failures at larger budgets are no sign: no attack is perfect."""


def suspicions(results: Sequence[Results]) -> list[SuspicionWarning]:
    """Return the warnings about one model; `results` are all of it, on the same images."""
    untargeted = [each for each in results if each.threat_model.goal is Goal.UNTARGETED]
    found: list[SuspicionWarning] = []
    for norm in Norm:
        of_norm = [each for each in untargeted if each.threat_model.norm is norm]
        white = [each for each in of_norm if each.threat_model.knowledge is Knowledge.WHITE_BOX]
        if white:
            others = [each for each in of_norm if each.threat_model.knowledge is not Knowledge.WHITE_BOX]
            found += _stronger_with_less(norm, white, others)
            found += _one_step(norm, white)
            found += _larger_budget(norm, white)
            found += _square(norm, white)
            found += _no_budget(norm, [each for each in white if each.searched])
    return found


def accuracy_at_fixed(results: Results) -> float:
    """Return the accuracy at the fixed budget: the smaller of both curves there."""
    by_budget = float(accuracy_by_budget(results, np.array([results.fixed_budget]))[0])
    traced = accuracy_by_strength(results)
    return min(by_budget, float(traced[-1])) if len(traced) else by_budget


def worst_case(results: Sequence[Results]) -> Floats:
    """Return the smallest distance of each image over several attacks with one norm on the same images, (n,)."""
    if len({(each.dataset_digest, each.threat_model.norm) for each in results}) != 1:
        raise ValueError("the results are of different images or norms")
    found: Floats = np.minimum.reduce([each.nearest for each in results])
    return found


def _stronger_with_less(norm: Norm, white: Sequence[Results], others: Sequence[Results]) -> Iterable[SuspicionWarning]:
    best_white = min(white, key=accuracy_at_fixed)
    bound = accuracy_at_fixed(best_white)
    for each in others:
        accuracy = accuracy_at_fixed(each)
        if bound - accuracy > _margin(bound, len(each.labels)):
            text = (
                f"{each.attack} ({each.threat_model.knowledge}) leaves {accuracy:.1%}, the best white-box attack "
                f"({best_white.attack}) {bound:.1%}"
            )
            yield SuspicionWarning(Suspicion.LESS_KNOWLEDGE_IS_STRONGER, norm, text)


def _one_step(norm: Norm, white: Sequence[Results]) -> Iterable[SuspicionWarning]:
    by_name = {each.attack: each for each in white}
    if "fgsm" in by_name and "bim" in by_name:
        one, many = accuracy_at_fixed(by_name["fgsm"]), accuracy_at_fixed(by_name["bim"])
        if many - one > _margin(many, len(by_name["bim"].labels)):
            yield SuspicionWarning(Suspicion.ONE_STEP_IS_STRONGER, norm, f"FGSM leaves {one:.1%}, BIM {many:.1%}")


def _larger_budget(norm: Norm, white: Sequence[Results]) -> Iterable[SuspicionWarning]:
    for each in white:
        if each.attack == "fgsm" or not each.tried_budgets.size:
            continue  # one step is not monotone in the budget
        failed = np.where(each.tried_found, -np.inf, np.nan_to_num(each.tried_budgets, nan=-np.inf)).max(axis=1)
        worked = np.where(each.tried_found, each.tried_budgets, np.inf).min(axis=1)
        share = float((failed > worked).mean())
        if share > LEAST_FAILURES:
            text = f"{each.attack} failed on {share:.0%} of the images with more than a budget that was enough"
            yield SuspicionWarning(Suspicion.LARGER_BUDGET_FAILS, norm, text)


def _square(norm: Norm, white: Sequence[Results]) -> Iterable[SuspicionWarning]:
    for each in white:
        if each.attack == AUTOATTACK and len(each.strengths) > 1:
            before, after = accuracy_by_strength(each)[-2:]
            if after < before:
                text = f"in AutoAttack, white-box attacks leave {before:.1%}, Square {after:.1%}"
                yield SuspicionWarning(Suspicion.SQUARE_ADDS_TO_AUTOATTACK, norm, text)


def _no_budget(norm: Norm, white: Sequence[Results]) -> Iterable[SuspicionWarning]:
    if not white:
        return
    left = float((np.isinf(worst_case(white)) & white[0].right).mean())
    if left > 0:
        yield SuspicionWarning(
            Suspicion.NO_BUDGET_IS_ENOUGH, norm, f"{left:.1%} of the images withstand every white-box attack"
        )


def _margin(accuracy: float, images: int) -> float:
    return max(LEAST_DIFFERENCE, 2 * math.sqrt(accuracy * (1 - accuracy) / images))
