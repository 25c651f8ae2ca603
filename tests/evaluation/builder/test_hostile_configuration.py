"""Configuration files of repo2docker's packs that are made to cost much, or to run code in the builder's process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from evaluation.builder.build_description import plan_build
from evaluation.builder.build_pack_detection import MAX_CONFIGURATION_BYTES
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.image_recipe import make_recipe
from evaluation.domain.errors import BuildRefusal, Fault

Make = Callable[..., Path]

ALIASES = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(9 * [f'*{before}'])}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def recipe(source: Path) -> None:
    make_recipe(source, BuildSettings(), base_id="sha256:base", sdk_digest="sdk")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("environment.yml", "- a\n", "should contain a dictionary"),
        ("environment.yml", "\0", "not allowed"),
        ("environment.yml", "dependencies: " + "9" * 5000, "limit"),
        ("environment.yml", "dependencies: " + "[" * 500, "recursion|expected"),
        ("Project.toml", "a=" + "[" * 5000, "recursion"),
        ("Pipfile", "[" * 5000, "Key group"),
        ("Pipfile.lock", "[" * 100_000, "recursion"),
        ("runtime.txt", "python-" + "9" * 5000, "limit"),
        ("apt.txt", "a\\\nRUN touch /x\n", "is not a package name"),
        ("environment.yml", "#" * (MAX_CONFIGURATION_BYTES + 1), "environment.yml has 1,048,577 bytes; at most"),
        ("binder/postBuild", "#" * (MAX_CONFIGURATION_BYTES + 1), "binder/postBuild has 1,048,577 bytes; at most"),
    ],
)
def test_it_refuses_them(make_repository: Make, name: str, text: str, problem: str) -> None:
    with pytest.raises(BuildRefusal, match=problem) as refusal:
        recipe(make_repository(files={name: text}))
    assert refusal.value.fix


def test_the_plan_refuses_a_large_one_alike(make_repository: Make) -> None:
    source = make_repository(files={"environment.yml": "#" * (MAX_CONFIGURATION_BYTES + 1)})
    with pytest.raises(BuildRefusal, match=r"environment\.yml has 1,048,577 bytes"):
        plan_build("docker", source, BuildSettings())


@pytest.mark.parametrize(
    "text",
    ["dependencies: !!python/object/apply:os.mkdir ['run']\n", f"{ALIASES}dependencies: *i\n"],
    ids=["an object of Python", "aliases of aliases"],
)
def test_yaml_runs_nothing_and_expands_nothing(make_repository: Make, text: str) -> None:
    source = make_repository(files={"environment.yml": text})
    recipe(source)
    assert sorted(path.name for path in source.iterdir()) == ["environment.yml", "main.py", "submission.toml"]


def test_a_list_of_versions_that_cannot_be_read_is_the_hosts_cause(
    make_repository: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the address of repo2docker's list of Julia's versions is fixed, so the way there is cut
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    source = make_repository(files={"Project.toml": '[compat]\njulia = "1.9"\n'})
    with pytest.raises(Fault, match="cannot reach a package index") as fault:
        recipe(source)
    assert isinstance(fault.value.__cause__.__context__, requests.RequestException)  # type: ignore[union-attr]
