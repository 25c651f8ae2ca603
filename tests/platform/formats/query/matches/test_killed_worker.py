"""A worker killed during a piece: another one takes over, and nothing is lost, doubled or left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from competitions.models import RulesVersion, SampleSet
from core import clock
from evaluation.sandbox.process_register import MARK
from formats.query.matches.models import Match, Piece, SampleResult
from submissions.models import Player
from tests.platform.formats.query.matches.whole_match import ensure_match
from tests.platform.other_process import database_url
from workers.models import Worker
from workers.sandboxes import open_sandbox

PLAY = "import django; django.setup(); from workers.tasks import play; play()"


@pytest.fixture
def elsewhere(root: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker in another process, with this test's database and files."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database_url(),
        "GAUNTLET_STATE": str(tmp_path),
        "GAUNTLET_SANDBOX": "process",
        "GAUNTLET_WORKER_NAME": "doomed",
        "GAUNTLET_BROKER": f"filesystem://{tmp_path}/broker",
    }
    process = subprocess.Popen([sys.executable, "-c", PLAY], cwd=root, env=environment, stderr=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def players_of(pid: int) -> list[int]:
    """Return the processes with the mark of a sandbox that descend from `pid`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            marked = f"{MARK}=".encode() in (entry / "environ").read_bytes()
        except OSError:
            continue
        if marked and parent == pid:
            found.append(int(entry.name))
    return found


def wait_for(what: str, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.05)


@pytest.fixture
def slow_match(
    transactional_db: None,
    rules: RulesVersion,
    sample_sets: dict[str, SampleSet],
    model: Player,
    commit: Callable[[str, str], Player],
) -> Match:
    slow = commit("untargeted", "site/attack-slow")
    return ensure_match(rules=rules, sample_set=sample_sets["validation"], model=model, attack=slow)


def rows_of(match: Match) -> list[tuple[object, ...]]:
    return list(match.sample_results.order_by("sample").values_list("sample", "outcome", "distance", "queries"))


@pytest.mark.slow(10)
@pytest.mark.django_db(transaction=True)
def test_another_worker_finishes_the_match(
    slow_match: Match,
    elsewhere: subprocess.Popen[bytes],
    make_worker: Callable[..., Worker],
    let_play: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    match, sandbox = slow_match, open_sandbox()
    wait_for("a first piece", match.pieces.filter(state="played").exists)
    wait_for("a second piece", match.pieces.filter(state="claimed").exists)
    players = players_of(elsewhere.pid)
    assert players
    elsewhere.kill()
    elsewhere.wait()
    held = match.pieces.get(state="claimed")
    assert (held.number, SampleResult.objects.count()) == (1, 2)
    # its players end with it, and what they leave on disk is swept
    wait_for("the end of its players", lambda: not any(Path(f"/proc/{pid}/environ").exists() for pid in players))
    assert sandbox.sweep() in (2, 3)  # the third is the next piece's attack, started in advance

    lease = held.lease_until
    assert lease is not None
    monkeypatch.setattr(clock, "database_now", lambda: lease + timedelta(seconds=1))
    let_play(make_worker("heir"))
    match.refresh_from_db()
    assert match.state == "played"
    assert list(match.pieces.values_list("fence", "faults")) == [(1, 0), (2, 1), (1, 0)]
    assert SampleResult.objects.count() == 6
    disturbed = rows_of(match)

    match.delete()
    ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.attack)
    let_play(make_worker("undisturbed"))
    assert rows_of(Match.objects.get()) == disturbed
    assert not Piece.objects.exclude(state="played").exists()
