"""Requirements that Python or the parser cannot handle are the team's error."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.builder.in_place_builder import count_met_requirements
from evaluation.domain.errors import BuildRefusal


@pytest.mark.parametrize("line", ["numpy; " + "(" * 5000, "numpy==" + "1" * 5000], ids=["parentheses", "digits"])
def test_it_refuses_hostile_lines(line: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(line)
    with pytest.raises(BuildRefusal, match=r"requirements\.txt, line 1: ") as refusal:
        count_met_requirements(tmp_path)
    assert refusal.value.fix


@pytest.mark.timeout(60)
def test_many_blanks_take_linear_time(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"no-such-package{' ' * 300_000}>1")
    with pytest.raises(BuildRefusal, match="'no-such-package>1' is not installed"):
        count_met_requirements(tmp_path)


@pytest.mark.parametrize("text", ["# numbers \\\nno-such-package\n", "no-such-package \\", "no-such-\\\npackage"])
def test_it_joins_lines_as_pip_does(text: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(text)
    with pytest.raises(BuildRefusal, match="'no-such-package' is not installed"):
        count_met_requirements(tmp_path)
