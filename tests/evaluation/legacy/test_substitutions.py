"""The table of substitutions."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.legacy.substitutions import SUBSTITUTIONS, substitution_of, substitution_of_line


def test_a_replaced_package_has_a_row_and_another_has_none() -> None:
    row = substitution_of("numpy")
    assert row is not None
    assert row.given.startswith("numpy 1.26.4")
    assert substitution_of("tqdm") is None


def test_the_documentation_has_every_row() -> None:
    page = (Path(__file__).parents[3] / "docs" / "submissions-2018.md").read_text("utf-8")
    for row in SUBSTITUTIONS:
        names = ", ".join(f"`{package}`" for package in row.packages)
        assert f"| {names} | {row.given} | {row.why} |" in page


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("git+https://github.com/bethgelab/adversarial-vision-challenge", True),
        ("git+https://github.com/bveliqi/adversarial-vision-challenge.git@master#egg=x", True),
        ("-e git+ssh://git@github.com/bethgelab/adversarial-vision-challenge", True),
        ("git+https://github.com/bethgelab/foolbox", False),
        ("git+https://example.org/adversarial-vision-challenge-2", False),
        ("git+" + "/adversarial-vision-challenge" * 10_000, False),
    ],
)
def test_addresses_of_the_package_of_2018_are_known(line: str, known: bool) -> None:
    assert (substitution_of_line(line) is not None) is known
