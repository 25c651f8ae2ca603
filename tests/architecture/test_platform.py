"""`platform/` contains packages and is not a package, since it would hide Python's module `platform`."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

BELOW_THE_SITE = {"evaluation", "gauntlet"}


def stray_files(root: Path) -> list[str]:
    """Return the modules directly in `platform/`, outside its packages."""
    return sorted(path.name for path in (root / "platform").glob("*.py"))


def apps(root: Path) -> set[str]:
    """Return the packages below `platform/`. A folder with only caches is not a package."""
    folders = (path for path in (root / "platform").iterdir() if path.is_dir() and path.name != "__pycache__")
    return {folder.name for folder in folders if any(folder.rglob("*.py"))}


def system_name(root: Path) -> subprocess.CompletedProcess[str]:
    """Call Python's own `platform` from a program started in `root`."""
    return subprocess.run(
        [sys.executable, "-c", "import sys; sys.path.insert(0, ''); import platform; print(platform.system())"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture(scope="module")
def linter(root: Path) -> dict[str, object]:
    """The settings of import-linter."""
    settings: dict[str, object] = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]
    return settings


def test_the_module_platform_of_python_is_not_hidden_by_a_stray_package_file(root: Path) -> None:
    assert stray_files(root) == []
    assert system_name(root).returncode == 0


def test_it_rejects_a_stray_package_file(tmp_path: Path) -> None:
    (tmp_path / "platform" / "config").mkdir(parents=True)
    assert system_name(tmp_path).returncode == 0
    (tmp_path / "platform" / "__init__.py").touch()
    assert stray_files(tmp_path) == ["__init__.py"]
    broken = system_name(tmp_path)
    assert broken.returncode != 0
    assert "has no attribute 'system'" in broken.stderr


def test_every_app_is_a_package(root: Path) -> None:
    assert [app for app in sorted(apps(root)) if not (root / "platform" / app / "__init__.py").is_file()] == []


def test_every_app_is_linted(root: Path, linter: dict[str, list[str]]) -> None:
    assert set(linter["root_packages"]) == apps(root) | BELOW_THE_SITE


def test_every_app_has_its_layer(root: Path, linter: dict[str, list[dict[str, list[str]]]]) -> None:
    site = linter["contracts"][0]
    layers = {name.strip() for layer in site["layers"] for name in layer.split("|")}
    optional = {name.strip("()") for name in layers if name.startswith("(")}
    required = {name.partition(".")[0] for name in layers - {f"({name})" for name in optional}}
    assert required == apps(root) | BELOW_THE_SITE, "a layer is in parentheses exactly as long as it does not exist"
