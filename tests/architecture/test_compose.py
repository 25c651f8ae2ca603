"""No service of compose.yaml is open to other hosts, starts without a password, or is of any version."""

from __future__ import annotations

import re
from pathlib import Path

from ruamel.yaml import YAML


def test_it_works(root: Path) -> None:
    services = YAML(typ="safe").load(root / "compose.yaml")["services"]
    assert services
    for name, service in services.items():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]), name
        assert ":" in service["image"], f"{name} is of any version"
        passwords = [value for key, value in service["environment"].items() if key.endswith("PASSWORD")]
        assert passwords, f"{name} needs no password"
        assert all(re.match(r"\$\{\w+:\?", value) for value in passwords), f"{name} starts without one, too"
