"""The attacks that rules may list, and what a site says of them without loading PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.formats.curves.rules import KNOWLEDGE, CurvesRules, ListedAttack
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge, Norm

BOTH_GOALS, BOTH_NORMS = frozenset(Goal), frozenset({Norm.LINF, Norm.L2})


@dataclass(frozen=True)
class AttackFacts:
    """What the class of an attack says of itself; a test compares the two."""

    title: str
    capability: Capability
    goals: frozenset[Goal] = BOTH_GOALS
    norms: frozenset[Norm] = BOTH_NORMS
    gradients: int = 1
    """The most gradients of an image in an iteration of a white-box attack."""


GRADIENT_COSTS = 4.0
"""How many labels a gradient may take as long as."""

BUDGET_RUNS = 17
"""Runs of an attack that keeps within a budget: with each of the search, and with the fixed one."""

ATTACKS: Mapping[str, AttackFacts] = {
    "apgd-ce": AttackFacts("APGD-CE", Capability.CONSTRAINED),
    "bim": AttackFacts("BIM", Capability.CONSTRAINED),
    "boundary": AttackFacts("Boundary", Capability.OPTIMISED, norms=frozenset({Norm.L2})),
    "deepfool": AttackFacts("DeepFool", Capability.OPTIMISED, frozenset({Goal.UNTARGETED}), gradients=10),
    "evolutionary": AttackFacts("Evolutionary", Capability.OPTIMISED, norms=frozenset({Norm.L2})),
    "fmn": AttackFacts("FMN", Capability.OPTIMISED),
    "hop-skip-jump": AttackFacts("HopSkipJump", Capability.OPTIMISED),
    "mim": AttackFacts("MIM", Capability.CONSTRAINED),
    "n-attack": AttackFacts("N-Attack", Capability.CONSTRAINED),
    "square": AttackFacts("Square", Capability.CONSTRAINED),
}
"""The attacks that rules may list: they find their way although submissions see images of 8 bits."""


def check_attacks(rules: CurvesRules) -> None:
    """Raise `ValueError` for an attack that cannot be run here, or not with this goal or norm."""
    for each in rules.attacks:
        found = ATTACKS.get(each.name)
        if found is None:
            raise ValueError(f"there is no attack {each.name!r}; the attacks are {', '.join(sorted(ATTACKS))}")
        if each.goal not in found.goals or each.norm not in found.norms:
            raise ValueError(f"{each.name} has no {each.goal} attack in {each.norm}")
        if found.capability is Capability.CONSTRAINED and each.norm is not Norm.LINF:
            raise ValueError(
                f"{each.name} keeps within budgets in {each.norm}, which rounding would exceed; "
                "submissions see images of 8 bits"
            )


def needed_answers(rules: CurvesRules) -> frozenset[Knowledge]:
    """Return what a submission must offer so that every attack of the rules can be run."""
    needed = frozenset(map(knowledge_of, rules.attacks))
    return needed | {Knowledge.SCORE} if Knowledge.WHITE_BOX in needed else needed


def knowledge_of(attack: ListedAttack) -> Knowledge:
    """Return what an attack of the rules may see of a model."""
    return KNOWLEDGE[attack.name]


def most_questions(attack: ListedAttack) -> float:
    """Return what an attack of the rules may ask for one image, in labels: as many take as long."""
    facts = ATTACKS[attack.name]
    each, count = 1.0, attack.queries + 1
    if knowledge_of(attack) is Knowledge.WHITE_BOX:
        each, count = 1.0 + GRADIENT_COSTS, (attack.queries + 2) * facts.gradients
    return each * count * (BUDGET_RUNS if facts.capability is Capability.CONSTRAINED else 1)


def attack_title(name: str) -> str:
    """Return the name of an attack for people."""
    return ATTACKS[name].title if name in ATTACKS else name
