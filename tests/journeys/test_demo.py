"""End to end in separate processes: register over HTTP, push with git, build, play, and appear on a leaderboard."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.sites import MakeSite, Undisturbed


def lines_of(process: subprocess.Popen[str], until: str) -> str:
    """Return the output of the process up to the first line in which the pattern `until` is found."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if re.search(until, line):
            return "".join(seen)
    raise AssertionError(f"it ended before it printed {until!r}:\n{''.join(seen)}")


def group_of_worker(process: subprocess.Popen[str]) -> int:
    """Return the process group of the worker that the demo `process` started."""
    children = subprocess.run(
        ["pgrep", "--parent", str(process.pid), "--full", "queues play"], capture_output=True, text=True, check=True
    )
    return os.getpgid(int(children.stdout.split()[0]))


@pytest.mark.slow(80)
@pytest.mark.timeout(1200)
def test_a_laptop_without_services_plays_it(undisturbed: Undisturbed, board_rows: Callable[[str], list[str]]) -> None:
    """On SQLite and without Redis; `test_compose` plays in the Docker sandbox."""
    output = undisturbed.output
    rows = board_rows(output)
    assert "6 validation samples" in output
    assert output.count(" received: ") == 6
    order = [
        "preparing the database",
        "starting the web server",
        "listens on",
        "participant",
        "git clone",
        " received: ",
    ]
    places = [output.index(text) for text in (*order, "Small Wrens, model: playing")]
    assert places == sorted(places), "the reader need not wait for the virtual teams"
    for title in ("Models", "Untargeted attacks", "Targeted attacks"):
        assert title in output
    assert [row.split("│")[1].strip() for row in rows][:1] == ["Small Wrens"], "the perceptron beats its shaken copies"
    assert len(rows) == 6
    with sqlite3.connect(next(undisturbed.site.state.glob("*.sqlite3"))) as database:
        workers = database.execute("SELECT count(*), count(stopped_at) FROM workers_worker").fetchone()
    assert workers[0] == workers[1] > 0, "those that were stopped in order are not missed"


@pytest.mark.slow(25)
@pytest.mark.timeout(1200)
def test_it_ends_with_its_worker_and_a_restart_continues_where_it_was(
    make_site: MakeSite, undisturbed: Undisturbed, board_rows: Callable[[str], list[str]]
) -> None:
    site = make_site(like=undisturbed.site)
    process = site.start()
    lines_of(process, r"^\s*git clone ")  # it is ready
    os.killpg(group_of_worker(process), signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "the worker ended with status -9" in output
    again = site.run()
    assert board_rows(again) == board_rows(undisturbed.output)
    assert " received: " not in again, "nothing is pushed twice"


@pytest.mark.slow(25)
@pytest.mark.timeout(1200)
def test_the_printed_command_makes_a_first_submission(
    make_site: MakeSite, undisturbed: Undisturbed, page: Callable[[str], str], tmp_path: Path
) -> None:
    site = make_site(like=undisturbed.site)
    process = site.start()
    command = lines_of(process, "git clone").splitlines()[-1].strip()
    empty = tmp_path / "empty"
    empty.mkdir()
    pushed = subprocess.run(["bash", "-c", command], cwd=empty, capture_output=True, text=True, check=False)
    assert pushed.returncode == 0, pushed.stderr
    assert re.search("remote: .*Submission 7 received", pushed.stderr)
    output = lines_of(process, "Your submission 7: scored").rstrip()
    scored = re.search(r"Your submission 7: scored \d+\.\d\d, rank \d\. (http\S+/submissions/7)$", output)
    assert scored is not None
    assert "My first attack" in page(scored[1])
    assert "Your team" in page(f"{site.url}/competitions/small/leaderboards/untargeted")


@pytest.mark.slow(150)
@pytest.mark.timeout(2400)
def test_a_season_is_played_published_released_and_verified(make_site: MakeSite, season: Undisturbed) -> None:
    output = season.output
    pools = [int(number) for number in re.findall(r"^  model pool (\d+): ", output, re.MULTILINE)]
    assert len(pools) == 4, "two after each of two rounds"
    assert pools[3] > pools[1], f"the final made no new pool: {pools}"
    assert "The final is published" in output
    assert re.findall(r"validation set: (validation-\d), 6 images", output) == ["validation-2", "validation-3"]
    assert "the signature is valid, and its results follow from its rows" in output
    assert re.search(
        r"one bit changed in byte [\d,]+:\n.*it is damaged, missing, or that of another bundle", output, re.DOTALL
    )
    assert "The final, untargeted" in output

    again = make_site(like=season.site).run("--full")
    assert "planned" not in again
    assert "released:" not in again
    assert "the signature is valid" in again
