"""`tools/verify.mjs` and `gauntlet verify` say the same of random bundles and of changed ones."""

from __future__ import annotations

import pytest

from bench.tampered_bundles import SEED, body_of, changes_of
from bench.two_verifiers import said_by_node, said_by_python
from evaluation.bundle.signing import sign


def test_they_accept_the_same_bundles() -> None:
    bundles = {str(seed): sign(body_of(seed), SEED) for seed in range(5000, 5010)}
    assert all(said_by_node(bundles).values())
    assert all(map(said_by_python, bundles.values()))


@pytest.mark.parametrize("seed", [8, 9])
def test_they_refuse_the_same_changes(seed: int) -> None:
    bundles = {name: change() for name, change in changes_of(body_of(seed), seed).items()}
    assert len(bundles) > 20
    assert not any(said_by_node(bundles).values())
    assert not any(map(said_by_python, bundles.values()))
