"""Runs that nobody needs any more: of submissions that no longer take part, and of superseded leaderboards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import TestCase
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from competitions.models import Competition, RulesVersion, Track
from competitions.services import import_competition
from core import clock
from evaluation.domain.errors import StoppedError
from formats.transfer.tournaments import pair_totals, run_queue, run_requests, services, step_notifications, tasks
from formats.transfer.tournaments.extensions import playing_players
from formats.transfer.tournaments.models import AttackRun, DefenceRun, RepeatRun, Run, Tournament
from formats.transfer.tournaments.player_builds import baseline_player
from formats.transfer.tournaments.run_work import runs
from formats.transfer.tournaments.selectors import AnyRun, current_entrants, open_runs
from submissions.models import Player, Submission
from submissions.services import disqualify, reinstate, withdraw
from tests.platform.claims import claim_run, take_run
from tests.platform.formats.transfer.tournaments.conftest import CHECKSUM, COPY, content
from tests.platform.formats.transfer.tournaments.results import commit_all, result
from workers.lease import Heartbeat, LostClaimError

Submit = Callable[..., Submission]


@pytest.fixture
def tournament(transfer: Competition) -> Tournament:
    """The leaderboard's, without baselines."""
    transfer.tracks.update(baselines=[])
    return services.make_tournament(transfer)


def open_of(tournament: Tournament) -> tuple[int, int]:
    """The number of runs of attacks and of defences that may still be claimed."""
    return (
        open_runs(AttackRun).filter(tournament=tournament, state=Run.State.WAITING).count(),
        open_runs(DefenceRun).filter(attack_run__tournament=tournament, state=Run.State.WAITING).count(),
    )


def play_one() -> AnyRun:
    """Claim and commit the next run, without the step after it."""
    run = claim_run("worker")
    assert run is not None
    run_queue.commit(run, result(run))
    return run


def change_rules(competition: Competition, **values: object) -> RulesVersion:
    newest = competition.rules_versions.order_by("-version").first()
    assert newest is not None
    return RulesVersion.objects.create(
        competition=competition,
        version=newest.version + 1,
        values=newest.values | values,
        created_at=clock.now(),
    )


def test_a_disqualified_submission_is_run_no_more_until_it_is_reinstated(
    tournament: Tournament, submit: Submit, olga: User
) -> None:
    submit("bats", "defence", CHECKSUM)
    commit_all(tournament)
    attack = submit("owls", "attack", COPY)
    services.advance(tournament)
    play_one()
    services.advance(tournament)
    assert open_of(tournament) == (1, 1)
    disqualify(submission=attack, by=olga, reason="it is harmful")
    tasks.sweep()
    assert open_of(tournament) == (0, 0)
    assert claim_run("worker") is None
    reinstate(submission=attack, by=olga, reason="it is not")
    tasks.sweep()
    assert open_of(tournament) == (1, 1)
    commit_all(tournament)
    assert attack.pk in current_entrants(tournament).values_list("submission", flat=True)


def test_a_repeat_that_was_deleted_is_requested_again_under_its_number(
    tournament: Tournament, submit: Submit, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_requests, "repeats_due", lambda runs: 2)
    submit("owls", "attack", COPY)
    defence = submit("bats", "defence", CHECKSUM)
    held: list[RepeatRun] = []
    while len(held) < 2:
        services.advance(tournament)
        run = claim_run("worker")
        if isinstance(run, RepeatRun):
            held.append(run)
        elif run is not None:
            run_queue.commit(run, result(run))
    run_queue.commit(held[1], result(held[1]))
    disqualify(submission=defence, by=olga, reason="it is harmful")
    tasks.sweep()
    assert RepeatRun.objects.count() == 1
    reinstate(submission=defence, by=olga, reason="it is not")
    commit_all(tournament)
    assert sorted(RepeatRun.objects.values_list("number", "state")) == [(0, "played"), (1, "played")]


def test_a_run_of_a_withdrawn_attack_that_was_given_up_holds_up_no_repeat(
    tournament: Tournament, submit: Submit
) -> None:
    submit("owls", "attack", COPY)
    attack = submit("rats", "attack", f"{COPY}\n# of the rats")
    submit("bats", "defence", CHECKSUM)
    failed = DefenceRun.objects.filter(attack_run__attack=attack.player)
    while not failed.exists():
        services.advance(tournament)
        play_one()
    failed.update(state=Run.State.FAILED)
    withdraw(submission=attack, by=attack.submitted_by)
    commit_all(tournament)
    assert not failed.exists()
    assert RepeatRun.objects.get().state == Run.State.PLAYED


def test_a_withdrawn_defence_is_run_no_more(tournament: Tournament, submit: Submit) -> None:
    submit("owls", "attack", COPY)
    commit_all(tournament)
    defence = submit("bats", "defence", CHECKSUM)
    services.advance(tournament)
    assert open_of(tournament) == (0, 2)
    withdraw(submission=defence, by=defence.submitted_by)
    tasks.sweep()
    assert open_of(tournament) == (0, 0)


def test_the_runs_of_a_player_that_two_teams_share_stay_while_one_of_them_takes_part(
    tournament: Tournament, submit: Submit, olga: User
) -> None:
    submit("bats", "defence", CHECKSUM)
    commit_all(tournament)
    first, second = submit("owls", "attack", COPY), submit("rats", "attack", COPY)
    assert first.player == second.player
    services.advance(tournament)
    disqualify(submission=first, by=olga, reason="it is a copy")
    tasks.sweep()
    assert open_of(tournament) == (2, 0)
    disqualify(submission=second, by=olga, reason="it is the original")
    tasks.sweep()
    assert open_of(tournament) == (0, 0)


@pytest.mark.parametrize("step", [services.advance, services.follow_up])
def test_a_submission_is_run_no_more_once_the_next_one_has_replaced_it(
    tournament: Tournament, submit: Submit, step: Callable[[Tournament], None]
) -> None:
    submit("bats", "defence", CHECKSUM)
    owls = submit("owls", "attack", COPY)
    commit_all(tournament)
    submit("rats", "attack", f"{COPY}\n# of the rats")
    services.advance(tournament)
    play_one()
    play_one()
    newer = submit("bats", "defence", f"{CHECKSUM}\n# the second version")
    services.advance(tournament)
    assert open_of(tournament) == (0, 6)
    # the newer one meets the owls first, and nobody else is inside
    others = DefenceRun.objects.exclude(attack_run__attack=owls.player)
    others.update(paused_until=clock.database_now() + timedelta(hours=1))
    play_one()
    play_one()
    step(tournament)
    assert newer.pk in current_entrants(tournament).values_list("submission", flat=True)
    assert {run.defence for run in open_runs(DefenceRun).filter(state=Run.State.WAITING)} == {newer.player}


def test_a_run_that_a_worker_holds_is_stopped_at_the_next_heartbeat(
    tournament: Tournament, push: Submit, olga: User
) -> None:
    push("bats", "defence", CHECKSUM)
    attack = push("owls", "attack", "sleep 60")
    services.advance(tournament)
    held = claim_run("worker")
    assert held is not None
    heartbeat = Heartbeat(seconds=0.1)
    heartbeat.hold(held)
    heartbeat.beat()
    assert heartbeat.holds(held)
    disqualify(submission=attack, by=olga, reason="it never ends")
    tasks.sweep()
    heartbeat.beat()
    with (
        heartbeat,
        runs.session(held, heartbeat) as session,
        heartbeat.once_lost(held, session.stop),
        pytest.raises(StoppedError),
    ):
        session.play(held)
    assert not runs.release(held, fault="none")
    assert not AttackRun.objects.exists()


def test_a_superseded_leaderboard_ends_when_the_next_one_is_made(
    tournament: Tournament, transfer: Competition, submit: Submit
) -> None:
    submit("bats", "defence", CHECKSUM)
    submit("owls", "attack", COPY)
    services.advance(tournament)
    held = claim_run("worker")
    assert held is not None
    change_rules(transfer, epsilons=[4])
    tasks.sweep()
    renewed = Tournament.objects.exclude(pk=tournament.pk).get()
    with pytest.raises(LostClaimError):
        run_queue.commit(held, result(held))
    tasks.follow_up(tournament.pk)
    submit("rats", "attack", f"{COPY}\n# another one")
    services.advance(tournament)
    assert open_of(tournament) == (0, 0)
    assert AttackRun.objects.filter(tournament=tournament).count() == 2
    while (run := take_run()) is not None:
        assert run.tournament == renewed
        run_queue.commit(run, result(run))
        services.advance(renewed)
    assert current_entrants(renewed).count() == 3
    # what is left of the ended one keeps no image
    assert set(playing_players()) == {entrant.player for entrant in current_entrants(renewed)}


def test_a_leaderboard_goes_on_if_its_rules_come_into_force_again(
    tournament: Tournament, transfer: Competition, submit: Submit
) -> None:
    submit("bats", "defence", CHECKSUM)
    submit("owls", "attack", COPY)
    services.advance(tournament)
    play_one()
    newer = change_rules(transfer, epsilons=[4])
    other = services.make_tournament(transfer)
    RulesVersion.objects.filter(pk=newer.pk).update(version=0)  # the earlier version is in force again
    assert services.make_tournament(transfer) == tournament
    tournament.refresh_from_db()
    other.refresh_from_db()
    assert tournament.ended_at is None
    assert other.ended_at is not None
    assert commit_all(tournament) == 3
    assert current_entrants(tournament).count() == 2


def test_an_unexpected_error_stops_no_other_leaderboard(transfer: Competition, monkeypatch: pytest.MonkeyPatch) -> None:
    later = import_competition(content() | {"competition": content()["competition"] | {"slug": "later"}})
    services.make_baselines()
    make = services.make_tournament

    def fail_once(competition: Competition) -> Tournament:
        if competition == transfer:
            raise ValueError("not foreseen")
        return make(competition)

    monkeypatch.setattr(services, "make_tournament", fail_once)
    services.advance_all()
    assert [run.tournament.competition for run in AttackRun.objects.all()] == [later, later]


def test_an_unexpected_error_stops_no_other_baseline(transfer: Competition, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_once(track: Track, name: str, on_log: Callable[[str], None]) -> Player:
        if name == "noop":
            raise OSError("no space left on device")
        return baseline_player(track, name, on_log)

    monkeypatch.setattr("formats.transfer.tournaments.services.baseline_player", fail_once)
    transfer.tracks.filter(name="attack").update(baselines=["noop", "fgsm"])
    assert services.make_baselines() == 1


def test_a_sweep_has_baselines_built_by_a_builder_and_advances_meanwhile(
    tournament: Tournament,
    transfer: Competition,
    submit: Submit,
    notifications: list[tuple[str, dict[str, int]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submit("owls", "attack", COPY)
    transfer.tracks.filter(name="attack").update(baselines=["noop"])
    monkeypatch.setattr(tasks, "_notified_at", {})
    with TestCase.captureOnCommitCallbacks(execute=True):
        tasks.sweep()
        tasks.sweep()
    assert open_of(tournament) == (2, 0)
    assert [task for task, _ in notifications].count("tournaments.make_baselines") == 1
    assert not Player.objects.exclude(baseline="").exists()
    with TestCase.captureOnCommitCallbacks(execute=True):
        tasks.make_baselines()
    assert notifications[-1] == ("tournaments.sweep", {})
    assert Player.objects.exclude(baseline="").count() == 1


def test_a_commit_reads_only_the_runs_that_follow_from_it(tournament: Tournament, submit: Submit) -> None:
    """What a commit and its step read does not grow with the tournament."""
    for number in range(3):
        submit(f"bats-{number}", "defence", f"{CHECKSUM}\n# {number}")
        submit(f"owls-{number}", "attack", f"{COPY}\n# {number}")
    commit_all(tournament)
    submit("rats", "attack", f"{COPY}\n# of the rats")
    services.advance(tournament)
    own = set()
    while (run := take_run()) is not None:
        with CaptureQueriesContext(connection) as queries:
            run_queue.commit(run, result(run))
            step_notifications.announce(run)
            services.follow_up(tournament)
        own.add(run.pk if isinstance(run, AttackRun) else 0)
        of_runs = [each["sql"] for each in queries if 'FROM "tournaments_defencerun"' in each["sql"]]
        requests = [sql for sql in of_runs if any(f"IN ({key})" in sql for key in own)]
        assert [sql for sql in of_runs if sql not in requests and not sql.endswith("LIMIT 1")] == []
    assert current_entrants(tournament).count() == 7


def test_a_sweep_reads_no_played_run_of_a_defence(tournament: Tournament, submit: Submit) -> None:
    """It finds in the totals of the pairs that nothing is lacking."""
    for number in range(2):
        submit(f"bats-{number}", "defence", f"{CHECKSUM}\n# {number}")
        submit(f"owls-{number}", "attack", f"{COPY}\n# {number}")
    commit_all(tournament)
    with CaptureQueriesContext(connection) as queries:
        services.advance(tournament)
    of_runs = [each["sql"] for each in queries if "tournaments_defencerun" in each["sql"]]
    assert [sql for sql in of_runs if "'waiting'" not in sql or "'played'" in sql] == []


def test_the_runs_of_a_new_defence_are_requested_without_reading_those_of_others(
    tournament: Tournament, submit: Submit
) -> None:
    for number in range(2):
        submit(f"bats-{number}", "defence", f"{CHECKSUM}\n# {number}")
        submit(f"owls-{number}", "attack", f"{COPY}\n# {number}")
    commit_all(tournament)
    defence = submit("rats", "defence", f"{CHECKSUM}\n# of the rats").player
    assert defence is not None
    with CaptureQueriesContext(connection) as queries:
        services.advance(tournament)
    of_runs = [each["sql"] for each in queries if 'FROM "tournaments_defencerun"' in each["sql"]]
    of_others = [sql for sql in of_runs if "'waiting'" not in sql and f'"defence_id" IN ({defence.pk})' not in sql]
    assert of_others == []
    assert open_of(tournament) == (0, DefenceRun.objects.filter(defence=defence).count())
    assert list(defence.defence_runs.values_list("attack_run__batch", flat=True).order_by("pk")) == sorted(
        AttackRun.objects.values_list("batch", flat=True)
    )


def test_a_sweep_requests_a_run_that_is_lacking_among_others(tournament: Tournament, submit: Submit) -> None:
    for number in range(2):
        submit(f"bats-{number}", "defence", f"{CHECKSUM}\n# {number}")
        submit(f"owls-{number}", "attack", f"{COPY}\n# {number}")
    services.advance(tournament)
    while isinstance(run := claim_run("worker"), AttackRun):
        run_queue.commit(run, result(run))
        services.advance(tournament)
    number = DefenceRun.objects.count()
    assert run is not None
    DefenceRun.objects.filter(state=Run.State.WAITING).earliest("pk").delete()
    services.advance(tournament)
    assert DefenceRun.objects.count() == number
    commit_all(tournament)
    assert list(pair_totals.differing(tournament)) == []
