"""Which images a Dockerfile may name: the corpus `tests/repos/dockerfiles.toml`, hostile files and plain ones."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.builder.allowed_dockerfile_images import AllowedImages, check_images, image_entry
from evaluation.builder.build_description import plan_build
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.image_recipe import make_recipe
from evaluation.domain.errors import BuildRefusal

Make = Callable[..., Path]

CORPUS: dict[str, Any] = tomllib.loads((Path(__file__).parents[2] / "repos" / "dockerfiles.toml").read_text("utf-8"))
LISTED = ("docker.io/", "ghcr.io/lab/", "quay.io/tools/cuda:12")
SETTINGS = BuildSettings(allowed_images=LISTED)
THEIRS = "FROM gauntlet/0123456789abcdef\n"


def check(text: str, allowed: AllowedImages | None = None) -> None:
    check_images(text.encode(), name="Dockerfile", allowed=allowed or SETTINGS.images())


@pytest.mark.parametrize("name", CORPUS["refused"])
def test_it_refuses(name: str) -> None:
    expected = CORPUS["refused"][name]
    with pytest.raises(BuildRefusal) as refused:
        check(expected["text"])
    place = f"Dockerfile, line {expected['line']}: " if expected["line"] else "Dockerfile"
    assert refused.value.problem.startswith(place)
    assert expected["says"] in f"{refused.value.problem} {refused.value.fix}"
    assert refused.value.fix


@pytest.mark.parametrize("name", CORPUS["taken"])
def test_it_takes(name: str) -> None:
    problem = ""
    try:
        check(CORPUS["taken"][name])
    except BuildRefusal as refusal:
        problem = refusal.problem
    assert problem == ""


@pytest.mark.parametrize("image", ["python:3.11", "ghcr.io/lab/x", "docker.io/library/postgres"])
def test_nothing_but_the_base_image_is_allowed_where_the_operator_lists_nothing(image: str) -> None:
    nothing_listed = BuildSettings().images()
    check("FROM gauntlet-base:latest\n", nothing_listed)
    with pytest.raises(BuildRefusal) as refused:
        check(f"FROM {image}\n", nothing_listed)
    assert "gauntlet-base:latest, scratch" in refused.value.fix


def test_a_listed_repository_without_a_tag_allows_each_of_its_tags_and_digests() -> None:
    allowed = AllowedImages("gauntlet-base", ["python"])
    assert allowed.allow("python:3.12")
    assert allowed.allow(f"docker.io/library/python@sha256:{'0' * 64}")
    assert not allowed.allow("pythonic")
    assert not allowed.allow("someone/python")


def test_a_base_image_of_another_registry_goes_by_its_own_name() -> None:
    allowed = AllowedImages("registry.example:5000/arena/base:7")
    assert allowed.allow("registry.example:5000/arena/base:7")
    assert not allowed.allow("registry.example:5000/arena/base")
    assert not allowed.allow("gauntlet-base")


@pytest.mark.parametrize("entry", ["", "/", "https://ghcr.io/", "Python", "a b", "$X"])
def test_a_list_of_the_operator_holds_names_of_images(entry: str) -> None:
    with pytest.raises(ValueError, match="is not an image name"):
        image_entry(entry)


@pytest.mark.parametrize("content", [b"FROM scratch\n# \xff\n", b"FROM scratch\n" + b"# more\n" * 40_000])
def test_it_refuses_what_is_no_text_or_too_long(content: bytes) -> None:
    with pytest.raises(BuildRefusal):
        check_images(content, name="Dockerfile", allowed=SETTINGS.images())


@pytest.mark.parametrize("file", ["Dockerfile", "binder/Dockerfile"])
def test_the_plan_and_the_recipe_refuse_it_alike(make_repository: Make, file: str) -> None:
    source = make_repository(files={file: THEIRS})
    with pytest.raises(BuildRefusal, match=f"{file}, line 1: FROM names the image") as planned:
        plan_build("docker", source, BuildSettings())
    with pytest.raises(BuildRefusal) as built:
        make_recipe(source, BuildSettings(), base_id="sha256:base", sdk_digest="sdk")
    assert built.value.problem == planned.value.problem


@pytest.mark.parametrize("linked", ["Dockerfile", "binder"])
def test_a_dockerfile_behind_a_link_is_refused(make_repository: Make, linked: str) -> None:
    source = make_repository(files={"more/Dockerfile": "FROM gauntlet-base\n"})
    (source / linked).symlink_to("more/Dockerfile" if linked == "Dockerfile" else "more")
    with pytest.raises(BuildRefusal, match="Dockerfile is not a plain file"):
        make_recipe(source, BuildSettings(), base_id="sha256:base", sdk_digest="sdk")
