"""Benchmarks of models without programs: requests, errors, scores of each threat model, freezes, bad rules."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from django.test import Client
from pytest_django import Settings
from torch import Tensor
from torch.nn.functional import one_hot

from accounts.models import User
from accounts.services import create_team
from competitions.models import Competition, FrozenLeaderboards, Organiser, RulesVersion, SampleSet
from competitions.selectors import rules_in_force
from competitions.services import enter, import_competition
from core import clock, object_store, worker_notifications
from core.errors import Fault, Refusal
from evaluation.domain.errors import ImageFault
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.curves.models.classifier import Classifier, Loss
from evaluation.formats.curves.models.sandboxed_classifier import ModelFailedError, as_images, as_pixels
from evaluation.formats.curves.results import Results
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from evaluation.formats.curves.runner.listed_benchmark import attacked
from evaluation.formats.curves.runner.results_file import encode
from evaluation.formats.curves.scoring.curves import accuracy_by_strength
from evaluation.formats.curves.threat_models import Capability, Goal, Knowledge, Norm, ThreatModel
from formats.curves import benchmark_runs, requests_and_scores, stored_results
from formats.curves.benchmark_runs import seed_of
from formats.curves.benchmark_work import benchmarks
from formats.curves.models import Benchmark, ModelScore
from formats.curves.round_format import CurvesRounds
from operations.archives.archive_tables import Tables
from pages.formats import page_formats
from repositories.models import Repository
from rounds.models import Round, RoundEntry
from submissions.evaluation_refunds import refund_overdue
from submissions.models import Player, Submission
from submissions.quota_ledger_check import differing_slots
from submissions.services import disqualify, reinstate, withdraw
from submissions.unused_image_removal import needed_players
from tests.evaluation.formats.curves.results_of import results_of
from tests.platform.conftest import FakeClock
from tests.platform.formats.curves.conftest import document_of
from tests.platform.pages.test_news import titles
from tests.platform.slots import slot_of, use_slot
from workers import calibration, queue
from workers.calibration import STEADY
from workers.lease import Heartbeat
from workers.models import Host, Worker
from workers.worker_loop import work_on

pytestmark = pytest.mark.usefixtures("others_read_first")

BOARD = "/competitions/digits-curves/leaderboards/model"

Distances = Mapping[str, list[float]]
"""The distances of all images, by the name of the norm; an image that is not right is at 0."""


class Stage:
    """A competition whose models answer what a test says."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.competition: Competition = import_competition(document)
        self.answers: dict[str, Distances | Exception] = {}
        self.seeds: list[int] = []

    def submit(self, team: str, answers: Distances | Exception, number: int = 1) -> Submission:
        """A team has a ready submission."""
        user = User.objects.filter(username=team).first()
        if user is None:
            user = User.objects.create_user(team, f"{team}@example.org")
            entry = enter(team=create_team(slug=team, name=team.title(), captain=user), competition=self.competition)
            track, now = self.competition.tracks.get(), clock.now()
            Repository.objects.create(entry=entry, track=track, created_at=now)
        repository = Repository.objects.get(entry__team__slug=team)
        digest, now = f"sha256:{team}-{number}", clock.now()
        player = Player.objects.create(
            competition=self.competition, track_name="model", digest=digest, title=f"{team} {number}",
            command=["main"], repository=repository, commit=f"{number:040x}", created_at=now,
        )  # fmt: skip
        self.answers[digest] = answers
        return Submission.objects.create(
            repository=repository, commit=f"{number:040x}", tag=f"submission-{number}", submitted_by=user,
            received_at=now, title=f"{team} {number}", licence="MIT", state=Submission.State.READY, state_since=now,
            player=player,
        )  # fmt: skip

    def benchmark(
        self, player: Player, samples: object, attack: ListedAttack, rules: CurvesRules, *, seed: int, **options: Any
    ) -> Results:
        """Return what the test says, in place of a run."""
        self.seeds.append(seed)
        answers = self.answers[player.digest]
        if isinstance(answers, Exception):
            raise answers
        distances = answers[attack.norm]
        found = results_of(distances, attack=attack.name, goal=attack.goal, right=[each > 0 for each in distances])
        threat = ThreatModel(attack.goal, Capability.OPTIMISED, attack.norm, Knowledge.DECISION)
        return replace(found, threat_model=threat, fixed_budget=rules.budget(attack.norm))

    def play(self) -> None:
        """Sweep, play all that waits, and sweep again."""
        requests_and_scores.sweep()
        play_all()
        requests_and_scores.sweep()

    def board(self, client: Client, norm: str = "l2") -> list[str]:
        """Return the rows of the leaderboard of the untargeted goal in a norm, from its CSV file."""
        address = f"{BOARD}.csv?threat=decision-untargeted-{norm}"
        return client.get(address).content.decode().splitlines()[1:]


def play_all() -> None:
    """Play what a worker may claim."""
    worker = Worker(name="worker/0", worker_class="cpu")
    while (claimed := queue.claim(worker)) is not None:
        work_on(claimed, Heartbeat())


@pytest.fixture
def stage(db: None, root: Path, monkeypatch: pytest.MonkeyPatch, the_clock: FakeClock) -> Stage:
    """The competition."""
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: None)
    made = Stage(document_of(root))
    monkeypatch.setattr(benchmark_runs, "ready_player", lambda player, on_log: player)
    monkeypatch.setattr(benchmark_runs, "benchmark", made.benchmark)
    return made


class Band(Classifier):
    """A model that is wrong only where an image is brighter by exactly 34 of 255 steps."""

    name, digest, classes, rounds = "band", "sha256:band", 2, True

    @property
    def offers(self) -> frozenset[Knowledge]:
        return frozenset({Knowledge.DECISION, Knowledge.WHITE_BOX})

    def seen(self, images: Tensor) -> Tensor:
        return as_images(as_pixels(images))

    def labels(self, images: Tensor) -> Tensor:
        brighter = (self.seen(images).mean(dim=(1, 2, 3)) * 255 - 128).round()
        return (brighter == 34).long()

    def logits(self, images: Tensor) -> Tensor:
        return one_hot(self.labels(images), self.classes).float()

    def gradient(self, images: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        return self.logits(images), torch.ones_like(images)


class Lock(Band):
    """A model that is wrong only where the left half of an image is brighter by 34 steps and the right one by 10.

    Gradients brighten the right half only when the left one is that bright. So no larger budget is enough.
    """

    name, digest = "lock", "sha256:lock"

    def labels(self, images: Tensor) -> Tensor:
        left, right = self._brighter(images)
        return ((left == 34) & (right == 10)).long()

    def gradient(self, images: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        gradient = torch.ones_like(images)
        gradient[..., 2:] = (self._brighter(images)[0] >= 34).float()[:, None, None, None]
        return self.logits(images), gradient

    def _brighter(self, images: Tensor) -> tuple[Tensor, Tensor]:
        steps = (self.seen(images) * 255 - 128).round()
        return steps[..., :2].mean(dim=(1, 2, 3)), steps[..., 2:].mean(dim=(1, 2, 3))


HALF = {"l2": [0.0, 1.0, 9.0, np.inf], "linf": [0.0, 0.01, 0.25, 0.5]}
ALL = {"l2": [9.0, 9.0, 9.0, 9.0], "linf": [0.01, 0.01, 0.01, 0.01]}


def test_what_the_run_at_the_fixed_budget_finds_counts() -> None:
    """No budget that the search tries is enough, but the fixed one is."""
    listed = ListedAttack("bim", Goal.UNTARGETED, Norm.LINF, 10)
    rules = CurvesRules(shape=ImageShape(4, 4, 1), classes=2, attacks=(listed,), budget_linf=0.135)
    samples = [Sample(0, np.full(rules.shape, 128, np.uint8), label=0)]
    found = attacked(Band(), samples, listed, rules, seed=0, dataset="grey")
    assert not found.tried_found.any()
    assert found.distances.tolist() == [34 / 255]


def test_what_is_found_after_a_hundred_iterations_counts() -> None:
    listed = ListedAttack("bim", Goal.UNTARGETED, Norm.LINF, 300)
    rules = CurvesRules(shape=ImageShape(4, 4, 1), classes=2, attacks=(listed,), budget_linf=0.135)
    samples = [Sample(0, np.full(rules.shape, 128, np.uint8), label=0)]
    found = attacked(Lock(), samples, listed, rules, seed=0, dataset="grey")
    assert not found.tried_found.any()
    assert found.distances.tolist() == [34 / 255]
    assert accuracy_by_strength(found).tolist()[-2:] == [1.0, 0.0]


def test_each_attack_of_the_rules_is_one_item_of_the_queue(stage: Stage) -> None:
    submission = stage.submit("owls", ALL)
    for _ in range(2):
        requests_and_scores.sweep()
    rows = submission.benchmarks.order_by("pk")
    assert [(row.attack, row.goal, row.norm, row.queries, row.state) for row in rows] == [
        ("boundary", "untargeted", "l2", 10, "waiting"),
        ("evolutionary", "untargeted", "l2", 10, "waiting"),
        ("hop-skip-jump", "untargeted", "linf", 10, "waiting"),
        ("evolutionary", "targeted", "l2", 10, "waiting"),
    ]


def test_the_rank_depends_on_the_threat_model(stage: Stage, client: Client) -> None:
    stage.submit("owls", HALF)
    stage.submit("foxes", ALL)
    stage.play()
    assert stage.board(client, "l2") == ["1,Foxes,foxes 1,100.0,100.0,9.0", "2,Owls,owls 1,50.0,75.0,5.0"]
    assert stage.board(client, "linf") == ["1,Owls,owls 1,50.0,75.0,0.13", "2,Foxes,foxes 1,0.0,100.0,0.01"]


def test_a_distance_that_nobody_found_is_empty_in_files_and_null_in_the_api(stage: Stage, client: Client) -> None:
    stage.submit("owls", {"l2": [np.inf] * 3 + [1.0], "linf": [np.inf] * 4})
    stage.play()
    assert stage.board(client, "l2") == ["1,Owls,owls 1,75.0,100.0,"]
    assert client.get(f"/api/v1{BOARD}").json()["rows"][0]["median_distance"] is None
    assert "\N{INFINITY}" in client.get(BOARD).content.decode()


def test_distances_of_secret_samples_are_published_with_the_digits_of_the_page(stage: Stage, client: Client) -> None:
    """Further digits could leak the samples (docs/decisions/0048)."""
    stage.submit("owls", {"l2": [1.23456789] * 4, "linf": [0.0123456789] * 4})
    stage.play()
    assert [stage.board(client, norm)[0].split(",")[-1] for norm in ("l2", "linf")] == ["1.2346", "0.0123"]
    answer = client.get(f"/api/v1{BOARD}").json()
    rows = [answer["rows"], *(each["rows"] for each in answer["threat_models"])]
    assert [row["median_distance"] for (row,) in rows] == [1.2346, 1.2346, 0.0123, 1.2346]
    assert "1.2346" in client.get(BOARD).content.decode()


def test_the_worst_attack_on_each_image_counts() -> None:
    first, second = (
        object_store.put(encode(replace(results_of(distances), fixed_budget=1.0)))
        for distances in ([0.5, 2.0, 2.0, 3.0], [2.0, 0.5, 2.0, 4.0])
    )
    standing = stored_results.standing_under([first, second], 1.0)
    assert (standing.accuracy, standing.clean_accuracy, standing.median_distance) == (0.5, 1.0, 1.25)
    assert standing.curve[standing.budgets.index(0.4)] == 1.0
    assert standing.curve[-1] == 0.0


def test_an_error_of_the_model_ends_its_benchmark_without_a_fault(stage: Stage, client: Client) -> None:
    submission = stage.submit("owls", ModelFailedError(Reason.CRASHED, "exit status 7"))
    stage.play()
    assert {(row.state, row.reason, row.faults) for row in submission.benchmarks.all()} == {("played", "crashed", 0)}
    assert not ModelScore.objects.exists()
    assert stage.board(client) == []
    page = client.get(f"/submissions/{submission.pk}").content.decode()
    assert "its process ended with an error" in page
    assert "exit status 7" not in page
    client.force_login(submission.submitted_by)
    assert "exit status 7" in client.get(f"/submissions/{submission.pk}").content.decode()


@pytest.mark.parametrize(
    ("reason", "detail"),
    [
        (Reason.BAD_SEQUENCE, "sequence 578437695752307201, expected 1"),
        (Reason.BAD_LENGTH, "payload of 578437 bytes, 2 expected"),
        (Reason.INVALID_NUMBERS, "5.784377e+17, at most 1e+15 allowed"),
        (Reason.TOO_SLOW, "578437 bytes of a frame arrived in time"),
    ],
)
def test_what_a_model_sent_stays_out_of_its_benchmark(
    stage: Stage, client: Client, reason: Reason, detail: str
) -> None:
    """It has seen secret images, which its numbers could name."""
    submission = stage.submit("owls", ModelFailedError(reason, detail))
    stage.play()
    assert {(row.reason, row.detail) for row in submission.benchmarks.all()} == {(str(reason), "")}
    client.force_login(submission.submitted_by)
    page = client.get(f"/submissions/{submission.pk}").content.decode()
    assert html.escape(reason.text) in page


def test_a_model_is_not_charged_for_a_host_that_became_slower(
    stage: Stage, client: Client, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The benchmark is played again, by the host's new factor."""
    submission, factors = stage.submit("owls", ModelFailedError(Reason.TOO_SLOW)), [1.0]

    def measured(device: str | None) -> float:
        if factors:
            return factors.pop()
        stage.answers["sha256:owls-1"] = ALL
        return 2.0

    monkeypatch.setattr(calibration, "STEADY", STEADY)  # the site's own
    monkeypatch.setattr(calibration, "calibrate", measured)
    monkeypatch.setattr(calibration, "_known", {})
    stage.play()
    the_clock.forward(hours=2)
    stage.play()
    assert {(row.state, row.reason, row.faults) for row in submission.benchmarks.all()} == {("played", "", 0)}
    assert stage.board(client) == ["1,Owls,owls 1,100.0,100.0,9.0"]


def test_a_platform_error_is_tried_again_and_costs_nothing(stage: Stage, client: Client, the_clock: FakeClock) -> None:
    submission = stage.submit("owls", Fault("the disk is full"))
    stage.play()
    rows = submission.benchmarks.all()
    assert {(row.state, row.reason) for row in rows} == {("waiting", "")}
    assert all(row.faults or row.host_faults for row in rows)
    assert "no score" not in client.get(f"/submissions/{submission.pk}").content.decode()
    stage.answers["sha256:owls-1"] = ALL
    the_clock.forward(hours=2)
    stage.play()
    assert stage.board(client) == ["1,Owls,owls 1,100.0,100.0,9.0"]


def give_up(the_clock: FakeClock) -> None:
    """Claim what waits on two hosts, which fail."""
    for host in ("arena-1", "arena-2", "arena-1"):
        while (claimed := queue.claim(Worker(name=f"{host}/0", worker_class="cpu"))) is not None:
            assert claimed.kind.release(claimed.claim, fault="the disk is full")
        the_clock.forward(minutes=11)


def test_a_benchmark_that_is_given_up_refunds_the_slot(stage: Stage, client: Client, the_clock: FakeClock) -> None:
    submission = stage.submit("owls", ALL)
    use_slot(submission)
    requests_and_scores.sweep()
    give_up(the_clock)
    assert {each.state for each in submission.benchmarks.all()} == {"failed"}
    assert slot_of(submission) == ("refunded", "fault")
    assert list(differing_slots()) == []
    client.force_login(submission.submitted_by)
    page = client.get(f"/submissions/{submission.pk}").content.decode()
    assert "<strong>Platform error</strong> A benchmark was given up." in page
    assert "Correct the problem above" not in page, "there is none of the team"

    for each in submission.benchmarks.all():
        benchmarks.replay(each, None, "the disk was emptied")
    stage.play()
    assert stage.board(client) == ["1,Owls,owls 1,100.0,100.0,9.0"]
    assert list(differing_slots()) == []


def test_a_submission_with_a_score_keeps_its_slot_when_a_benchmark_under_new_rules_is_given_up(
    stage: Stage, client: Client, the_clock: FakeClock
) -> None:
    submission = stage.submit("owls", ALL)
    use_slot(submission)
    stage.play()
    assert stage.board(client) == ["1,Owls,owls 1,100.0,100.0,9.0"]
    known = RulesVersion.objects.get()
    RulesVersion.objects.create(competition=known.competition, version=2, values=known.values, created_at=clock.now())
    requests_and_scores.sweep()
    give_up(the_clock)
    assert {each.state for each in submission.benchmarks.filter(rules__version=2)} == {"failed"}
    assert slot_of(submission) == ("used", "")
    assert list(differing_slots()) == []


def test_work_whose_player_has_lost_its_image_is_given_up_and_the_hosts_stay_in_service(
    stage: Stage, the_clock: FakeClock, settings: Settings
) -> None:
    submission = stage.submit("owls", ImageFault("the site no longer has its image"))
    use_slot(submission)
    requests_and_scores.sweep()
    for host in ("arena-1", "arena-2", "arena-1"):
        settings.WORKER_NAME = host
        while (claimed := queue.claim(Worker(name=f"{host}/0", worker_class="cpu"))) is not None:
            work_on(claimed, Heartbeat())
        the_clock.forward(minutes=11)
    rows = submission.benchmarks.all()
    assert {(row.state, row.host_faults, tuple(row.fault_hosts)) for row in rows} == {
        ("failed", 0, ("arena-1", "arena-2"))
    }
    assert "the site no longer has its image" in rows[0].fault
    assert not Host.objects.exists()
    assert slot_of(submission) == ("refunded", "fault")


def test_one_that_was_not_played_within_seven_days_is_refunded_and_continues(
    stage: Stage, client: Client, the_clock: FakeClock
) -> None:
    scored, failed = stage.submit("owls", ALL), stage.submit("bats", ModelFailedError(Reason.CRASHED))
    for each in (scored, failed):
        use_slot(each)
    stage.play()
    waiting = stage.submit("crows", ALL)
    use_slot(waiting)
    requests_and_scores.sweep()
    the_clock.forward(days=7)
    assert refund_overdue() == 0
    the_clock.forward(seconds=1)
    Competition.objects.update(archived_at=clock.now())
    assert refund_overdue() == 0
    Competition.objects.update(archived_at=None)
    assert (refund_overdue(), refund_overdue()) == (1, 0)
    assert [slot_of(each) for each in (scored, failed)] == [("used", "")] * 2
    assert slot_of(waiting) == ("refunded", "overdue")
    client.force_login(waiting.submitted_by)
    assert "Not played within 7 days" in client.get(f"/submissions/{waiting.pk}").content.decode()
    stage.play()
    assert "1,Crows,crows 1,100.0,100.0,9.0" in stage.board(client)
    assert list(differing_slots()) == []


def test_the_newest_scored_submission_of_a_team_counts(stage: Stage, client: Client) -> None:
    stage.submit("owls", ALL)
    newer = stage.submit("owls", HALF, 2)
    stage.submit("owls", ModelFailedError(Reason.CRASHED), 3)
    stage.play()
    assert stage.board(client) == ["1,Owls,owls 2,50.0,75.0,5.0"]
    withdraw(submission=newer, by=newer.submitted_by)
    assert stage.board(client) == ["1,Owls,owls 1,100.0,100.0,9.0"]


def test_a_disqualified_submission_is_attacked_no_more_until_it_is_reinstated(stage: Stage, client: Client) -> None:
    submission = stage.submit("owls", ALL)
    olga = User.objects.create_user("olga", "olga@example.org")
    Organiser.objects.create(competition=stage.competition, user=olga)
    requests_and_scores.sweep()
    worker = Worker(name="worker/0", worker_class="cpu")
    held = queue.claim(worker)
    assert held is not None
    disqualify(submission=submission, by=olga, reason="it is harmful")
    assert queue.claim(worker) is None
    assert benchmarks.take_back() == 1
    assert queue.claim(worker) is None
    reinstate(submission=submission, by=olga, reason="it is not")
    stage.play()
    assert stage.board(client) == ["1,Owls,owls 1,100.0,100.0,9.0"]


def test_nothing_is_played_under_rules_that_the_leaderboard_no_longer_has(stage: Stage, client: Client) -> None:
    submission = stage.submit("owls", HALF)
    requests_and_scores.sweep()
    assert queue.claim(Worker(name="worker/0", worker_class="cpu")) is not None
    rules = stage.competition.rules_versions.get()
    rules.pk, rules.version = None, 2
    rules.save()
    assert benchmarks.take_back() == 1
    stage.play()
    assert set(submission.benchmarks.values_list("rules__version", "state")) == {(1, "waiting"), (2, "played")}
    assert stage.board(client) == ["1,Owls,owls 1,50.0,75.0,5.0"]
    assert list(Tables().open_rows(stage.competition)) == [], "the competition can be exported"


def test_nothing_is_played_on_samples_that_the_leaderboard_no_longer_has(stage: Stage, client: Client) -> None:
    submission = stage.submit("owls", HALF)
    requests_and_scores.sweep()
    samples = stage.competition.sample_sets.get(purpose="validation")
    samples.pk, samples.name = None, "newer"
    samples.save()
    stage.play()
    played = set(submission.benchmarks.values_list("sample_set__name", "state"))
    assert played == {("validation", "waiting"), ("newer", "played")}
    listed = client.get(f"/api/v1/submissions/{submission.pk}/evaluations").json()["results"]
    assert [each["sample_set"] for each in listed] == ["newer"] * 4 + ["validation"] * 4
    assert stage.board(client) == ["1,Owls,owls 1,50.0,75.0,5.0"]


def test_no_image_is_kept_for_benchmarks_that_nobody_plays(stage: Stage) -> None:
    stage.submit("owls", ALL)
    withdrawn = stage.submit("bats", ALL)
    requests_and_scores.sweep()
    assert needed_players() == {"sha256:owls-1", "sha256:bats-1"}
    withdraw(submission=withdrawn, by=withdrawn.submitted_by)
    assert needed_players() == {"sha256:owls-1"}


def test_benchmarks_that_nobody_plays_neither_wait_nor_need_an_organiser(stage: Stage) -> None:
    stage.submit("owls", ALL)
    withdrawn = stage.submit("bats", ALL)
    requests_and_scores.sweep()
    shown = page_formats["curves"]
    withdrawn.benchmarks.filter(norm="l2").update(state=Benchmark.State.FAILED, faults=3)
    withdrawn.benchmarks.filter(norm="linf").update(host_faults=3)
    assert (shown.queue().waiting, shown.stuck_work()) == (5, 1)
    assert [fix.rows.count() for fix in shown.rows_to_fix()] == [3, 1, 0, 0, 0, 0]
    withdraw(submission=withdrawn, by=withdrawn.submitted_by)
    assert (shown.queue().waiting, shown.stuck_work()) == (4, 0)
    assert [fix.rows.count() for fix in shown.rows_to_fix()] == [0, 0, 0, 0, 0, 0]


def test_benchmarks_that_a_drained_host_played_are_listed_while_they_count(stage: Stage, the_clock: FakeClock) -> None:
    def listed() -> list[int]:
        found = [each for each in page_formats["curves"].rows_to_fix() if each.title == "Benchmarks on drained hosts"]
        return [len(each.rows) for each in found]

    submission = stage.submit("owls", ALL)
    stage.play()
    Worker.objects.create(name="bad/0", worker_class="cpu", started_at=the_clock.at, last_seen_at=the_clock.at)
    submission.benchmarks.filter(norm="l2").update(worker="bad/0")
    assert listed() == [0]
    Host.objects.create(name="bad", doubtful_until=the_clock.at)
    assert listed() == [3]
    known = rules_in_force(stage.competition)
    RulesVersion.objects.create(competition=stage.competition, version=2, values=known.values, created_at=clock.now())
    assert listed() == [0], "the new rules measure all of them again"


def test_a_page_says_why_a_submission_has_its_rank_under_each_threat_model(stage: Stage, client: Client) -> None:
    owls, foxes = stage.submit("owls", HALF), stage.submit("foxes", ALL)
    stage.play()
    first, second, third = why(client, owls)
    assert first == (
        "Untargeted, L2, decision-based 50.0 percentage points behind rank 1: foxes 1 by Foxes, 100.0 %. "
        "Compare the two It loses most to rank 1 against Boundary: 50.0 %, rank 1 has 100.0 %."
    )
    assert "First, 50.0 percentage points ahead of rank 2: foxes 1 by Foxes" in second
    assert "50.0 percentage points behind rank 1" in third
    assert "First, 50.0 percentage points ahead of rank 2: owls 1 by Owls, 50.0 %." in why(client, foxes)[0]
    page = client.get(f"/submissions/{owls.pk}").content.decode()
    address = re.search(r'href="([^"]*)">Compare the two', page)
    assert address is not None
    assert client.get(html.unescape(address[1])).content.decode().count("checked") == 2


def test_a_page_says_what_new_rules_did_to_the_accuracy(stage: Stage, client: Client) -> None:
    submission = stage.submit("owls", HALF)
    stage.play()
    rules = stage.competition.rules_versions.get()
    rules.pk, rules.version = None, 2
    rules.save()
    stage.answers["sha256:owls-1"] = ALL
    stage.play()
    text = why(client, submission)[0]
    assert "Before version 2 of the rules, its accuracy at the budget was 50.0 %; now it is 100.0 %. History" in text


def why(client: Client, submission: Submission) -> list[str]:
    """Return why a submission has its ranks, in words, one for each leaderboard."""
    page = client.get(f"/submissions/{submission.pk}").content.decode().replace("\N{NO-BREAK SPACE}", " ")
    found = re.findall(r"Why this rank: (.*?)</ul>", page, re.S)
    return [" ".join(re.sub(r"<[^>]*>", "", each).split()) for each in found]


def test_the_seed_is_one_for_all_submissions_of_a_team_and_another_for_each_attack(stage: Stage) -> None:
    players = [stage.submit(*each).player for each in (("owls", ALL), ("owls", ALL, 2), ("foxes", ALL))]
    attacks = [ListedAttack.read(each) for each in document_attacks(stage.competition)]
    seeds = [[seed_of(stage.competition, player, "samples", each) for each in attacks] for player in players if player]
    assert seeds[0] == seeds[1]
    assert len({*seeds[0], *seeds[2]}) == 2 * len(attacks)


def test_a_lost_result_delays_no_score_of_others(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    first, second = stage.submit("owls", ALL), stage.submit("foxes", ALL)
    requests_and_scores.sweep()
    play_all()
    Benchmark.objects.filter(pk=first.benchmarks.earliest("pk").pk).update(result="0" * 64)
    requests_and_scores.sweep()
    assert set(ModelScore.objects.values_list("submission", flat=True)) == {second.pk}
    assert [each.getMessage() for each in caplog.records] == [f"submission {first.pk} cannot be scored"]


def test_the_page_of_a_submission_shows_its_scores_without_a_lost_result(
    stage: Stage, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    sent = stage.submit("owls", ALL)
    stage.play()
    first = sent.benchmarks.filter(goal="untargeted", norm="l2").earliest("pk")
    Benchmark.objects.filter(pk=first.pk).update(result="0" * 64)
    page = client.get(f"/submissions/{sent.pk}").content.decode()
    assert "Why this rank" in page
    assert ('id="budgets-decision-untargeted-linf"' in page, 'id="budgets-decision-untargeted-l2"' in page) == (
        True, False,
    )  # fmt: skip
    assert "has no curves" in caplog.text


def document_attacks(competition: Competition) -> list[dict[str, Any]]:
    """Return the attacks of the rules as its file lists them."""
    return list(competition.rules_versions.get().values["attacks"])


def test_the_api_says_when_nothing_more_comes_of_a_submission(stage: Stage, client: Client) -> None:
    submission = stage.submit("owls", ALL)
    requests_and_scores.sweep()
    final = []
    for change in (
        lambda: None,
        lambda: Benchmark.objects.filter(pk=Benchmark.objects.earliest("pk").pk).update(state=Benchmark.State.FAILED),
        lambda: Benchmark.objects.update(state=Benchmark.State.WAITING),
        lambda: Submission.objects.update(disqualified_at=clock.now()),
    ):
        change()
        final.append(client.get(f"/api/v1/submissions/{submission.pk}").json()["progress"]["final"])
    assert final == [False, True, False, True]


def test_feeds_have_the_scores_until_a_freeze(stage: Stage, client: Client) -> None:
    stage.submit("owls", ALL)
    stage.play()
    feeds = [f"{BOARD}/feed.atom", "/teams/owls/feed.atom"]
    (title,), (same,) = (titles(client, feed) for feed in feeds)
    assert title == same
    assert str(title).startswith("Owls: ")
    assert stage.board(client)[0].split(",")[0] == "1"
    FrozenLeaderboards.objects.create(competition=stage.competition, since=clock.now() - timedelta(hours=1))
    assert [titles(client, feed) for feed in feeds] == [[], []]


def test_a_frozen_leaderboard_hides_scores_but_from_the_team(stage: Stage, client: Client) -> None:
    submission = stage.submit("owls", ALL)
    stage.submit("foxes", HALF)
    stage.play()
    FrozenLeaderboards.objects.create(competition=stage.competition, since=clock.now() - timedelta(hours=1))
    answer = client.get(f"/api/v1{BOARD}").json()
    assert [answer["rows"], *(each["rows"] for each in answer["threat_models"])] == [[]] * 4
    assert stage.board(client) == []
    pages = (BOARD, "/competitions/digits-curves/curves/model", f"/submissions/{submission.pk}", "/teams/owls")
    for page in (*pages, "/competitions/digits-curves/history/model"):
        shown = client.get(page).content.decode()
        assert "100.0\N{NO-BREAK SPACE}%" not in shown
        assert '<figure class="chart"' not in shown
    client.force_login(submission.submitted_by)
    assert "100.0\N{NO-BREAK SPACE}%" in client.get(f"/submissions/{submission.pk}").content.decode()
    assert why(client, submission) == [], "it would name the scores of others"
    team = client.get("/teams/owls").content.decode()
    assert ("100.0\N{NO-BREAK SPACE}%" in team, "<dt>Rank</dt>" in team) == (True, False)
    progress = client.get(f"/api/v1/submissions/{submission.pk}").json()["progress"]
    assert (progress["score"], progress["rank"]) == (100.0, None)


def test_a_score_is_not_in_the_public_history_of_a_freeze_before_which_some_of_its_attacks_were_played(
    stage: Stage, client: Client, the_clock: FakeClock
) -> None:
    submission = stage.submit("owls", ALL)
    requests_and_scores.sweep()
    Benchmark.objects.exclude(norm="l2", goal="untargeted").update(paused_until=clock.now() + timedelta(hours=2))
    stage.play()
    assert submission.benchmarks.filter(state="played").count() == 2
    the_clock.forward(hours=1)
    FrozenLeaderboards.objects.create(competition=stage.competition, since=clock.now())
    the_clock.forward(hours=1)
    stage.play()
    history = "/competitions/digits-curves/history/model/decision-untargeted-l2.csv"
    assert client.get(history).status_code == 404
    FrozenLeaderboards.objects.all().delete()
    assert client.get(history).status_code == 200


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"name": "fgsm"}, "there is no attack 'fgsm'; the attacks are "),
        ({"norm": "linf"}, "boundary has no untargeted attack in linf"),
        ({"norm": "l1"}, "'l1' is not a valid Norm"),
        ({"queries": 0}, "queries of boundary must be a whole number"),
    ],
)
def test_a_competition_whose_attacks_cannot_be_run_is_refused(
    root: Path, db: None, changed: dict[str, Any], problem: str
) -> None:
    document = document_of(root)
    document["rules"]["attacks"][0] |= changed
    with pytest.raises(Refusal, match=problem):
        import_competition(document)


def test_models_of_other_threat_models_are_compared_on_one_page(stage: Stage, client: Client) -> None:
    owls, foxes = stage.submit("owls", HALF), stage.submit("foxes", ALL)
    stage.play()
    unknown = foxes.pk + 1
    address = (
        f"/competitions/digits-curves/curves/model?submission={owls.pk}&submission={foxes.pk}&submission={unknown}"
    )
    page = client.get(address).content.decode()
    assert page.count('class="chart-sample"') == 2
    assert f"submission {unknown}" in page
    table = client.get(address.replace("model?", "model.csv?")).content.decode().splitlines()
    assert table[0] == f"budget,{owls.pk}: owls 1 by Owls,{foxes.pk}: foxes 1 by Foxes"
    assert table[1] == "0.0,0.75,1.0"
    assert table[11] == "4.0,0.5,1.0"
    assert client.get(f"/competitions/digits-curves/curves/model.csv?submission={unknown}").status_code == 404


def test_the_history_shows_the_best_model_so_far(stage: Stage, client: Client, the_clock: FakeClock) -> None:
    for team, answers in (("owls", HALF), ("foxes", ALL), ("moles", HALF)):
        stage.submit(team, answers)
        stage.play()
        the_clock.forward(hours=1)
    table = client.get("/competitions/digits-curves/history/model/decision-untargeted-l2.csv").content.decode()
    assert [row.split(",")[1] for row in table.splitlines()[1:]] == ["0.5", "1.0", "1.0", "1.0"]
    team = client.get("/teams/owls").content.decode()
    assert '<figure class="chart" id="score-model"' in team
    assert "Newest:" not in team, "it is the one that counts"
    answer = client.get("/teams/owls/history/model/score.csv")
    assert answer.content.decode().splitlines()[1].split(",")[1:] == ["0.5"] * 3
    assert "1 submission tried. No selection by score takes place: the newest one counts." in team
    assert Benchmark.objects.filter(state="played").count() == 12


def test_the_history_of_a_team_shows_the_submission_that_counts_though_an_older_one_is_scored_later(
    stage: Stage, client: Client, the_clock: FakeClock
) -> None:
    """After new rules or samples, all submissions of a team are benchmarked again, in any order."""
    older, newer = stage.submit("owls", HALF), stage.submit("owls", ALL, 2)
    stage.play()
    first = clock.now()
    ModelScore.objects.filter(submission=newer).update(scored_at=first)
    ModelScore.objects.filter(submission=older).update(scored_at=first + timedelta(hours=1))
    the_clock.forward(hours=2)
    assert stage.board(client)[0].split(",")[2:4] == ["owls 2", "100.0"]
    table = client.get("/teams/owls/history/model/score.csv").content.decode().splitlines()
    assert [row.split(",")[1] for row in table[1:]] == ["1.0", "1.0", "1.0"]


def test_a_round_whose_bundle_could_not_be_read_is_refused(stage: Stage) -> None:
    """A line for each of 4 attacks against each model has every image."""
    large, rules = Round(sample_set=SampleSet(count=10_000)), rules_in_force(stage.competition)
    CurvesRounds().check_field(large, [RoundEntry()] * 50, rules)
    with pytest.raises(Refusal, match=r"could have 65,\d{3},\d{3} bytes, and at most 64,000,000 can be read"):
        CurvesRounds().check_field(large, [RoundEntry()] * 52, rules)
