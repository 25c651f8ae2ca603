"""Selectors of rounds, in a number of queries that does not grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from formats.query.matches.models import Match
from formats.query.rounds.cost_estimate import estimate
from formats.query.rounds.models import Decision, RoundStage
from formats.query.rounds.preview import preview
from formats.query.rounds.progress import progress
from formats.query.rounds.round_advancement import advance_round
from formats.query.rounds.stages_and_decisions import stages, standings_and_stages
from rounds import selectors
from rounds.models import Round, RoundEntry
from rounds.planning.freeze import freeze
from rounds.running import lifecycle
from submissions.models import Submission

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import RoundFixture


@pytest.fixture
def scored(env: RoundFixture) -> Round:
    """A round of twelve models, four attacks and two targeted ones, played to its end."""
    env.field(12, 4, 2)
    return env.scored(env.plan(samples=8))


def test_standings(scored: Round) -> None:
    Submission.objects.filter(title="mo-1 1").update(state="withdrawn")
    rows = selectors.standings(scored)
    assert [row.place for row in rows["model"]] == list(range(1, 13))
    best, second = rows["model"][:2]
    assert (best.team, best.title, best.gone, second.gone) == ("Mo-0", "mo-0 0", "", "withdrawn")
    assert best.value is not None
    assert rows["model"][-1].value is None
    assert [row.team_slug for row in rows["targeted"]] == ["ta-0", "ta-1"]


def test_stages(scored: Round) -> None:
    main, targeted = stages(scored)
    assert (main.track_name, targeted.track_name) == ("untargeted", "targeted")
    first, last = main.stages[0], main.stages[-1]
    assert (len(first.models), len(first.attacks), len(last.models)) == (12, 4, 10)
    assert [line.name.title for line in first.models if not line.kept] == ["mo-10 10", "mo-11 11"]
    assert first.panel_models[0].teams[0].startswith("Mo-")
    assert last.ordered_by == "median"
    assert {line.name.title for line in targeted.stages[-1].attacks} == {"ta-0 0", "ta-1 1"}


def test_progress_and_estimate(env: RoundFixture) -> None:
    env.field(4, 4)
    round_ = env.plan(samples=8)
    before = estimate(round_)
    assert (before.triples_most, before.hours, before.disk_bytes, before.workers) == (4 * 4 * 8, None, None, 0)
    env.begin(round_)
    advance_round(round_)
    seen = progress(round_)
    assert (seen.done, seen.left, seen.matches, list(seen.faults)) == (0, 128, 16, [])
    env.play()
    seen = progress(round_)
    assert (seen.done, seen.left) == (128, 0)
    measured = estimate(round_)
    assert measured.hours == pytest.approx(128 * 0.5 / 3600)  # one worker, half a second for a sample
    assert measured.disk_bytes == 16 * len(b"the images of a piece")
    env.clock.forward(days=1)
    assert estimate(round_).hours is None


def test_an_estimate_without_a_side_is_nothing(env: RoundFixture) -> None:
    env.field(4, 0)
    assert estimate(env.plan()).triples_most == 0


def big(env: RoundFixture, side: int) -> Round:
    """A published round of `side` models and attacks with five stages, as rows alone."""
    env.field(side, side)
    round_ = env.plan()
    env.clock.at = round_.window.starts_at
    freeze(round_=round_)
    entries = list(round_.entries.select_related("player", "track"))
    for entry in entries:
        entry.place, entry.stage = int(entry.player.digest[-8:]) + 1, 5
    RoundEntry.objects.bulk_update(entries, ["place", "stage"])
    everybody = {
        "models": [entry.player.digest for entry in entries if entry.track.name == "model"][:5],
        "attacks": [entry.player.digest for entry in entries if entry.track.name == "untargeted"][:5],
    }
    for number in range(1, 6):
        stage = RoundStage.objects.create(
            round=round_, bracket="untargeted", number=number, samples=8, ordered_by="mean_rank",
            panel=everybody, counted=everybody, loop=1, renewed=False,
        )  # fmt: skip
        Decision.objects.bulk_create(
            Decision(stage=stage, track=entry.track, player=entry.player, place=entry.place or 0, value=1.0, kept=True)
            for entry in entries
        )
    Round.objects.filter(pk=round_.pk).update(state="scored")
    round_.refresh_from_db()
    return round_


def test_the_page_of_a_round_reads_its_entries_once(env: RoundFixture) -> None:
    round_ = Round.objects.select_related("competition").get(pk=big(env, 30).pk)
    with CaptureQueriesContext(connection) as queries:
        rows, brackets = standings_and_stages(round_)
    assert [query["sql"].count('rounds_roundentry" INNER') for query in queries].count(1) == 1
    assert len(queries) == 3
    assert (rows, brackets) == (selectors.standings(round_), stages(round_))


def test_queries_do_not_grow_with_the_field(env: RoundFixture) -> None:
    taken = []
    for side in (2, 30):
        round_ = big(env, side)
        with CaptureQueriesContext(connection) as queries:
            assert len(selectors.standings(round_)["model"]) == side
            assert len(stages(round_)[0].stages[0].models) == side
            assert len(preview(round_)[0].rows) == side
            progress(round_)
            estimate(round_)
        taken.append(len(queries))
        lifecycle.cancel(round_=round_, by=env.organiser, reason="only counted")
        Submission.objects.all().update(state="withdrawn")
        assert not Match.objects.exists()
    assert taken[0] == taken[1] < 40
