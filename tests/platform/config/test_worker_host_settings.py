"""What a site tells its worker hosts is what they build and play by, the engine too."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from config.environment import Environment
from config.worker_host_settings import OF_ENGINE, SAME, host_settings
from tests.platform.config.test_trust import run_program

OWN = {
    *("GAUNTLET_BUILD_CERTIFICATES", "GAUNTLET_PIP_INDEX_URL", "GAUNTLET_PIP_EXTRA_INDEX_URL"),
    *("GAUNTLET_PIP_FIND_LINKS", "GAUNTLET_BUILD_CACHE_BYTES", "GAUNTLET_BUILD_CACHE_TEAM_BYTES"),
}
"""Settings of builds that a host has of its own: files, mirrors that it reaches, and its disk."""

SHOW = """
import os
import config.settings
from evaluation.builder.docker_build_settings import build_settings_from_environment
read = build_settings_from_environment()
print(read.base_image, read.seconds, read.allowed_images, read.processes, os.environ["GAUNTLET_MAX_CHECKOUT_BYTES"])
print(sorted(name for name in os.environ if name in ("DATABASE_URL", "GAUNTLET_HOST_TOKEN")))
"""


def test_the_engine_of_a_host_has_what_the_site_sent(tmp_path: Path) -> None:
    """A submission that the site accepts would be rejected there, or be built by other rules."""
    (tmp_path / "host-settings").write_text(
        "DATABASE_URL=postgresql://gauntlet:secret@database.example/gauntlet\nGAUNTLET_HOST_TOKEN=gth_a\n"
        "GAUNTLET_BASE_IMAGE=base:7\nGAUNTLET_BUILD_SECONDS=3600\nGAUNTLET_BUILD_IMAGES=python:3.11\n"
        "GAUNTLET_BUILD_PROCESSES=512\nGAUNTLET_MAX_CHECKOUT_BYTES=8589934592\n"
    )
    own = {"GAUNTLET_BUILD_PROCESSES": "256", "GAUNTLET_BASE_IMAGE": ""}
    done = run_program([sys.executable, "-c", SHOW], tmp_path, **own)
    assert done.stdout.splitlines() == ["base:7 3600.0 ('python:3.11',) 256 8589934592", "[]"], done.stderr


def test_the_site_sends_every_rule_of_builds(root: Path) -> None:
    read = (root / "evaluation" / "builder" / "docker_build_settings.py").read_text()
    rules = set(re.findall(r'read\("(GAUNTLET_[A-Z_]+)"', read))
    assert len(rules) > 15
    assert rules - OWN <= set(SAME)
    assert all(name.startswith(OF_ENGINE) for name in rules)
    assert "GAUNTLET_IMAGES_KEPT_DAYS" in SAME, "builders of hosts remove images from the store of all"


def test_what_is_not_set_is_not_sent() -> None:
    shared = {
        "DATABASE_URL": "postgresql://gauntlet@10.0.0.1/gauntlet",
        "GAUNTLET_BROKER": "redis://10.0.0.1/0",
        "GAUNTLET_OBJECTS": "s3+http://key:secret@10.0.0.1/arena",
    }
    assert host_settings(Environment(shared | {"GAUNTLET_BUILD_SECONDS": "60"}))() == shared | {
        "GAUNTLET_BUILD_SECONDS": "60"
    }
