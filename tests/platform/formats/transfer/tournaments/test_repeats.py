"""A share of a defence's images is labelled again, in other company: what that finds, and where it is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.test import Client

from competitions.models import Competition
from evaluation.formats.transfer.results import NO_LABEL, RepeatCounts
from formats.transfer.tournaments import run_queue, services
from formats.transfer.tournaments.boards import board_of
from formats.transfer.tournaments.engine_runs import batches_of, comparisons, play_repeat
from formats.transfer.tournaments.models import DefenceRun, RepeatRun, Run, Tournament
from submissions.models import Submission
from tests.platform.claims import claim_run
from tests.platform.formats.transfer.tournaments.conftest import ADD, CHECKSUM, COPY, play_all
from tests.platform.formats.transfer.tournaments.results import claimed_runs, result, true_result

Submit = Callable[..., Submission]

pytestmark = pytest.mark.django_db

ZERO = """
for file in "$1"/*.png; do echo "$(basename "$file"),1"; done > "$2\""""
"""A defence for which every image shows a zero, the first of the classes."""


@pytest.fixture
def tournament(transfer: Competition, submit: Submit) -> Tournament:
    """The tournament of two attacks and a defence, before anything is played; its runs get made-up results."""
    transfer.tracks.update(baselines=[])
    submit("ants", "attack", ADD)
    submit("cats", "attack", COPY)
    submit("bats", "defence", CHECKSUM)
    return services.make_tournament(transfer)


@pytest.fixture
def real_tournament(transfer: Competition, push: Submit) -> Tournament:
    """The tournament of an attack, a defence and the baseline, before anything is played."""
    push("ants", "attack", ADD)
    push("bats", "defence", CHECKSUM)
    services.make_baselines()
    return services.make_tournament(transfer)


def commit_all(tournament: Tournament) -> None:
    """Commit made-up results of everything that waits, with labels that follow from the contents, and equal repeats."""
    for run in claimed_runs(tournament):
        run_queue.commit(run, result(run) if isinstance(run, RepeatRun) else true_result(run))


def test_a_deterministic_defence_gives_every_repeated_image_the_same_label(
    transfer: Competition, real_tournament: Tournament
) -> None:
    play_all(real_tournament)
    [repeat] = RepeatRun.objects.all()
    assert repeat.state == Run.State.PLAYED
    assert len(repeat.images) == 4  # a batch, of the six samples
    assert len(repeat.labels) == 4
    assert (repeat.changed, repeat.lost, repeat.gained) == (0, 0, 0)
    [row] = board_of(transfer.tracks.get(name="defence")).rows
    assert row.repeats == RepeatCounts(repeated=4)


def test_it_waits_until_every_other_run_of_the_defence_is_played(tournament: Tournament) -> None:
    order = []
    while True:
        services.advance(tournament)
        run = claim_run("worker")
        if run is None:
            break
        order.append(type(run))
        run_queue.commit(run, result(run))
    assert order.count(RepeatRun) == 1
    assert order.index(RepeatRun) == len(order) - 1


def test_they_are_requested_from_labels_of_runs_that_left_an_image_out_and_the_counts_of_others(
    tournament: Tournament,
) -> None:
    commit_all(tournament)
    RepeatRun.objects.all().delete()
    first = DefenceRun.objects.earliest("pk")
    DefenceRun.objects.filter(pk=first.pk).update(labels=[NO_LABEL] * len(first.labels), labelled=0)
    DefenceRun.objects.exclude(pk=first.pk).update(labels=[])
    services.advance(tournament)
    images = RepeatRun.objects.get().images
    assert images
    assert first.pk not in {key for key, _ in images}


def test_advancing_again_requests_no_further_repeat(tournament: Tournament) -> None:
    commit_all(tournament)
    services.advance(tournament)
    assert RepeatRun.objects.count() == 1


def test_labels_that_were_right_only_in_the_original_runs_are_found(transfer: Competition, push: Submit) -> None:
    push("ants", "attack", COPY)
    push("bats", "defence", ZERO)
    services.make_baselines()
    tournament = services.make_tournament(transfer)
    play_all(tournament)
    for run in DefenceRun.objects.select_related("attack_run"):  # as if it had known the labels from another run
        run.labels = [sample.label for sample in batches_of(tournament)[run.attack_run.batch].samples]
        run.save()
    repeat = RepeatRun.objects.get()
    columns = play_repeat(repeat, threading.Event())
    truth = [
        batches_of(tournament)[DefenceRun.objects.get(pk=key).attack_run.batch].samples[index].label
        for key, index in repeat.images
    ]
    lost = sum(label != right for label, right in zip(columns["labels"], truth, strict=True))
    assert lost > 0
    assert (columns["changed"], columns["lost"], columns["gained"]) == (lost, lost, 0)


def test_it_compares_the_host_that_labelled_first_with_its_own(tournament: Tournament) -> None:
    commit_all(tournament)
    repeat = RepeatRun.objects.select_related("defence__repository").get()
    first, second = DefenceRun.objects.filter(defence=repeat.defence).order_by("pk")[:2]
    DefenceRun.objects.filter(pk=first.pk).update(worker="first/0")
    DefenceRun.objects.filter(pk=second.pk).update(worker="second/0")
    repeat.images = [[second.pk, 0], [first.pk, 0], [first.pk, 1], [second.pk, 1]]
    repeat.labels = [each.labels[index] for each, index in ((second, 0), (first, 0), (first, 1), (second, 1))]
    labels = [*repeat.labels[:-1], NO_LABEL]
    labels[0] += 1
    found = {row.played_on: row for row in comparisons(repeat, labels, "third")}
    assert set(found) == {"first", "second"}
    assert sum(row.compared for row in found.values()) == 3  # the image without a label says nothing
    assert sum(row.unequal for row in found.values()) == 1
    assert {(row.repeated_on, row.player) for row in found.values()} == {("third", repeat.defence.digest)}
    assert repeat.defence.repository is not None
    assert {row.entry for row in found.values()} == {repeat.defence.repository.entry}


def test_the_board_the_csv_the_api_and_the_submission_say_it(
    transfer: Competition, tournament: Tournament, client: Client
) -> None:
    commit_all(tournament)
    assert "inconsistent" not in client.get("/competitions/transfer/leaderboards/defence").content.decode()
    RepeatRun.objects.update(changed=4, lost=4, gained=0, images=[[1, 0]] * 20)
    assert (
        not board_of(transfer.tracks.get(name="defence")).rows[0].repeats.inconsistent
    )  # 4 of 4: once in 16 by chance
    RepeatRun.objects.update(changed=12, lost=12)
    assert "inconsistent" in client.get("/competitions/transfer/leaderboards/defence").content.decode()
    csv = client.get("/competitions/transfer/leaderboards/defence.csv").content.decode().splitlines()
    assert dict(zip(csv[0].split(","), csv[1].split(","), strict=True))["inconsistent"] == "True"
    [row] = client.get("/api/v1/competitions/transfer/leaderboards/defence").json()["rows"]
    assert (row["repeated"], row["changed"], row["inconsistent"]) == (20, 12, True)
    page = client.get(f"/submissions/{Submission.objects.get(repository__track__name='defence').pk}").content.decode()
    assert "20 images were labelled again later" in page
