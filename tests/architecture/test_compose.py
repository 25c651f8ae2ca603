"""compose.yaml is valid YAML, opens no port to the world and holds no password."""

from __future__ import annotations

from pathlib import Path

from ruamel.yaml import YAML


def test_it_works(root: Path) -> None:
    services = YAML(typ="safe").load(root / "compose.yaml")["services"]
    assert set(services) == {"database", "broker"}
    for service in services.values():
        assert service["healthcheck"]["test"]
        assert ":" in service["image"], "an image without a version"
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert services["database"]["environment"]["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")
