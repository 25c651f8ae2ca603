"""Totals of pairs: they equal the sums over all runs, whatever happens, and steps and rankings read only them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pkgutil import iter_modules
from threading import Barrier

import pytest
from django.apps import apps
from django.db import connection
from django.test import TestCase
from django.test.utils import CaptureQueriesContext

from competitions.models import Competition
from evaluation.formats.transfer.results import PairCounts
from formats.transfer.tournaments import migrations, pair_totals, run_queue, services, step_notifications, tasks
from formats.transfer.tournaments.models import AttackRun, DefenceRun, PairTotal, Tournament
from formats.transfer.tournaments.ranking import rank, standings
from formats.transfer.tournaments.selectors import AnyRun, counts_from_runs, current_entrants, seconds_from_runs
from formats.transfer.tournaments.tournament_verification import differing
from submissions.models import Submission
from tests.platform.claims import claim_run
from tests.platform.formats.transfer.tournaments.conftest import CHECKSUM, COPY
from tests.platform.formats.transfer.tournaments.results import claimed_runs, commit_all, true_result
from workers.lease import LostClaimError

Submit = Callable[..., Submission]
Sent = list[tuple[str, dict[str, int]]]


@pytest.fixture
def tournament(transfer: Competition, submit: Submit) -> Tournament:
    """Two attacks and two defences that met."""
    transfer.tracks.update(baselines=[])
    made = services.make_tournament(transfer)
    for number in range(2):
        submit(f"owls-{number}", "attack", f"{COPY}\n# {number}")
        submit(f"bats-{number}", "defence", f"{CHECKSUM}\n# {number}")
    play(made)
    return made


def play(tournament: Tournament) -> None:
    for run in claimed_runs(tournament):
        run_queue.commit(run, true_result(run) | {"seconds": 1.0 + run.pk % 7})


def counts(tournament: Tournament) -> tuple[set[PairCounts], set[PairCounts]]:
    """The counts of all entrants, from the totals and from the runs."""
    players = {each.player for each in current_entrants(tournament)}
    attacks = [each for each in players if each.track_name == "attack"]
    defences = [each for each in players if each.track_name == "defence"]
    return (
        set(pair_totals.pair_counts(tournament, attacks, defences)),
        set(counts_from_runs(tournament, attacks, defences)),
    )


def test_counts_seconds_and_standings_from_the_totals_are_those_from_all_runs(tournament: Tournament) -> None:
    kept, recomputed = counts(tournament)
    assert kept == recomputed
    assert len(kept) == 4
    players = {each.player for each in current_entrants(tournament)}
    sides = [[each for each in players if each.track_name == track] for track in ("attack", "defence")]
    of_runs = {key: sorted(values) for key, values in seconds_from_runs(tournament, players).items()}
    assert {key: sorted(values) for key, values in pair_totals.seconds_of(tournament, *sides).items()} == of_runs
    assert len(set(of_runs[str(sides[1][0].pk)])) > 1
    shown = {each.pk: each for each in current_entrants(tournament)}
    for entrant, values in standings(tournament):
        assert {name: getattr(shown[entrant.pk], name) for name in values} == values


def test_a_lost_commit_adds_nothing(tournament: Tournament, submit: Submit) -> None:
    submit("rats", "defence", f"{CHECKSUM}\n# of the rats")
    services.advance(tournament)
    run = claim_run("worker")
    assert isinstance(run, DefenceRun)
    run_queue.commit(run, true_result(run))
    with pytest.raises(LostClaimError):
        run_queue.commit(run, true_result(run))
    total = PairTotal.objects.get(attack=run.attack_run.attack, defence=run.defence)
    assert (total.played, total.labelled) == (1, run.attack_run.images)
    assert list(differing(tournament)) == []


def test_a_wrong_total_is_reported_and_repaired(tournament: Tournament) -> None:
    wrong, missing = PairTotal.objects.order_by("pk")[:2]
    PairTotal.objects.filter(pk=wrong.pk).update(correct=0, seconds=b"")
    missing.delete()
    found = [str(each) for each in differing(tournament)]
    assert len(found) == 2
    assert "correct is 0 and should be" in found[0] + found[1]
    assert "seconds is 0 bytes and should be 16 bytes" in found[0] + found[1]
    assert PairTotal.objects.count() == 3
    assert len(list(differing(tournament, repair=True))) == 2
    assert list(differing(tournament)) == []


def test_the_migration_counts_the_runs_that_are_played_already(tournament: Tournament) -> None:
    [name] = [each.name for each in iter_modules(migrations.__path__) if each.name.endswith("_totals_of_pairs")]
    migration = import_module(f"formats.transfer.tournaments.migrations.{name}")
    PairTotal.objects.all().delete()
    migration.count_played_runs(apps, None)
    assert PairTotal.objects.count() == 4
    assert list(differing(tournament)) == []


def test_a_ranking_reads_no_run_of_a_defence(tournament: Tournament) -> None:
    with CaptureQueriesContext(connection) as queries:
        rank(tournament)
    assert [each["sql"] for each in queries if "tournaments_defencerun" in each["sql"]] == []


def test_only_the_last_run_of_a_pair_is_followed_by_a_step(
    tournament: Tournament, submit: Submit, notifications: Sent
) -> None:
    submit("rats", "defence", f"{CHECKSUM}\n# of the rats")
    services.advance(tournament)
    followed = []
    while isinstance(run := claim_run("worker"), DefenceRun):
        notifications.clear()
        with TestCase.captureOnCommitCallbacks(execute=True):
            run_queue.commit(run, true_result(run))
            step_notifications.announce(run)
        followed.append(("tournaments.follow_up", {"tournament": tournament.pk}) in notifications)
        if followed[-1]:
            tasks.follow_up(tournament.pk)
    assert followed.count(True) == 2
    assert len(followed) == 4
    assert current_entrants(tournament).count() == 5


def test_at_most_one_step_waits_until_it_begins(tournament: Tournament, submit: Submit, notifications: Sent) -> None:
    submit("rats", "attack", f"{COPY}\n# of the rats")
    services.advance(tournament)
    held = [run for run in (claim_run("worker"), claim_run("worker")) if run is not None]
    assert [type(run) for run in held] == [AttackRun, AttackRun]
    step = ("tournaments.follow_up", {"tournament": tournament.pk})
    with TestCase.captureOnCommitCallbacks(execute=True):
        for run in held:
            run_queue.commit(run, true_result(run))
            step_notifications.announce(run)
    assert notifications.count(step) == 1
    tasks.follow_up(tournament.pk)
    assert DefenceRun.objects.filter(attack_run__in=[run.pk for run in held]).count() == 4
    with TestCase.captureOnCommitCallbacks(execute=True):
        step_notifications.announce(run)
    assert notifications.count(step) == 2


def test_a_step_whose_notification_was_lost_is_taken_by_the_sweep(
    tournament: Tournament, submit: Submit, notifications: Sent
) -> None:
    submit("rats", "attack", f"{COPY}\n# of the rats")
    commit_all(tournament)
    Tournament.objects.update(step_notified=True)  # and nobody received it
    tasks.sweep()
    assert not Tournament.objects.filter(step_notified=True).exists()


@pytest.mark.django_db(transaction=True)
def test_runs_of_one_pair_that_are_committed_at_the_same_time_are_all_counted(
    transfer: Competition, submit: Submit
) -> None:
    transfer.tracks.update(baselines=[])
    submit("owls", "attack", COPY)
    tournament = services.make_tournament(transfer)
    commit_all(tournament)
    submit("bats", "defence", CHECKSUM)
    services.advance(tournament)
    held = [claim_run(f"worker-{number}") for number in range(2)]
    start = Barrier(2)

    def commit(run: AnyRun) -> None:
        try:
            start.wait(timeout=30)
            run_queue.commit(run, true_result(run))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(commit, filter(None, held)))
    assert list(PairTotal.objects.values_list("played", "labelled")) == [(2, 6)]
    assert list(differing(tournament)) == []
