"""Who counts on a leaderboard of the transfer format, and when."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from competitions.models import Competition, RulesVersion
from core import clock
from formats.transfer.api import TransferApi
from formats.transfer.tournaments import run_queue, services
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Run, Tournament
from formats.transfer.tournaments.run_work import runs
from formats.transfer.tournaments.selectors import current_entrants
from submissions.models import Submission
from tests.platform.claims import claim_run, take_run
from tests.platform.formats.transfer.tournaments.conftest import CHECKSUM, COPY
from tests.platform.formats.transfer.tournaments.results import commit_all, result

Submit = Callable[..., Submission]


@pytest.fixture
def tournament(transfer: Competition) -> Tournament:
    """The leaderboard's, without baselines."""
    transfer.tracks.update(baselines=[])
    return services.make_tournament(transfer)


def counting(tournament: Tournament) -> set[str]:
    return {entrant.player.title for entrant in current_entrants(tournament)}


def test_submissions_that_met_everybody_are_scored_over_all_batches(tournament: Tournament, submit: Submit) -> None:
    attack, defence = submit("owls", "attack", COPY), submit("bats", "defence", CHECKSUM)
    assert commit_all(tournament, share=0.5) == 4
    rows = {row.submission_id: row for row in current_entrants(tournament)}
    assert set(rows) == {attack.pk, defence.pk}
    # six images in batches of four and two, half of each labelled right
    assert [(row.score, row.raw, row.worst, row.rank) for row in rows.values()] == [(0.5, 3, 0.5, 1)] * 2


def test_a_new_submission_replaces_the_old_one_when_it_has_met_everybody(
    tournament: Tournament, submit: Submit
) -> None:
    submit("bats", "defence", CHECKSUM)
    old = submit("owls", "attack", COPY)
    commit_all(tournament)
    new = submit("owls", "attack", f"{COPY}\n# the second version")
    services.advance(tournament)
    for _ in range(3):  # both batches of the attack, and one of the two that the defence labels
        run = claim_run("worker")
        assert run is not None
        run_queue.commit(run, result(run))
        services.advance(tournament)
        assert old.title in counting(tournament)
        assert new.title not in counting(tournament)
    commit_all(tournament)
    assert new.title in counting(tournament)
    assert old.title not in counting(tournament)


def test_a_withdrawn_submission_leaves_and_the_one_before_returns(tournament: Tournament, submit: Submit) -> None:
    submit("bats", "defence", CHECKSUM)
    old, new = submit("owls", "attack", COPY), submit("owls", "attack", f"{COPY}\n# the second version")
    commit_all(tournament)
    Submission.objects.filter(pk=new.pk).update(state=Submission.State.WITHDRAWN)
    commit_all(tournament)
    assert new.title not in counting(tournament)
    assert old.title in counting(tournament)


def test_a_disqualified_submission_no_longer_counts_for_its_opponents(tournament: Tournament, submit: Submit) -> None:
    defence = submit("bats", "defence", CHECKSUM)
    attack = submit("owls", "attack", COPY)
    commit_all(tournament)
    Submission.objects.filter(pk=attack.pk).update(disqualified_at=clock.now())
    commit_all(tournament)
    row = current_entrants(tournament).get()
    assert (row.submission_id, row.score, row.rank) == (defence.pk, None, None)


def test_an_attack_without_an_image_is_given_to_no_defence(tournament: Tournament, submit: Submit) -> None:
    defence, attack = submit("bats", "defence", CHECKSUM), submit("owls", "attack", COPY)
    services.advance(tournament)
    while (run := take_run()) is not None:
        run_queue.commit(run, result(run) | {"made": 0, "hashes": []})
        services.advance(tournament)
    assert not DefenceRun.objects.exists()
    rows = {row.submission_id: row for row in current_entrants(tournament)}
    assert rows[attack.pk].score == 0.0
    assert rows[attack.pk].coverage == 0.0
    assert rows[defence.pk].score is None  # nobody attacked it


def test_equal_content_of_two_teams_runs_once_and_both_count(tournament: Tournament, submit: Submit) -> None:
    submit("bats", "defence", CHECKSUM)
    first, second = submit("owls", "attack", COPY), submit("rats", "attack", COPY)
    assert commit_all(tournament) == 4
    rows = {row.submission_id: row for row in current_entrants(tournament)}
    assert rows[first.pk].score == rows[second.pk].score == 0.0
    assert rows[first.pk].rank == rows[second.pk].rank == 1


def test_new_rules_begin_a_new_tournament(tournament: Tournament, transfer: Competition, submit: Submit) -> None:
    submit("bats", "defence", CHECKSUM)
    submit("owls", "attack", COPY)
    commit_all(tournament)
    before = RulesVersion.objects.get(competition=transfer)
    RulesVersion.objects.create(
        competition=transfer, version=2, values=before.values | {"epsilons": [4]}, created_at=clock.now()
    )
    renewed = services.make_tournament(transfer)
    assert renewed != tournament
    assert commit_all(renewed) == 4
    assert set(AttackRun.objects.filter(tournament=renewed).values_list("epsilon", flat=True)) == {4}
    assert len(counting(renewed)) == len(counting(tournament)) == 2


def test_a_run_that_was_given_up_keeps_its_submission_out(tournament: Tournament, submit: Submit) -> None:
    submit("bats", "defence", CHECKSUM)
    commit_all(tournament)
    attack = submit("owls", "attack", COPY)
    services.advance(tournament)
    AttackRun.objects.filter(batch=0).update(state=Run.State.FAILED)
    commit_all(tournament)
    assert attack.title not in counting(tournament)
    waiting = TransferApi().progress(attack, inside=True)
    assert (waiting.final, waiting.score) == (True, None)
    assert "given up after platform errors" in waiting.problem
    runs.replay(AttackRun.objects.get(state=Run.State.FAILED), None)
    waiting = TransferApi().progress(attack, inside=True)
    assert (waiting.final, waiting.problem) == (False, "")
    commit_all(tournament)
    assert attack.title in counting(tournament)
    assert TransferApi().progress(attack, inside=True).score is not None


def test_a_given_up_run_against_a_newcomer_does_not_hold_up_another_one(tournament: Tournament, submit: Submit) -> None:
    submit("bats", "defence", CHECKSUM)
    attack = submit("owls", "attack", COPY)
    commit_all(tournament)
    late = submit("crows", "defence", CHECKSUM)
    services.advance(tournament)
    own = DefenceRun.objects.filter(defence=late.player)
    assert own.exists()
    own.update(state=Run.State.FAILED)
    assert TransferApi().progress(late, inside=True).final
    assert TransferApi().progress(attack, inside=True).problem == ""


def test_advancing_again_changes_nothing(tournament: Tournament, submit: Submit) -> None:
    submit("bats", "defence", CHECKSUM)
    submit("owls", "attack", COPY)
    commit_all(tournament)
    before = list(tournament.entrants.values())
    services.advance(tournament)
    assert list(tournament.entrants.values()) == before


def test_baselines_are_built_once_and_take_part(transfer: Competition, submit: Submit) -> None:
    submit("bats", "defence", CHECKSUM)
    assert (services.make_baselines(), services.make_baselines()) == (1, 0)
    tournament = services.make_tournament(transfer)
    commit_all(tournament)
    assert "noop" in counting(tournament)
    transfer.tracks.update(baselines=[])  # the organisers remove it
    services.advance(tournament)
    assert "noop" not in counting(tournament)
