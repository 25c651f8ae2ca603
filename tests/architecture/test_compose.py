"""In compose.yaml only the proxy listens outside, only workers reach the engine, and all images have a version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ENGINE = "/var/run/docker.sock"


@pytest.fixture
def services(root: Path) -> dict[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = YAML(typ="safe").load(root / "compose.yaml")["services"]
    return read


def test_only_the_proxy_listens_outside(services: dict[str, dict[str, Any]]) -> None:
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert [name for name, service in services.items() if service.get("network_mode") == "host"] == []


def test_only_workers_reach_the_engine(services: dict[str, dict[str, Any]]) -> None:
    having = {name for name, each in services.items() if any(ENGINE in volume for volume in each.get("volumes", ()))}
    assert having == {"scorer", "builder", "player", "builder-image"}


def test_only_the_preparation_writes_passwords(services: dict[str, dict[str, Any]]) -> None:
    mounts = {name: [v for v in each.get("volumes", ()) if v.startswith("secrets:")] for name, each in services.items()}
    assert [name for name, volumes in mounts.items() if volumes == ["secrets:/secrets"]] == ["prepare"]
    assert not [name for name, each in services.items() if re.search(r"PASSWORD['\"]?: (?!/secrets)", str(each))]


def test_programs_of_the_site_have_no_rights_and_a_read_only_root(services: dict[str, dict[str, Any]]) -> None:
    for name in ("web", "beat", "migrate", "sender", "files", "scorer", "builder", "player"):
        assert (services[name]["cap_drop"], services[name]["read_only"]) == (["ALL"], True), name
        assert services[name].get("cap_add", []) in ([], ["SETUID", "SETGID"]), name


def test_services_of_others_have_a_version(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        image = service["image"].partition(":-")[2].rstrip("}")
        assert image.startswith("gauntlet-") or re.search(r":\d", image), f"{name} is of any version"


def test_an_update_stops_every_program_before_the_database_is_migrated(
    services: dict[str, dict[str, Any]], root: Path
) -> None:
    """A program of the old version would write rows as they were, and fail or lose what it did."""
    (stopped,) = re.findall(r"`docker compose stop ([a-z ]+)`", (root / "docs" / "operating.md").read_text())
    programs = {
        name
        for name, service in services.items()
        if "gauntlet-" in service["image"] and service.get("restart") == "unless-stopped"
    }
    assert "web" in programs
    assert set(stopped.split()) == programs


def test_every_variable_of_the_compose_files_is_documented(root: Path) -> None:
    read = set(re.findall(r"\$\{(\w+)", "".join(path.read_text() for path in root.glob("compose*.yaml"))))
    manual = (root / "docs" / "operating.md").read_text()
    (images,) = re.findall(r"^\| `GAUNTLET_\.\.\._IMAGE` \| another image for ([^|]*)", manual, re.MULTILINE)
    named = {f"GAUNTLET_{name}_IMAGE" for name in re.findall(r"`([A-Z]+)`", images)}
    assert len(read) > 20
    assert [name for name in sorted(read - named) if f"`{name}" not in manual] == []
