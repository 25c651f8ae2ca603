"""Paths of this host in what a player prints."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from evaluation.sandbox.host_path_redaction import HostPaths
from evaluation.sandbox.state_directory import state_directory

HOME = Path("/srv/checkouts/7-abc")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f'File "{HOME}/net/main.py", line 3', 'File "net/main.py", line 3'),
        (f"cd {HOME}", "cd ."),
        (f"{HOME}-other/main.py", f"{HOME}-other/main.py"),
        (f"{tempfile.gettempdir()}/gauntlet-scratch-ab_1x/cache", "/tmp/cache"),
        (f"{tempfile.gettempdir()}/gauntlet-ab_1x/referee.sock", "referee.sock"),
        (f"{sys.executable}: can't open file '{HOME}/mian.py'", "python: can't open file 'mian.py'"),
        (f"{sys.prefix}/lib/python3.11/site-packages/x.py", "lib/python3.11/site-packages/x.py"),
        ("/srv/legacy/lib/python3.11/site-packages/x.py", "lib/python3.11/site-packages/x.py"),
        ("nothing of the kind, 3/4", "nothing of the kind, 3/4"),
    ],
)
def test_paths_of_this_host_are_shortened_and_other_text_stays(text: str, shown: str) -> None:
    assert HostPaths(HOME).shorten(text) == shown


def test_the_sdk_is_named_from_its_top() -> None:
    shown = HostPaths(HOME).shorten(f"{state_directory('sdk')}/0a1b2c3d/gauntlet/model.py")
    assert shown == "gauntlet/model.py"
    modules = state_directory("legacy-modules")
    assert HostPaths(HOME).shorten(f"{modules}/0a1b2c3d/avc2018/session.py") == "avc2018/session.py"
