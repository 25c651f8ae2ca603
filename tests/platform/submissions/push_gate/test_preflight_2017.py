"""The checks of a commit in the layout of 2017, inside a push to a competition of the transfer format."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import cast

import pytest

from core.errors import Refusal
from evaluation.legacy.environment import VARIABLE
from formats.transfer.submissions.preflight import check_commit
from repositories.git_reader import GitReader, TreeFile
from submissions.checked_commit import CheckedCommit

METADATA = {"type": "attack", "container": "some/image:1", "entry_point": "run_attack.sh"}
FILES = {"metadata.json": json.dumps(METADATA).encode(), "run_attack.sh": b"#!/bin/sh\ncp $1/* $2\n"}


class Contents:
    """The contents of files that are named after themselves."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def content(self, name: str, limit: int) -> bytes:
        return self._files[name][:limit]


def checked(files: Mapping[str, bytes], modes: Mapping[str, str] | None = None, track: str = "attack") -> CheckedCommit:
    usual = {"run_attack.sh": "100755"} | dict(modes or {})
    listed = [
        TreeFile(path=path, mode=usual.get(path, "100644"), object=path, size=len(content))
        for path, content in files.items()
    ]
    return check_commit(track, "0123456789abcdef", listed, cast("GitReader", Contents(files)))


def with_metadata(**values: object) -> dict[str, bytes]:
    return FILES | {"metadata.json": json.dumps(METADATA | values).encode()}


def test_a_commit_of_2017_has_a_title_an_unknown_licence_and_the_plan_of_its_run() -> None:
    assert checked(FILES) == CheckedCommit(
        title="attack 0123456",
        licence="unknown",
        plan="its files as they are; run_attack.sh runs in a fresh copy for every batch",
    )


def test_it_takes_title_and_licence_of_the_manifest_or_the_licence_file() -> None:
    assert checked(with_metadata(title="Night owl", licence="MIT")).title == "Night owl"
    text = b"Permission is hereby granted, free of charge ... The above copyright notice and this permission notice"
    assert checked(FILES | {"LICENSE": text}).licence == "MIT"
    assert checked(with_metadata(licence="Apache-2.0") | {"LICENSE": text}).licence == "Apache-2.0"


def test_a_missing_executable_bit_is_set_and_said() -> None:
    plan = checked(FILES, {"run_attack.sh": "100644"}).plan
    assert plan.endswith("for every batch; run_attack.sh is not executable in git, and is made so for each run")


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"run_attack.sh": b"#!/bin/sh\npython gone.py\n"}, "starts 'gone.py', which is not in the repository"),
        (
            {"run_attack.sh": b"#!/bin/sh\nsh run.sh\n", "run.sh": b"#" * 600 + b"\npython gone.py\n"},
            "starts 'gone.py'",
        ),
        ({"run_attack.sh": b"#!/bin/sh\npython a.py\n", "a.py": b"import torch\ntorch.load('w.pth')"}, "loads 'w.pth'"),
        ({"w.pth": b"version https://git-lfs.github.com/spec/v1\noid sha256:0"}, "w.pth: a Git LFS pointer"),
    ],
)
def test_the_checks_of_the_build_reject_a_push_to_a_site_with_the_legacy_environment(
    files: dict[str, bytes], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked(FILES | files)
    monkeypatch.setenv(VARIABLE, sys.prefix)
    assert checked(FILES).plan.endswith("in the legacy environment")
    with pytest.raises(Refusal, match=re.escape(problem)):
        checked(FILES | files)


@pytest.mark.parametrize(
    ("files", "modes", "problem"),
    [
        ({"run_attack.sh": b"#!/bin/sh\n"}, {}, "metadata.json is missing in commit 0123456"),
        (FILES, {"metadata.json": "120000"}, "metadata.json is missing"),
        (FILES | {"metadata.json": b"{"}, {}, "is not valid JSON"),
        (with_metadata(type="defence"), {}, "unknown type 'defence'"),
        (with_metadata(type="defense"), {}, "is of the track defence, but this repository is for the track attack"),
        (with_metadata(title="x" * 121), {}, "title is not a text of one line with at most 120 characters"),
        (with_metadata(licence="x" * 201), {}, "licence is not a text of one line with at most 200 characters"),
        (with_metadata(entry_point="../run.sh"), {}, "outside of the repository"),
        (with_metadata(entry_point="other.sh"), {}, "other.sh is not in the repository"),
        (FILES, {"run_attack.sh": "120000"}, "is not in the repository"),
        (FILES | {"run_attack.sh": b"cp $1/* $2\n"}, {}, "does not say which interpreter runs it"),
        (FILES | {"run_attack.sh": b"#!/bin/sh\r\ncp\r\n"}, {}, "has Windows line ends"),
    ],
)
def test_it_rejects_what_cannot_run(files: Mapping[str, bytes], modes: Mapping[str, str], problem: str) -> None:
    with pytest.raises(Refusal, match=problem) as refusal:
        checked(files, modes)
    assert refusal.value.fix
