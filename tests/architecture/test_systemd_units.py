"""The units of systemd start the programs of docs/operating.md, with its commands."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

import pytest

PREFIX = "/srv/gauntlet/"


def units(root: Path) -> dict[str, ConfigParser]:
    read = {}
    for path in sorted((root / "deploy" / "systemd").glob("*.service")):
        read[path.stem] = ConfigParser(interpolation=None, strict=False)
        read[path.stem].read(path)
    return read


def test_each_program_has_a_unit_with_its_command(root: Path) -> None:
    table = re.findall(r"^\| (\w+) \| `(\S[^`]+)` \|", (root / "docs" / "operating.md").read_text(), re.MULTILINE)
    commands = {name: command for name, command in table if command.startswith(".venv/bin/")}
    assert set(commands) == {"web", "scorer", "builder", "sender", "player", "beat"}
    started = {name: unit["Service"]["ExecStart"].replace("%%", "%") for name, unit in units(root).items()}
    for name in ("builder", "sender", "player"):
        assert started[f"gauntlet-{name}"] == PREFIX + commands[name]
    assert started["gauntlet-web"].startswith(PREFIX + commands["web"])
    assert started["gauntlet-scorer"].replace("--beat ", "") == PREFIX + commands["scorer"]


@pytest.mark.parametrize(("name", "reaches"), [
    ("web", False), ("backup", False), ("sender", False), ("scorer", True), ("builder", True), ("player", True),
])  # fmt: skip
def test_workers_alone_reach_the_docker_engine(root: Path, name: str, reaches: bool) -> None:
    service = units(root)[f"gauntlet-{name}"]["Service"]
    assert (service.get("SupplementaryGroups") == "docker") is reaches
    assert ("PrivateTmp" in service) is not reaches, "the engine mounts temporary folders into containers"


def test_every_unit_runs_as_the_user_of_the_site_with_private_files(root: Path) -> None:
    for unit in units(root).values():
        assert (unit["Service"]["User"], unit["Service"]["UMask"]) == ("gauntlet", "0077")


def test_the_target_wants_every_program(root: Path) -> None:
    wanted = re.search(r"^Wants=(.*)$", (root / "deploy" / "systemd" / "gauntlet.target").read_text(), re.MULTILINE)
    assert wanted is not None
    names = {name.removesuffix(".timer").removesuffix(".service") for name in wanted[1].split()}
    assert names == set(units(root))
