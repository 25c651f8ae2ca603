"""The findings of Dong et al. 2020, section 5, as statements about results, each with its figure.

Findings that need ImageNet (9) or the authors' weights (1) are not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.formats.curves.results import Results
from evaluation.formats.curves.scoring.curves import accuracy_by_budget
from evaluation.formats.curves.scoring.suspicions import accuracy_at_fixed, worst_case
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm

TOLERANCE = 0.02 + 1e-9
"""Share of images by which an accuracy may be on the other side of a comparison, and what sums of shares round."""

CROSSING = (0.05, 0.15)
"""The L-inf budgets at which the order of TRADES and PGD-AT changes (section 5.1)."""


@dataclass(frozen=True)
class Roles:
    """Which models stand for the defences of the paper."""

    natural: str
    pgd_at: str
    trades: str
    randomised: Sequence[str] = ()
    transformations: Sequence[str] = ()
    """Of the images of the natural model."""


@dataclass(frozen=True)
class PaperFinding:
    """A finding, and what the results say of it; `holds` is None where they have not what it needs."""

    number: int
    statement: str
    figure: str
    holds: bool | None
    images: int
    """In the smallest of the runs that decide it, 0 for none."""


@dataclass(frozen=True)
class _Table:
    """Untargeted results of one norm by model and attack."""

    roles: Roles
    by_pair: Mapping[tuple[str, str], Results]
    plain: Mapping[str, Results]
    """Of each model BIM with the gradients of the natural one, where that was the substitute."""

    def accuracy(self, model: str, attack: str) -> float | None:
        """Return the accuracy at the fixed budget, or None without such a run."""
        found = self.by_pair.get((model, attack))
        return None if found is None else accuracy_at_fixed(found)

    def white_box(self, model: str) -> float | None:
        """Return the accuracy at the fixed budget against all white-box attacks together."""
        runs = [
            each
            for (name, _), each in self.by_pair.items()
            if name == model and each.threat_model.knowledge is Knowledge.WHITE_BOX
        ]
        if not runs:
            return None
        return float((runs[0].right & (worst_case(runs) > runs[0].fixed_budget)).mean())

    def without_gradients(self, model: str) -> float | None:
        """Return the accuracy that the best score- or decision-based attack leaves."""
        left = [
            accuracy_at_fixed(each)
            for (name, _), each in self.by_pair.items()
            if name == model and each.threat_model.knowledge in (Knowledge.SCORE, Knowledge.DECISION)
        ]
        return min(left, default=None)

    def fewest_images(self, knowledge: Knowledge) -> int:
        """Return the number of images in the smallest run with a knowledge."""
        runs = [each for each in self.by_pair.values() if each.threat_model.knowledge is knowledge]
        return min((len(each.labels) for each in runs), default=0)

    @property
    def models(self) -> list[str]:
        """All models, in the order of the results."""
        return list(dict.fromkeys(model for model, _ in self.by_pair))


def findings(results: Iterable[Results], roles: Roles, norm: Norm = Norm.LINF) -> list[PaperFinding]:
    """Return what the untargeted results of one norm say of each finding.

    Raise `ValueError` if white-box attacks on one model were run on different images.
    """
    chosen = [each for each in results if each.threat_model.goal is Goal.UNTARGETED and each.threat_model.norm is norm]
    natural = next((each.model_digest for each in chosen if each.model == roles.natural), None)
    from_natural = [each for each in chosen if natural and natural == each.parameters.get("substitute")]
    table = _Table(
        roles,
        {(each.model, each.attack): each for each in chosen if each not in from_natural},
        {each.model: each for each in from_natural if each.attack == "transfer-bim"},
    )
    found = []
    for number, statement, judge, knowledge in _FINDINGS:
        figure, holds = judge(table)
        found.append(PaperFinding(number, statement, figure, holds, table.fewest_images(knowledge)))
    return found


_Judged = tuple[str, bool | None]
_ABSENT: _Judged = ("not run", None)


def _curves(table: _Table) -> _Judged:
    runs = [each for (_, attack), each in table.by_pair.items() if attack in ("bim", "mim")]
    if not runs:
        return _ABSENT
    left = max(float(accuracy_by_budget(each, np.array([np.finfo(float).max]))[0]) for each in runs)
    # a random model may answer an unchanged image otherwise when it is attacked
    starts = [
        float(each.right.mean() - accuracy_by_budget(each, np.array([0.0]))[0])
        for each in runs
        if each.model not in table.roles.randomised
    ]
    figure = (
        f"at most {left:.1%} left; at budget 0 {100 * max(starts, default=0.0):.1f} points below the clean accuracy"
    )
    return figure, not any(starts) and left <= TOLERANCE


def _crossing(table: _Table) -> _Judged:
    trades, pgd_at = (table.by_pair.get((name, "bim")) for name in (table.roles.trades, table.roles.pgd_at))
    if trades is None or pgd_at is None:
        return _ABSENT
    small, large = accuracy_by_budget(trades, np.array(CROSSING)) - accuracy_by_budget(pgd_at, np.array(CROSSING))
    figure = f"TRADES less PGD-AT: {100 * small:+.1f} points at {CROSSING[0]}, {100 * large:+.1f} at {CROSSING[1]}"
    return figure, bool(small > 0 > large)


def _robust_training(table: _Table) -> _Judged:
    trained = [table.white_box(name) for name in (table.roles.pgd_at, table.roles.trades)]
    others = [table.white_box(name) for name in table.models if name not in (table.roles.pgd_at, table.roles.trades)]
    known, rest = [each for each in trained if each is not None], [each for each in others if each is not None]
    if not known or not rest:
        return _ABSENT
    return f"at least {min(known):.1%}; all others at most {max(rest):.1%}", min(known) >= max(rest) - TOLERANCE


def _randomised(table: _Table) -> _Judged:
    gains = {}
    for name in table.models:
        white, black = table.accuracy(name, "bim"), table.without_gradients(name)
        if white is not None and black is not None:
            gains[name] = black - white
    randomised = [gains[name] for name in table.roles.randomised if name in gains]
    others = [gain for name, gain in gains.items() if name not in table.roles.randomised]
    if not randomised or not others:
        return _ABSENT
    figure = (
        f"accuracy without gradients less BIM's: {100 * max(randomised):+.1f}, others up to {100 * max(others):+.1f}"
    )
    return figure, max(randomised) > max(others)


def _n_attack(table: _Table) -> _Judged:
    differences = []
    for name in table.models:
        strongest, *others = (table.accuracy(name, attack) for attack in ("n-attack", "nes", "spsa"))
        known = [each for each in others if each is not None]
        if strongest is not None and known:
            differences.append(strongest - min(known))
    if not differences:
        return _ABSENT
    return f"leaves at most {100 * max(differences):+.1f} points more", max(differences) <= TOLERANCE


def _transfer(table: _Table) -> _Judged:
    differences = []
    for name in table.models:
        bim, *others = (table.accuracy(name, f"transfer-{attack}") for attack in ("bim", "mim", "dim"))
        differences += [each - bim for each in others if each is not None and bim is not None]
    if not differences:
        return _ABSENT
    figure = f"MIM and DIM leave {100 * min(differences):+.1f} to {100 * max(differences):+.1f} points more than BIM"
    return figure, min(differences) >= -TOLERANCE


def _transformations(table: _Table) -> _Judged:
    natural = table.white_box(table.roles.natural)
    differences = [
        each - natural
        for each in map(table.white_box, table.roles.transformations)
        if each is not None and natural is not None
    ]
    if not differences:
        return _ABSENT
    figure = f"{100 * min(differences):+.1f} to {100 * max(differences):+.1f} points of white-box accuracy"
    black = table.without_gradients(table.roles.natural)
    without = [
        each - black
        for each in map(table.without_gradients, table.roles.transformations)
        if each is not None and black is not None
    ]
    if without:
        figure += f"; {100 * min(without):+.1f} to {100 * max(without):+.1f} without gradients"
    return figure, min(differences) >= -TOLERANCE


def _adaptive(table: _Table) -> _Judged:
    differences = []
    for name in table.roles.transformations:
        adaptive, plain = table.accuracy(name, "bim"), table.plain.get(name)
        if adaptive is not None and plain is not None:
            differences.append(adaptive - accuracy_at_fixed(plain))
    if not differences:
        return _ABSENT
    return f"at most {100 * max(differences):+.1f} points above", max(differences) <= TOLERANCE


_FINDINGS = (
    (2, "BIM and MIM bring every model from its clean accuracy to 0", _curves, Knowledge.WHITE_BOX),
    (3, "TRADES is above PGD-AT at a small budget and below it at a large one", _crossing, Knowledge.WHITE_BOX),
    (4, "adversarially trained models are the most robust in white box", _robust_training, Knowledge.WHITE_BOX),
    (5, "a randomised defence gains most where the attack has no gradients", _randomised, Knowledge.SCORE),
    (6, "N-Attack is at least as strong as NES and SPSA", _n_attack, Knowledge.SCORE),
    (7, "MIM and DIM transfer no better than BIM on small images", _transfer, Knowledge.TRANSFER),
    (8, "transformations of the input are slightly better than no defence", _transformations, Knowledge.WHITE_BOX),
    (
        10,
        "adaptive gradients leave no more accuracy than those of the model behind a transformation",
        _adaptive,
        Knowledge.WHITE_BOX,
    ),
)
