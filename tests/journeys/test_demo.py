"""End to end in separate processes: register over HTTP, push with git, build, play, and appear on a leaderboard."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def lines_of(process: subprocess.Popen[str], until: str) -> str:
    """Return the output of the process up to the line that contains `until`."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if until in line:
            return "".join(seen)
    raise AssertionError(f"it ended before it printed {until!r}:\n{''.join(seen)}")


def group_of_player(process: subprocess.Popen[str]) -> int:
    """Return the process group of the player that the demo `process` started."""
    children = subprocess.run(
        ["pgrep", "--parent", str(process.pid), "--full", "queues play"], capture_output=True, text=True, check=True
    )
    return os.getpgid(int(children.stdout.split()[0]))


def test_it_works(make_site: Callable[..., Any], board_rows: Callable[[str], list[str]]) -> None:
    output = make_site().run()
    rows = board_rows(output)
    assert "6 validation samples" in output
    assert output.count("is received") == 7
    for title in ("Models", "Untargeted attacks", "Targeted attacks"):
        assert title in output
    assert [row.split("│")[1].strip() for row in rows][:1] == ["Small Wrens"], "the perceptron beats its shaken copies"
    assert len(rows) == 7


def test_a_restart_continues_where_it_was(
    make_site: Callable[..., Any], board_rows: Callable[[str], list[str]]
) -> None:
    site = make_site()
    first = site.run()
    again = site.run()
    assert board_rows(again) == board_rows(first)
    assert "is received" not in again, "nothing is pushed twice"


def test_a_killed_worker_and_an_emptied_broker_change_no_score(
    make_site: Callable[..., Any],
    board_rows: Callable[[str], list[str]],
) -> None:
    undisturbed = board_rows(make_site().run())
    site = make_site()
    process = site.start("--exit")
    lines_of(process, "untargeted: ")  # a first score: others are in mid-evaluation
    os.killpg(group_of_player(process), signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "the player ended with status -9" in output
    site.empty_broker()
    assert board_rows(site.run()) == undisturbed


def test_the_printed_command_makes_a_first_submission(
    make_site: Callable[..., Any], page: Callable[[str], str], tmp_path: Path
) -> None:
    site = make_site()
    process = site.start()
    command = lines_of(process, "git clone").splitlines()[-1].strip()
    empty = tmp_path / "empty"
    empty.mkdir()
    pushed = subprocess.run(["bash", "-c", command], cwd=empty, capture_output=True, text=True, check=False, timeout=60)
    assert pushed.returncode == 0, pushed.stderr
    assert re.search("remote: .*Submission 8 is received", pushed.stderr)
    output = lines_of(process, "Your submission 8: scored").rstrip()
    scored = re.search(r"Your submission 8: scored \d+\.\d\d, rank \d\. (http\S+/submissions/8)$", output)
    assert scored is not None
    assert "My first attack" in page(scored[1])
    assert "Your team" in page(f"{site.url}/competitions/small/leaderboards/untargeted")


@pytest.mark.timeout(600)
def test_a_season_is_played_published_released_and_verified(make_site: Callable[..., Any]) -> None:
    site = make_site()
    output = site.run("--full", seconds=500)
    before, after = (re.search(rf"^  model pool {number}: (.*)$", output, re.MULTILINE) for number in (1, 2))
    assert before is not None
    assert after is not None
    assert before[1] != after[1], "the round made no new pool"
    assert "The final is published" in output
    assert re.findall(r"validation set: (validation-\d), 6 images", output) == ["validation-2", "validation-3"]
    assert "is what was signed, and its results follow from its rows" in output
    forged = re.search(r"one digit changed in line (\d+)", output)
    assert forged is not None
    assert f"line {forged[1]}: it is not the line that was signed" in output
    assert "The final, untargeted" in output

    again = site.run("--full")
    assert "planned" not in again
    assert "released:" not in again
    assert "is what was signed" in again


@pytest.mark.docker
def test_it_works_with_docker(make_site: Callable[..., Any], board_rows: Callable[[str], list[str]]) -> None:
    assert len(board_rows(make_site(GAUNTLET_SANDBOX="docker").run())) == 7
