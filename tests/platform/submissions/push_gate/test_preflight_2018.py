"""The checks of a commit in the layout of 2018, inside a push."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, cast

import pytest

from core.errors import Refusal
from evaluation.legacy.environment import VARIABLE
from formats.query.submissions.preflight_2018 import check_2018
from repositories.git_reader import GitReader, TreeFile

FILES = {
    "crowdai.json": b'{"challenge_id": "nips-2018-avc-untargeted-attack"}',
    "run.sh": b"python3 main.py",
    "main.py": b"import json",
}


class Contents:
    """The contents of files that are named after themselves; it counts the bytes read."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self.read = 0

    def content(self, name: str, limit: int) -> bytes:
        self.read += len(self._files[name])
        return self._files[name]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, sys.prefix)


def checked(files: Mapping[str, bytes], modes: Mapping[str, str] | None = None) -> tuple[Any, Contents]:
    listed = [
        TreeFile(path=path, mode=(modes or {}).get(path, "100644"), object=path, size=len(content))
        for path, content in files.items()
    ]
    contents = Contents(files)
    return check_2018("untargeted", listed, cast("GitReader", contents)), contents


def test_a_commit_without_requirements_needs_no_replacements() -> None:
    commit, _ = checked(FILES)
    assert commit.plan == "as it is, in the legacy environment; nothing is replaced"


def test_a_manifest_that_is_a_link_is_refused() -> None:
    with pytest.raises(Refusal, match="is not a plain file"):
        checked(FILES, {"crowdai.json": "120000"})


def test_it_reads_a_bounded_amount_of_code() -> None:
    content = bytes(256 << 10)
    _, contents = checked(FILES | {f"net/part{number}.py": content for number in range(100)})
    assert contents.read < 17 << 20
