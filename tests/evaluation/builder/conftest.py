"""Repositories for the tests of the builder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

MakeRepository = Callable[..., Path]

MANIFEST = """[submission]
track = "model"
run = "python main.py"
title = "A model"
licence = "Apache-2.0"
"""


@pytest.fixture
def make_repository(tmp_path: Path) -> MakeRepository:
    """Write a repository: a good manifest, and the files given as path=text; returns its directory."""

    def make(name: str = "repository", files: dict[str, str] | None = None) -> Path:
        top = tmp_path / name
        for path, text in {"submission.toml": MANIFEST, "main.py": "print('plays')\n", **(files or {})}.items():
            target = top / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return top

    return make
