from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from evaluation.formats.curves.results import Results
from evaluation.formats.curves.scoring.paper_findings import PaperFinding, Roles, findings
from evaluation.formats.curves.threat_models import Knowledge
from tests.evaluation.formats.curves.results_of import results_of

ROLES = Roles("natural", "pgd-at", "trades", randomised=("rse",), transformations=("jpeg",))


def run(model: str, distances: Sequence[float], attack: str = "bim") -> Results:
    knowledge = Knowledge.WHITE_BOX
    if attack.startswith("transfer"):
        knowledge = Knowledge.TRANSFER
    if attack in ("nes", "spsa", "n-attack"):
        knowledge = Knowledge.SCORE
    return replace(results_of(distances, attack=attack, knowledge=knowledge), model=model)


def from_natural(results: Results) -> Results:
    """The same with the natural model as the substitute; in these tests all models have the same digest."""
    return replace(results, parameters={"substitute": results.model_digest})


def finding(number: int, *results: Results) -> PaperFinding:
    return next(each for each in findings(results, ROLES) if each.number == number)


FALLS, HALF, STANDS = [0.02, 0.02], [0.02, 0.4], [0.4, 0.4]
"""All, half and no images have adversarials within the fixed budget of 0.1."""


@pytest.mark.parametrize(
    ("number", "as_in_the_paper", "otherwise"),
    [
        (2, [run("natural", HALF)], [run("natural", [0.02, math.inf])]),
        (
            3,
            [run("trades", [0.1, 0.1]), run("pgd-at", [0.01, 0.2])],
            [run("trades", [0.01, 0.2]), run("pgd-at", [0.1, 0.1])],
        ),
        (
            4,
            [run("natural", FALLS), run("pgd-at", HALF), run("trades", STANDS)],
            [run("natural", HALF), run("pgd-at", FALLS)],
        ),
        (
            5,
            [run("rse", FALLS), run("rse", STANDS, "nes"), run("natural", FALLS), run("natural", HALF, "nes")],
            [run("rse", FALLS), run("rse", HALF, "nes"), run("natural", FALLS), run("natural", STANDS, "nes")],
        ),
        (
            6,
            [run("rse", HALF, "nes"), run("rse", HALF, "n-attack")],
            [run("rse", HALF, "nes"), run("rse", STANDS, "n-attack")],
        ),
        (
            7,
            [run("rse", HALF, "transfer-bim"), run("rse", STANDS, "transfer-dim")],
            [run("rse", HALF, "transfer-bim"), run("rse", FALLS, "transfer-mim")],
        ),
        (8, [run("jpeg", HALF), run("natural", FALLS)], [run("jpeg", FALLS), run("natural", HALF)]),
        (
            10,
            [run("natural", FALLS), run("jpeg", FALLS), from_natural(run("jpeg", STANDS, "transfer-bim"))],
            [run("natural", FALLS), run("jpeg", STANDS), from_natural(run("jpeg", HALF, "transfer-bim"))],
        ),
    ],
)
def test_a_finding_holds_where_the_results_are_as_in_the_paper(
    number: int, as_in_the_paper: list[Results], otherwise: list[Results]
) -> None:
    assert finding(number, *as_in_the_paper).holds is True
    assert finding(number, *otherwise).holds is False
    assert finding(number).holds is None
