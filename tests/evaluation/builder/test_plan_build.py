"""What a build would do, told from the configuration files alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from evaluation.builder.build_description import plan_build, plan_within_limits
from evaluation.builder.build_pack_detection import CONFIGURATION_FILES
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.domain.errors import BuildRefusal, HostRefusal

MakeRepository = Callable[..., Path]


@pytest.mark.parametrize(
    ("files", "plan"),
    [
        ({}, "lean pack, Python 3.11, 0 requirements"),
        ({"binder/requirements.txt": "numpy\n"}, "lean pack, Python 3.11, 1 requirement"),
        ({"Dockerfile": "FROM scratch\n", "requirements.txt": "numpy\n"}, "your own Dockerfile"),
        ({"environment.yml": "dependencies: [numpy]\n"}, "repo2docker's CondaBuildPack"),
        ({"runtime.txt": "python-3.9"}, "repo2docker's PythonBuildPack"),
    ],
)
def test_it_names_the_pack_for_docker(make_repository: MakeRepository, files: dict[str, str], plan: str) -> None:
    assert plan_build("docker", make_repository(files=files), BuildSettings()) == plan
    assert set(files) <= CONFIGURATION_FILES


def test_the_process_of_a_push_starts_without_an_http_client(root: Path) -> None:
    program = "import sys, evaluation.builder.build_description; print('requests' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_no_module_of_a_submission_is_imported(make_repository: MakeRepository, root: Path) -> None:
    """The packs read the working directory, which is on the module path of some programs."""
    names = ("escapism", "jinja2", "pip", "repo2docker", "requests", "ruamel", "semver", "toml", "traitlets", "yaml")
    source = make_repository(files={f"{name}.py": "raise SystemExit('of the submission')\n" for name in names})
    program = """
import pathlib, sys
from evaluation.builder.build_description import plan_build
from evaluation.builder.docker_build_settings import BuildSettings
print(plan_build("docker", pathlib.Path(sys.argv[1]), BuildSettings()))
"""
    command = [sys.executable, "-c", program, str(source)]
    planned = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert planned.stdout.startswith("lean pack"), planned.stderr


def test_it_counts_what_this_interpreter_meets(make_repository: MakeRepository) -> None:
    plan = plan_build("process", make_repository(files={"requirements.txt": "numpy\nscipy\n"}), BuildSettings())
    assert plan.endswith(", 2 requirements met")


@pytest.mark.parametrize(
    ("sandbox", "files", "problem"),
    [
        ("docker", {"apt.txt": "not; a package\n"}, "apt.txt, line 1"),
        ("docker", {"runtime.txt": "cobol-3"}, "runtime.txt: 'cobol' is not supported"),
        ("docker", {"binder/a": "", ".binder/a": ""}, "both"),
        ("process", {"requirements.txt": "no-such-package-at-all\n"}, "requirements.txt, line 1"),
        ("process", {"Dockerfile": "FROM scratch\n"}, "Dockerfile: asks for a separate image"),
    ],
)
def test_it_refuses_what_the_builder_would(
    make_repository: MakeRepository, sandbox: str, files: dict[str, str], problem: str
) -> None:
    source = make_repository(files=files)
    with pytest.raises(BuildRefusal) as refused:
        plan_build(sandbox, source, BuildSettings())
    assert problem in refused.value.problem


def test_a_wrong_setting_is_not_the_submissions_cause(
    make_repository: MakeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUNTLET_BUILD_SECONDS", "soon")
    with pytest.raises(HostRefusal, match="GAUNTLET_BUILD_SECONDS"):
        plan_within_limits("docker", make_repository())


@pytest.mark.parametrize("sandbox", ["docker", "process"])
def test_another_process_can_be_asked(sandbox: str, make_repository: MakeRepository) -> None:
    wrong = {"docker": {"apt.txt": "not; a package\n"}, "process": {"requirements.txt": "numpy; " + "(" * 5000}}
    assert "requirement" in plan_within_limits(sandbox, make_repository(files={"requirements.txt": "numpy\n"}))
    with pytest.raises(BuildRefusal):
        plan_within_limits(sandbox, make_repository(files=wrong[sandbox]))


def test_the_operators_settings_reach_the_other_process(
    make_repository: MakeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUNTLET_BASE_PYTHON", "3.12")
    monkeypatch.setenv("GAUNTLET_BUILD_IMAGES", "debian:12")
    assert plan_within_limits("docker", make_repository()) == "lean pack, Python 3.12, 0 requirements"
    assert (
        plan_within_limits("docker", make_repository(files={"Dockerfile": "FROM debian:12\n"})) == "your own Dockerfile"
    )


@pytest.mark.parametrize(
    ("requirement", "fix"),
    [
        ("no-such-package-at-all", "do without no-such-package-at-all, or ask the organisers"),
        ("numpy==0.1", f"write numpy=={version('numpy')}, or ask the organisers"),
    ],
)
def test_a_participant_is_not_told_to_install_anything(
    make_repository: MakeRepository, requirement: str, fix: str
) -> None:
    with pytest.raises(BuildRefusal) as caught:
        plan_build("process", make_repository(files={"requirements.txt": f"{requirement}\n"}), BuildSettings())
    assert caught.value.fix.startswith(fix)
    assert "pip" not in caught.value.fix
