"""Recipes: the same for the same tree, base image and SDK; and what each pack writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.image_recipe import ImageRecipe, image_name, make_recipe, operator_files
from evaluation.domain.errors import BuildRefusal

Make = Callable[..., Path]


def recipe(source: Path, *, base_id: str = "sha256:base", sdk_digest: str = "sdk") -> ImageRecipe:
    return make_recipe(source, BuildSettings(), base_id=base_id, sdk_digest=sdk_digest)


def test_a_recipe_runs_its_steps_in_their_order_and_ends_with_files_of_root(make_repository: Make) -> None:
    source = make_repository(files={"requirements.txt": "numpy\n", "apt.txt": "sl\nfile\n", "postBuild": "#!/bin/sh\n"})

    made = recipe(source)

    assert made.pack == "lean"
    assert image_name(made.digest) == f"gauntlet/{made.digest[7:23]}"
    steps = ["FROM gauntlet-base:latest", "--no-install-recommends file sl", "-r /run/src/requirements.txt",
             "COPY --chown=65534:65534 src/", "USER 65534:65534", "source=sdk,", "./postBuild",
             "USER root", "chown -hR 0:0 /submission"]  # fmt: skip
    places = [made.dockerfile.rindex(step) for step in steps]
    assert places == sorted(places)
    assert "jupyter" not in made.dockerfile


def test_a_player_owns_no_file_of_a_lean_image(make_repository: Make) -> None:
    made = recipe(make_repository(files={"requirements.txt": "numpy\n"}))

    assert "COPY src/ /submission/" in made.dockerfile
    assert "65534" not in made.dockerfile


REPOSITORIES: dict[str, dict[str, str]] = {
    "lean": {"requirements.txt": "numpy\n"},
    "dockerfile": {"Dockerfile": "FROM gauntlet-base:latest\n"},
    "CondaBuildPack": {"environment.yml": "dependencies: [python=3.12, numpy, scipy]\n", "apt.txt": "sl\n"},
    "PythonBuildPack": {"runtime.txt": "python-3.12", "requirements.txt": "numpy\n"},
    "PipfileBuildPack": {"Pipfile": '[packages]\nnumpy = "*"\n'},
}


@pytest.mark.parametrize("pack", REPOSITORIES)
def test_it_is_the_same_for_the_same_tree(make_repository: Make, pack: str) -> None:
    first = recipe(make_repository("one", REPOSITORIES[pack]))
    second = recipe(make_repository("two", REPOSITORIES[pack]))

    assert first.pack == pack
    assert (first.dockerfile, first.digest, first.arguments) == (second.dockerfile, second.digest, second.arguments)
    assert first.digest != recipe(first.source, base_id="sha256:newer").digest
    assert first.digest != recipe(first.source, sdk_digest="newer").digest


def test_it_follows_repo2docker_for_everything_but_pip(make_repository: Make, tmp_path: Path) -> None:
    made = recipe(make_repository(files=REPOSITORIES["CondaBuildPack"]))

    assert made.dockerfile.lstrip().startswith("FROM gauntlet-base:latest")
    assert "environment.yml" in made.dockerfile
    assert "ARG PIP_INDEX_URL\n" in made.dockerfile
    # what its packs expect of their usual base image
    assert {"wget", "bzip2"} <= set(made.dockerfile.split())
    names = {entry.name: entry for entry in made.context(BuildSettings(), tmp_path)}
    copied = [line.split()[-2] for line in made.dockerfile.splitlines() if line.startswith("COPY ")]
    for name in copied:
        assert name.strip("/") in names or any(known.startswith(name) for known in names), name


@pytest.mark.parametrize(
    ("files", "pack"),
    [
        ({}, "lean"),
        ({"runtime.txt": "python-3.11", "requirements.txt": "numpy\n"}, "lean"),
        ({"pyproject.toml": "[tool.ruff]\n"}, "lean"),
        ({"binder/Dockerfile": "FROM scratch\n", "requirements.txt": ""}, "dockerfile"),
        ({".binder/environment.yml": "dependencies: []\n", "Dockerfile": "FROM scratch\n"}, "CondaBuildPack"),
    ],
)
def test_it_detects_as_repo2docker_does(make_repository: Make, files: dict[str, str], pack: str) -> None:
    assert recipe(make_repository(files=files)).pack == pack


def test_it_installs_late_what_needs_the_whole_repository(make_repository: Make) -> None:
    files = {
        "requirements.txt": "./helper\n",
        "pyproject.toml": '[build-system]\nrequires = []\n[project]\nname = "x"\nversion = "1"\n',
    }

    text = recipe(make_repository(files=files)).dockerfile

    assert text.index("src/ /submission/") < text.index("-r requirements.txt") < text.index("--no-cache-dir .\n")


def test_it_keeps_the_operators_settings_out_of_the_recipe(make_repository: Make, tmp_path: Path) -> None:
    source = make_repository(files={"requirements.txt": "numpy\n"})
    wheels, certificates = tmp_path / "wheels", tmp_path / "extra.pem"
    wheels.mkdir()
    (wheels / "six-1-py3-none-any.whl").write_bytes(b"wheel")
    certificates.write_text("PEM")
    settings = BuildSettings(
        index_url="https://mirror.example/simple", find_links=str(wheels), certificates=certificates, network="host"
    )

    made = make_recipe(source, settings, base_id="sha256:base", sdk_digest="sdk")
    files = {entry.name: entry.content for entry in operator_files(settings)}

    assert made.digest == recipe(source).digest
    assert files["operator/pip.conf"] == (
        b"[global]\nindex-url = https://mirror.example/simple\nfind-links = /run/operator/wheels\n"
    )
    assert files["operator/certificates.pem"] == b"PEM"
    assert files["operator/wheels/six-1-py3-none-any.whl"] == wheels / "six-1-py3-none-any.whl"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"apt.txt": "file\nsl; rm -rf x\n"}, "apt.txt, line 2: 'sl; rm -rf x' is not a package name"),
        ({"apt.txt": "--purge\n"}, "apt.txt, line 1: '--purge' is not a package name"),
        ({"binder/Dockerfile/x": ""}, "binder/Dockerfile is not a plain file"),
        ({"pyproject.toml": "[project\n"}, "cannot read the configuration files"),
        ({"environment.yml": "dependencies: [\n"}, "cannot read the configuration files"),
        ({"runtime.txt": "three"}, "cannot read the configuration files"),
        ({"runtime.txt": "cobol-85"}, "runtime.txt: 'cobol' is not supported"),
        ({"binder/x": "", ".binder/x": ""}, "both"),
    ],
)
def test_it_rejects_configuration_that_cannot_be_followed(
    make_repository: Make, files: dict[str, str], problem: str
) -> None:
    with pytest.raises(BuildRefusal) as caught:
        recipe(make_repository(files=files))

    assert problem in caught.value.problem
    assert caught.value.fix


def key(source: Path, settings: BuildSettings | None = None, *, owner: str = "7", base_id: str = "sha256:base") -> str:
    """The key of what is installed for `source`; empty if that cannot be reused."""
    local, reach = (settings or BuildSettings()).reach()
    installation = recipe(source).installation
    return installation.key(local, reach, owner=owner, base_id=base_id) if installation else ""


def test_an_installation_has_no_file_but_those_that_decide_it(make_repository: Make) -> None:
    made = recipe(make_repository(files={"binder/requirements.txt": "six\n", "binder/apt.txt": "sl\n", "six.py": ""}))

    assert made.is_copied
    assert made.installation is not None
    assert made.dockerfile.startswith(made.installation.dockerfile)
    assert "COPY" not in made.installation.dockerfile
    read = {entry.name: entry.content for entry in made.installation.context(BuildSettings())}
    assert read["src/binder/requirements.txt"] == b"six\n"
    assert [name for name in read if not name.startswith("operator/")] == [made.file, "src/binder/requirements.txt"]


def test_what_is_installed_is_named_by_all_that_decides_it(make_repository: Make, tmp_path: Path) -> None:
    first = make_repository("first", {"requirements.txt": "six\n"})
    certificates, wheels = tmp_path / "extra.pem", tmp_path / "wheels"
    certificates.write_text("PEM")
    wheels.mkdir()
    (wheels / "six-1-py3-none-any.whl").write_bytes(b"wheel")
    own = BuildSettings(find_links=str(wheels))
    with_wheel = key(first, own)
    (wheels / "six-1-py3-none-any.whl").write_bytes(b"other")

    keys = [
        key(first),
        key(first, owner="8"),
        key(first, base_id="sha256:newer"),
        key(make_repository("changed", {"requirements.txt": "six \n"})),
        key(make_repository("system", {"requirements.txt": "six\n", "apt.txt": "sl\n"})),
        key(make_repository("below", {"binder/requirements.txt": "six\n"})),
        key(first, BuildSettings(index_url="https://mirror.example/simple")),
        key(first, BuildSettings(index_url="https://other.example/simple")),
        key(first, BuildSettings(extra_index_url="https://mirror.example/simple")),
        key(first, BuildSettings(network="none")),
        key(first, BuildSettings(hosts=("pypi.org",))),
        key(first, BuildSettings(certificates=certificates)),
        with_wheel,
        key(first, own),
    ]

    assert all(len(name) == 64 for name in keys)
    assert len(set(keys)) == len(keys)


def test_other_code_passwords_and_limits_install_the_same(make_repository: Make) -> None:
    first = make_repository("first", {"requirements.txt": "six\n"})
    other = make_repository("other", {"requirements.txt": "six\n", "main.py": "print(2)\n", "weights.bin": "1"})

    assert key(first) == key(other)
    assert key(first, BuildSettings(memory_bytes=1 << 30, seconds=1.0)) == key(first)
    with_password = [BuildSettings(index_url=f"https://a:{word}@mirror.example/simple") for word in ("one", "two")]
    assert key(first, with_password[0]) == key(first, with_password[1])


PACKAGE = '[build-system]\nrequires = []\n[project]\nname = "x"\nversion = "1"\n'


@pytest.mark.parametrize(
    "files",
    [
        {"requirements.txt": "six\n-e .\n"},
        {"requirements.txt": "./helper\n"},
        {"requirements.txt": "-r other.txt\n"},
        {"requirements.txt": "-c limits.txt\nsix\n"},
        {"requirements.txt": "--find-links wheels\nsix\n"},
        {"requirements.txt": "--no-index --find-links wheels\nsix\n"},
        {"requirements.txt": "--pre -r other.txt\n"},
        {"requirements.txt": "-f file:///submission/wheels\nsix\n"},
        {"requirements.txt": "six @ file:///submission/wheels/six-1.17.0-py3-none-any.whl\n"},
        {"requirements.txt": "six\n", "setup.py": ""},
        {"requirements.txt": "six\n", "pyproject.toml": PACKAGE},
        {"requirements.txt": "six\n", "postBuild": "#!/bin/sh\n"},
        {"requirements.txt": "six\n", "runtime.txt": "python-3.12"},
        {"requirements.txt": "six\n", "Dockerfile": "FROM scratch\n"},
        {"environment.yml": "dependencies: []\n"},
    ],
)
def test_what_may_read_other_files_is_never_reused(make_repository: Make, files: dict[str, str]) -> None:
    made = recipe(make_repository(files=files))

    assert not made.is_copied
    assert made.installation is None


@pytest.mark.parametrize(
    ("line", "may_change"),
    [("six", False), ("six==1.17.0", False), ("x @ https://host/x.zip", True), ("x @ git+https://host/x@main", True)],
)
def test_what_an_address_gave_is_not_reused(make_repository: Make, line: str, may_change: bool) -> None:
    made = recipe(make_repository(files={"requirements.txt": f"{line}\n"}))

    assert made.installation is not None
    assert made.installation.has_addresses is may_change
