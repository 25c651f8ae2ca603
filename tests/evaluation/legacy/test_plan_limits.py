"""A program that Python's parser reads for minutes is refused; the process that asked does not wait for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evaluation.domain.errors import BuildRefusal
from evaluation.formats.query.submissions_2018 import plan_2018 as plan
from evaluation.formats.query.submissions_2018.plan_2018 import plan_2018
from evaluation.legacy.environment import LegacyEnvironment
from tests.evaluation.legacy.conftest import REPOSITORIES


def test_a_slow_file_is_refused(
    environment: LegacyEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    shutil.copytree(REPOSITORIES / "fails-on-one-image", source)
    plan_2018(source, environment)
    monkeypatch.setattr(plan, "_SECONDS", 0)  # the kernel rounds up to a second
    hostile = 'f"' + "{x}" * 87_000 + '"'
    (source / "hostile.py").write_text(hostile)
    script = source / "main.py"
    script.write_text("import hostile\n" + script.read_text())
    with pytest.raises(BuildRefusal, match="more than 0 s of processor time"):
        plan_2018(source, environment)
