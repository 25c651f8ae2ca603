"""Fifty pushes in a minute to a site with a busy worker: the time until a submission is queued."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.interleaved import say
from bench.programs import ROOT
from bench.report import Section, table
from bench.sizes import sized
from demo.git_push import push_copy
from demo.supervisor import SiteSupervisor
from demo.virtual_teams import Change
from demo.web_client import WebClient

TEAMS = sized(10, smallest=2)
PUSHES_EACH = sized(5, smallest=1)
BARE_PUSHES = sized(10, smallest=2)
MINUTE = sized(60.0, smallest=1.0)
LIKE = "numpy-classifier"
COMPETITION = ROOT / "tests" / "journeys" / "small.toml"


def measure() -> Section:
    """Push five submissions from each of ten teams, evenly over a minute, each with a whole `git push`."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        bare = _bare_pushes(Path(folder) / "bare")
        state = Path(folder) / "state"
        os.environ |= {"GAUNTLET_STATE": str(state), "GAUNTLET_SANDBOX": "process", "DATABASE_URL": ""}
        create_site(COMPETITION)
        site = SiteSupervisor(port=free_port(), processes=os.cpu_count() or 1, logs=state / "logs")
        try:
            sized(site.start, smallest=site.start_web)()
            seconds = _pushes(_addresses(site.url))
        finally:
            site.stop()
    p95 = statistics.quantiles(seconds, n=20)[-1]
    rows = [
        ["a bare `git push` to a folder", f"{statistics.median(bare):.2f} s", f"{max(bare):.2f} s", "1.0"],
        [
            "a push until it is queued",
            f"{statistics.median(seconds):.2f} s",
            f"{p95:.2f} s",
            f"{statistics.median(seconds) / statistics.median(bare):.1f}",
        ],
    ]
    lines = [
        *table([f"{len(seconds)} pushes in a minute, worker busy", "median", "95th percentile", "to bare"], rows),
        "",
        *table(["", "target", "measured"], [["95th percentile of a push until it is queued", "< 2 s", f"{p95:.2f} s"]]),
    ]
    return Section("Pushes", lines)


def _addresses(url: str) -> list[str]:
    addresses = []
    for number in range(TEAMS):
        web_client = WebClient(url)
        web_client.register(f"team-{number}", f"a long enough password {number}")
        web_client.make_team("small", f"team-{number}", f"Team {number}")
        token = web_client.make_token("git")
        addresses.append(url.replace("://", f"://team-{number}:{token}@") + f"/git/team-{number}/model.git")
    return addresses


def _pushes(addresses: list[str]) -> list[float]:
    """Return the seconds of each push. Each commit differs from all others, so every push is a submission."""
    seconds: list[float] = []

    def push(number: int) -> None:
        # histories are unrelated, so a branch would not fast-forward: push only the tag
        tag = f"submission-{number // TEAMS}"
        seconds.append(_push(addresses[number % TEAMS], number, tag))

    threads = [threading.Thread(target=push, args=(number,)) for number in range(TEAMS * PUSHES_EACH)]
    begun = time.monotonic()
    for number, thread in enumerate(threads):
        time.sleep(max(0.0, begun + number * MINUTE / len(threads) - time.monotonic()))
        thread.start()
    for thread in threads:
        thread.join()
    if len(seconds) != len(threads):
        raise RuntimeError(f"{len(threads) - len(seconds)} pushes were rejected")
    say(f"pushes: {len(seconds)} accepted")
    return seconds


def _push(address: str, number: int, tag: str) -> float:
    change = Change("README.md", "# ", f"# {number} ")
    return push_copy(LIKE, address, author="bench", changes=(change,), tag=tag, branch=None).seconds


def _bare_pushes(folder: Path) -> list[float]:
    subprocess.run(["git", "init", "--quiet", "--bare", str(folder)], check=True)
    return [_push(str(folder), number, f"submission-{number}") for number in range(BARE_PUSHES)]


def create_site(*competitions: Path) -> None:
    """Fill the state folder of the environment with tables, static files and competitions, in one process."""
    subprocess.run([sys.executable, "-m", "bench.new_site", *map(str, competitions)], cwd=ROOT, check=True)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
