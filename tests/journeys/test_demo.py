"""End to end in separate processes: register over HTTP, push with git, build, play, and appear on a leaderboard."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest

from tests.journeys.sites import MakeSite, PlayedSeason, Site


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


def workers_of(site: Site) -> tuple[int, int]:
    """Return how many workers a site has had, and how many of them were stopped in order."""
    address = site.environment["DATABASE_URL"]
    connection = psycopg2.connect(address) if address else sqlite3.connect(site.state / "site.sqlite3")
    with closing(connection), closing(connection.cursor()) as cursor:
        cursor.execute("select count(*), count(stopped_at) from workers_worker")
        started, stopped = cursor.fetchone()
    return started, stopped


@pytest.mark.slow(90)
@pytest.mark.timeout(1200)
def test_a_laptop_without_services_plays_it_until_a_process_of_it_ends(
    make_site: MakeSite, board_rows: Callable[[str], list[str]], page: Callable[[str], str], tmp_path: Path
) -> None:
    """On SQLite and without Redis, behind a proxy; `test_compose` plays in the Docker sandbox."""
    site = make_site(DATABASE_URL="", GAUNTLET_BROKER="", http_proxy="http://127.0.0.1:9", NO_PROXY="example.org")
    process = site.start()

    # 1. a reader makes a first submission with the printed command while the virtual teams push
    welcome = lines_of(process, r"^\s*git clone ")
    parts = ["preparing the database", "starting the web server", "listens on", "participant", "git clone"]
    assert parts == sorted(parts, key=welcome.index)
    empty = tmp_path / "empty"
    empty.mkdir()
    command = welcome.splitlines()[-1].strip()
    pushed = subprocess.run(["bash", "-c", command], cwd=empty, capture_output=True, text=True, check=False)
    assert pushed.returncode == 0, pushed.stderr
    received = re.search(r"remote: .*Submission (\d+) received", pushed.stderr)
    assert received is not None, pushed.stderr

    # 2. everything gets its score
    output = lines_of(process, "Press Ctrl-C")
    assert "3 validation samples" in welcome
    assert output.count(" received: ") == 6
    assert output.index(" received: ") < output.index("Small Wrens, model: playing")
    for title in ("Models", "Untargeted attacks", "Targeted attacks"):
        assert title in output
    rows = board_rows(output)
    assert [row.split("│")[1].strip() for row in rows][:1] == ["Small Wrens"], "the perceptron beats its shaken copies"
    assert len(rows) == 7
    scored = re.search(rf"Your submission {received[1]}: scored \d+\.\d\d, rank \d\. (http\S+)$", output, re.MULTILINE)
    assert scored is not None, output
    assert scored[1].endswith(f"/submissions/{received[1]}")
    assert "My first attack" in page(scored[1])
    assert "Your team" in page(f"{site.url}/competitions/small/leaderboards/untargeted")

    # 3. without its worker it ends
    os.killpg(group_of_worker(process), signal.SIGKILL)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "the worker ended with status -9" in rest


@pytest.mark.slow(150)
@pytest.mark.timeout(2400)
def test_a_season_is_played_published_released_and_verified_and_a_restart_continues_where_it_was(
    make_site: MakeSite, season: PlayedSeason
) -> None:
    output = season.output
    started, stopped = workers_of(season.site)
    assert started == stopped > 0, "those that were stopped in order are not missed"
    pools = [int(number) for number in re.findall(r"^  model pool (\d+): ", output, re.MULTILINE)]
    assert len(pools) == 4, "two after each of two rounds"
    assert pools[3] > pools[1], f"the final made no new pool: {pools}"
    assert "The final is published" in output
    assert re.findall(r"validation set: (validation-\d), 3 images", output) == ["validation-2", "validation-3"]
    assert "the signature is valid, and its results follow from its rows" in output
    assert re.search(
        r"one bit changed in byte [\d,]+:\n.*it is damaged, missing, or that of another bundle", output, re.DOTALL
    )
    assert "The final, untargeted" in output

    again = make_site(like=season.site).run("--full")
    assert " received: " not in again, "nothing is pushed twice"
    assert "planned" not in again
    assert "released:" not in again
    assert "the signature is valid" in again
