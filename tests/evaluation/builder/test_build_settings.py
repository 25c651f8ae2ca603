"""The operator's settings, read from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.builder.choose_builder import choose_builder
from evaluation.builder.docker_build_settings import BuildSettings, CacheLimits, build_settings_from_environment
from evaluation.builder.in_place_builder import InPlaceBuilder
from evaluation.domain.errors import HostRefusal


def test_every_setting_is_read_from_its_variable_and_has_a_default(tmp_path: Path) -> None:
    certificates = tmp_path / "extra.pem"
    certificates.write_text("PEM")

    settings = build_settings_from_environment(
        {
            "GAUNTLET_BASE_IMAGE": "ours:1",
            "GAUNTLET_BUILD_CERTIFICATES": str(certificates),
            "GAUNTLET_PIP_INDEX_URL": "https://mirror.example/simple",
            "GAUNTLET_BUILD_NETWORK": "none",
            "GAUNTLET_BUILD_SECONDS": "60",
            "GAUNTLET_MAX_IMAGE_BYTES": "1e9",
            "GAUNTLET_MAX_IMAGE_FILES": "20000",
            "GAUNTLET_BUILD_CACHE_DAYS": "0",
            "GAUNTLET_BUILD_CACHE_BYTES": "1e10",
            "GAUNTLET_BUILD_CACHE_TEAM_BYTES": "1e9",
        }
    )

    assert settings == BuildSettings(
        base_image="ours:1",
        certificates=certificates,
        index_url="https://mirror.example/simple",
        network="none",
        seconds=60.0,
        max_image_bytes=10**9,
        max_image_files=20_000,
        cache=CacheLimits(days=0, bytes=10**10, team_bytes=10**9),
    )
    assert settings.mirror_arguments() == (("PIP_INDEX_URL", "https://mirror.example/simple"),)
    assert build_settings_from_environment({}) == BuildSettings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GAUNTLET_BUILD_SECONDS", "soon"),
        ("GAUNTLET_BUILD_SECONDS", "-1"),
        ("GAUNTLET_MAX_IMAGE_BYTES", "inf"),
        ("GAUNTLET_MAX_IMAGE_FILES", "0"),
        ("GAUNTLET_BUILD_CACHE_DAYS", "-1"),
        ("GAUNTLET_BUILD_CACHE_DAYS", "nan"),
        ("GAUNTLET_BUILD_CACHE_TEAM_BYTES", "0"),
        ("GAUNTLET_BUILD_NETWORK", "everything"),
        ("GAUNTLET_BUILD_CERTIFICATES", "no-such-file.pem"),
    ],
)
def test_it_rejects_a_wrong_value(name: str, value: str) -> None:
    with pytest.raises(HostRefusal, match=name):
        build_settings_from_environment({name: value})


def test_it_chooses_a_builder_for_a_sandbox() -> None:
    assert isinstance(choose_builder("process"), InPlaceBuilder)
    with pytest.raises(ValueError, match="virtual"):
        choose_builder("virtual")
