"""The script that `run` names must be in the repository, where that can be told."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from evaluation.builder.in_place_builder import InPlaceBuilder
from evaluation.builder.run_script_check import BUILD_CODE, require_script
from evaluation.domain.errors import ManifestRefusal

FILES = ("main.py", "submission.toml", "tools/start.sh", "player/__main__.py", "README.md")


def problem_of(run: list[str], files: tuple[str, ...] = FILES) -> str:
    """Why this command is refused; nothing where it is accepted."""
    try:
        require_script(run, files)
    except ManifestRefusal as refusal:
        return refusal.problem
    return ""


@pytest.mark.parametrize(
    "run",
    [
        "python main.py",
        "python3 ./main.py --fast",
        "python3.11 -u -O main.py",
        "/usr/bin/python3 main.py",
        "python player",
        "python player/__main__.py",
        "bash tools/start.sh",
        "./tools/start.sh",
        "tools/start.sh now",
    ],
)
def test_a_script_or_package_that_is_in_the_repository_is_accepted(run: str) -> None:
    assert problem_of(shlex.split(run)) == ""


@pytest.mark.parametrize(
    ("run", "missing", "meant"),
    [
        ("python mian.py", "mian.py", "main.py"),
        ("python -u ./mian.py", "mian.py", "main.py"),
        ("python3 start.sh", "start.sh", "tools/start.sh"),
        ("bash tools/strat.sh", "tools/strat.sh", "tools/start.sh"),
        ("./tools/stat.sh", "tools/stat.sh", "tools/start.sh"),
    ],
)
def test_it_rejects_a_script_that_is_not_there(run: str, missing: str, meant: str) -> None:
    with pytest.raises(ManifestRefusal) as refused:
        require_script(shlex.split(run), FILES)
    assert repr(missing) in refused.value.problem
    assert f"did you mean {meant!r}?" in refused.value.fix


def test_it_makes_no_guess_where_nothing_is_near() -> None:
    with pytest.raises(ManifestRefusal) as refused:
        require_script(["python", "zzzzzzzz"], FILES)
    assert "did you mean" not in refused.value.fix


@pytest.mark.parametrize(
    "run",
    [
        "python -m player",
        "python -c 'import mian'",
        "python -X dev mian.py",
        "python -W ignore mian.py",
        "python -",
        "python",
        "bash -c 'exec ./mian'",
        "bash -e mian.sh",
        "python /opt/mian.py",
        "/usr/local/bin/mian",
        "python ../mian.py",
        "mian",
        "uv run mian.py",
    ],
)
def test_what_cannot_be_told_is_left_to_the_build(run: str) -> None:
    assert problem_of(shlex.split(run)) == ""


@pytest.mark.parametrize("name", [*sorted(BUILD_CODE), "sub/setup.py", "binder/postBuild", ".binder/apt.txt"])
def test_files_that_a_build_may_write_are_left_to_the_build(name: str) -> None:
    run = ["python", "written-later.py"]
    assert problem_of(run, (*FILES, name)) == ""
    assert "written-later.py" in problem_of(run)


def test_a_builder_refuses_it(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("")
    (tmp_path / "submission.toml").write_text(
        '[submission]\ntrack = "model"\nrun = "python mian.py"\ntitle = "A"\nlicence = "MIT"\n'
    )
    with pytest.raises(ManifestRefusal, match=r"'mian\.py'.*not in the commit"):
        InPlaceBuilder().build(tmp_path, on_log=lambda line: None)
