"""Intervals and rank intervals of the transfer format on the site: leaderboards, rounds, API, CSV and bundles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from accounts.models import User
from competitions.models import Competition, RulesVersion
from competitions.sample_store import classes_of, samples_of
from competitions.services import import_competition
from core import object_store
from evaluation.formats.transfer.bundle.reader import read
from formats.transfer.rounds.round_advancement import frozen_tournament
from formats.transfer.rounds.round_as_engine_values import body_of, commitment_to_field, record_of
from formats.transfer.rounds.standings import differing as differing_rounds
from formats.transfer.tournaments import run_queue, services
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant, Tournament
from formats.transfer.tournaments.ranking import fill_intervals, rank
from formats.transfer.tournaments.score_intervals import ScoreInterval, intervals_from_sums
from formats.transfer.tournaments.selectors import current_entrants
from formats.transfer.tournaments.tournament_verification import differing
from rounds.formats import format_of
from rounds.models import Round
from submissions.models import Submission
from tests.evaluation.bundle.bodies import body_of as body_of_bundle
from tests.platform.conftest import FakeClock
from tests.platform.formats.transfer.tournaments.conftest import content
from tests.platform.formats.transfer.tournaments.pages.conftest import Send, attacked, result
from tests.platform.formats.transfer.tournaments.pages.test_boards import rows_of, text_of
from tests.platform.formats.transfer.tournaments.play_rounds import begin, plan
from tests.platform.formats.transfer.tournaments.results import claimed_runs, true_result

BOARD = "/competitions/transfer/leaderboards"
IMAGES = 24


@pytest.fixture
def transfer(db: None) -> Competition:
    """The competition with 24 images in each set, in six batches."""
    values = content()
    for each in values["sample_sets"]:
        each["count"] = IMAGES
    values["tracks"]["attack"]["baselines"] = []
    return import_competition(values)


@pytest.fixture
def sent(send: Send) -> dict[str, Submission]:
    """An attack and three defences."""
    names = {"owls": "Sharp", "bats": "Blunt", "cats": "Dull"}
    return {"attack": send("owls", "attack", "Brighter")} | {
        title: send(team, "defence", title) for team, title in names.items()
    }


def labelled(run: DefenceRun) -> dict[str, Any]:
    """Return a result by the labels: `Sharp` is always right, `Blunt` on three of four images, `Dull` on one."""
    tournament = run.attack_run.tournament
    truth = classes_of(tournament.sample_set)[0][4 * run.attack_run.batch :][: run.attack_run.images]
    right = {"Sharp": 4, "Blunt": 3, "Dull": 1}[run.defence.title]
    labels = [label if place < right else (label + 1) % 10 for place, label in enumerate(truth)]
    return {
        "seconds": 3.0, "calibration": 1.0, "labelled": len(labels), "correct": right, "hits": 0, "labels": labels,
    }  # fmt: skip


def play(tournament: Tournament) -> None:
    """Play everything."""
    for run in claimed_runs(tournament):
        if isinstance(run, DefenceRun):
            run_queue.commit(run, labelled(run))
        elif isinstance(run, AttackRun):
            run_queue.commit(run, complete(run))
        else:
            run_queue.commit(run, result(run))


def complete(run: AttackRun) -> dict[str, Any]:
    return attacked(run) | {"made": run.images, "hashes": ["a" * 64] * run.images, "reason": "", "notes": {}}


@pytest.fixture
def played(transfer: Competition, sent: dict[str, Submission]) -> Tournament:
    """The tournament, with every run played."""
    tournament = services.make_tournament(transfer)
    play(tournament)
    return tournament


def test_labels_and_targets_are_read_without_the_images(transfer: Competition) -> None:
    sample_set = transfer.sample_sets.get(name="validation")
    samples = samples_of(sample_set)
    assert classes_of(sample_set) == (
        tuple(sample.label for sample in samples), tuple(sample.target for sample in samples)
    )  # fmt: skip


def test_a_leaderboard_shows_intervals_and_what_they_separate(client: Client, played: Tournament) -> None:
    page = text_of(client, f"{BOARD}/defence")
    for text in (
        "95 % interval",
        "75 %</text>",
        "(1)</span>",
        "(2)</span>",
        "(3)</span>",
        "86.2 to 100.0",
        "With 24 images, scores closer than about 25.0 percentage",
    ):
        assert text in page
    rows = client.get("/api/v1/competitions/transfer/leaderboards/defence").json()["rows"]
    assert [(row["score"], row["rank_low"], row["rank_high"]) for row in rows] == [
        (1.0, 1, 1), (0.75, 2, 2), (0.25, 3, 3),
    ]  # fmt: skip
    assert all(row["low"] <= row["score"] <= row["high"] for row in rows)
    assert rows[0]["high"] == 1.0 > rows[0]["low"]
    first = rows_of(client, f"{BOARD}/defence.csv")[0]
    assert (first["rank"], first["rank_low"], first["rank_high"]) == ("1", "1", "1")
    assert (float(first["low"]), float(first["high"])) == (rows[0]["low"], rows[0]["high"])


def test_cells_of_the_matrix_and_pairs_have_intervals(
    client: Client, played: Tournament, sent: dict[str, Submission]
) -> None:
    matrix = "/competitions/transfer/matrix/attack"
    blunt = rows_of(client, f"{matrix}.csv")[1]
    # 6 of 24, Wilson 1927
    assert (blunt["defence"], blunt["share"], blunt["low"], blunt["high"]) == ("Blunt", "0.25", "0.119994", "0.448994")
    assert "95 %: 12\N{EN DASH}45" in text_of(client, matrix)
    pair = f"/competitions/transfer/pairs/{sent['attack'].player_id}/{sent['Blunt'].player_id}"
    assert "12.0 to 44.9 %" in text_of(client, pair)


def test_entrants_with_the_same_player_take_a_rank_each_in_intervals(
    played: Tournament, send: Send, sent: dict[str, Submission]
) -> None:
    copied = send("newts", "defence", "Sharp")
    copied.player = sent["Sharp"].player
    copied.save()
    play(played)
    rows = Entrant.objects.filter(tournament=played, track__name="defence", left_at=None).order_by("rank", "pk")
    assert list(rows.values_list("rank", "rank_low", "rank_high")) == [(1, 1, 2), (1, 1, 2), (3, 3, 3), (4, 4, 4)]


def test_intervals_are_verified_and_computed_for_older_standings(played: Tournament) -> None:
    assert list(differing(played)) == []
    entrants = Entrant.objects.filter(tournament=played)
    entrants.filter(player__title="Sharp").update(low=0.5)
    (found,) = differing(played)
    assert "low is 0.5 and should be" in found.problem
    entrants.update(low=None, high=None, rank_low=None, rank_high=None)
    assert list(differing(played)) == []  # they follow after a ranking
    services.advance(played)  # the next step of the site
    assert list(differing(played)) == []


def test_intervals_do_not_depend_on_the_ranks_before(transfer: Competition, send: Send) -> None:
    """Sums of the same floating-point numbers in another order differ in their last bits."""
    RulesVersion.objects.update(values=transfer.rules_versions.get().values | {"epsilons": [8]})  # nothing is drawn
    for number in range(6):
        send(f"owls-{number}", "attack", f"Attack {number}")
        send(f"bats-{number}", "defence", f"Defence {number}")
    tournament = services.make_tournament(transfer)
    for run in claimed_runs(tournament):
        run_queue.commit(run, true_result(run))
    fill_intervals(tournament)
    entrants = tournament.entrants.order_by("pk")
    written = list(entrants.values())
    assert len(written) == 12
    assert list(differing(tournament)) == []
    entrants.update(rank=100 - F("rank"))
    rank(tournament)
    fill_intervals(tournament)
    assert list(entrants.values()) == written


def test_intervals_are_not_written_to_standings_that_changed_meanwhile(
    played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    entrants = current_entrants(played)

    def compute_while_ranked(*given: Any) -> dict[str, ScoreInterval]:
        entrants.update(raw=1)
        return intervals_from_sums(*given)

    entrants.update(low=None)
    monkeypatch.setattr("formats.transfer.tournaments.ranking.intervals_from_sums", compute_while_ranked)
    fill_intervals(played)
    assert not entrants.filter(low__isnull=False).exists()
    monkeypatch.undo()
    rank(played)
    fill_intervals(played)
    assert not entrants.filter(low__isnull=True).exists()


def test_labels_of_another_number_of_images_are_a_fault(played: Tournament) -> None:
    run = DefenceRun.objects.filter(attack_run__tournament=played).first()
    assert run is not None
    run.labels = run.labels[:-1]
    run.save()
    assert any("cannot be computed" in each.problem for each in differing(played))


@pytest.fixture
def scored(transfer: Competition, sent: dict[str, Submission], olga: User, the_clock: FakeClock) -> Round:
    """A round of all four, scored."""
    the_clock.at = timezone.now()
    round_ = plan(transfer, olga, samples=IMAGES)
    begin(round_, olga, the_clock)
    play(frozen_tournament(round_))
    format_of(round_).advance(round_)
    round_.refresh_from_db()
    assert round_.state == Round.State.SCORED
    return round_


def test_a_round_has_intervals_in_its_standings_and_its_bundle(scored: Round) -> None:
    rows = list(scored.entries.filter(track__name="defence").order_by("place"))
    assert [(row.place, row.rank_low, row.rank_high) for row in rows] == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]
    lines = [each.line for each in read(body_of_bundle(object_store.get(scored.outcome))).standings]
    assert [(line["low"], line["high"]) for line in lines if line["track"] == "defence"] == [
        (row.low, row.high) for row in rows
    ]
    assert list(differing_rounds(scored)) == []


def test_a_round_of_an_older_version_is_still_verified(scored: Round) -> None:
    tournament, entries = frozen_tournament(scored), list(scored.entries.order_by("order"))
    scored.bundle_format = 2
    scored.field_commitment = commitment_to_field(scored, entries, tournament, scored.field_salt)
    record = record_of(scored, entries, tournament, version=1)
    scored.outcome = object_store.put_open(body_of(scored, record))
    scored.save()
    nothing = dict.fromkeys(("low", "high", "rank_low", "rank_high"))
    scored.entries.update(**nothing)
    tournament.entrants.update(**nothing)
    assert list(differing_rounds(scored)) == []
    newest = record_of(scored, entries, tournament)
    assert (newest.head.version, replace(newest, head=record.head)) == (3, record)
    scored.entries.filter(place=1).update(low=0.5)
    assert any("low is 0.5 and should be None" in each.problem for each in differing_rounds(scored))


def test_an_outcome_that_is_missing_is_named(scored: Round) -> None:
    scored.outcome = "f" * 64
    scored.save()
    assert any(f"its outcome is {'f' * 64} and should be" in each.problem for each in differing_rounds(scored))
