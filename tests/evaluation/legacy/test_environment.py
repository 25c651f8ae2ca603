"""The legacy environment of a host."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from evaluation.domain.errors import HostRefusal
from evaluation.legacy.environment import VARIABLE, LegacyEnvironment, legacy_environment


def test_an_environment_provides_its_packages_and_the_standard_library(environment: LegacyEnvironment) -> None:
    assert environment.versions["numpy"] == np.__version__
    assert environment.provides("torch")
    assert environment.provides("json")
    assert not environment.provides("tensorflow")


def test_the_variable_names_it() -> None:
    assert legacy_environment({}) is None
    assert legacy_environment({VARIABLE: sys.prefix}) == LegacyEnvironment(Path(sys.prefix))


def test_it_rejects_a_directory_without_python(tmp_path: Path) -> None:
    with pytest.raises(HostRefusal, match="is not a Python environment"):
        legacy_environment({VARIABLE: str(tmp_path)})


def test_the_digest_follows_from_the_packages(tmp_path: Path) -> None:
    digests = set()
    for version in ("1.0", "2.0"):
        made = tmp_path / version
        (made / "bin").mkdir(parents=True)
        (made / "bin" / "python").touch()
        metadata = made / "lib" / "python3.11" / "site-packages" / f"foolbox-{version}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: foolbox\nVersion: {version}\n")
        digests.add(LegacyEnvironment(made).digest())
    LegacyEnvironment(made).cleverhans_3.mkdir()
    digests.add(LegacyEnvironment(made).digest())
    assert len(digests) == 3
