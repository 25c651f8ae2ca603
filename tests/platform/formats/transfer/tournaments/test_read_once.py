"""What one run reads: rules once, and the files of a submission once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from competitions.models import Competition
from formats.transfer.tournaments import engine_runs, run_queue, services
from formats.transfer.tournaments.models import AttackRun, DefenceRun, RepeatRun
from submissions.models import Submission
from tests.platform.claims import take_run
from tests.platform.formats.transfer.tournaments.conftest import CHECKSUM, COPY


@pytest.mark.parametrize("baselines", [[], ["noop"]])
def test_a_run_reads_its_rules_once_and_hashes_a_repository_once(
    transfer: Competition, push: Callable[..., Submission], reads: Counter[str], baselines: list[str]
) -> None:
    push("bats", "defence", CHECKSUM)
    transfer.tracks.filter(name="attack").update(baselines=baselines)
    if not baselines:
        push("owls", "attack", COPY)
    services.make_baselines()
    tournament = services.make_tournament(transfer)
    services.advance(tournament)
    played = set()
    while run := take_run():
        reads.clear()
        engine_runs.longest(run.tournament)
        run_queue.commit(run, engine_runs.play(run, threading.Event()))
        assert reads == {"rules": 1, "files": 1}, run
        played.add(type(run))
        services.advance(tournament)
    assert played == {AttackRun, DefenceRun, RepeatRun}
