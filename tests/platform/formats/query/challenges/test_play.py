"""Challenges that are played: real players in the process sandbox."""

from __future__ import annotations

import html
import io
import json
import re
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client
from PIL import Image
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from core import clock
from evaluation.cli import main
from formats.query.challenges import play_challenge
from formats.query.challenges.models import Challenge
from formats.query.challenges.services import challenge
from formats.query.leaderboards.models import Standing
from formats.query.matches.models import Match, SampleResult
from repositories.models import Repository
from submissions.models import Submission
from tests.platform.formats.query.challenges.requests import other_team, ready, release
from workers import queue
from workers.calibration import OUT_OF_TIME
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.worker_loop import play

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def worker(db: None) -> Worker:
    return Worker.objects.create(name="host/0", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())


def let_play(worker: Worker) -> None:
    with WorkerHeartbeat(worker) as heartbeat:
        play(worker, heartbeat, seconds=60.0)


def test_it_is_played_on_the_first_development_images_and_counts_nowhere(
    model: Submission, alice: User, worker: Worker, client: Client
) -> None:
    made = challenge(submission=model, opponent="gaussian-noise", by=alice)
    Challenge.objects.update(samples=3)
    let_play(worker)
    made.refresh_from_db()
    assert (made.progress, made.fault) == ("played", "")
    assert [row["sample"] for row in made.results] == [0, 1, 2]
    assert made.median == sorted(row["distance"] for row in made.results)[1]
    assert all(row["queries"] <= 50 for row in made.results)
    assert not Match.objects.exists()
    assert not SampleResult.objects.exists()
    assert not Standing.objects.exists()
    client.force_login(alice)
    page = client.get(f"/challenges/{made.pk}").content.decode()
    assert f"{made.median:.3f}" in page
    assert "3, development" in page
    listed = client.get(f"/submissions/{model.pk}").content.decode()
    assert f"{made.median:.3f}" in listed
    answer = client.get(f"/api/v1/submissions/{model.pk}/challenges/{made.pk}").json()
    assert (answer["state"], answer["numbers"]["samples"], len(answer["samples"])) == ("played", 3, 3)
    pictures = [
        np.asarray(Image.open(io.BytesIO(client.get(f"/challenges/{made.pk}/samples/1/{name}.png").content)))
        for name in ("clean", "perturbed")
    ]
    assert pictures[0].shape == pictures[1].shape == (64, 64, 3)
    assert client.get(f"/challenges/{made.pk}/samples/3/perturbed.png").status_code == 404


@pytest.mark.slow(15)
def test_the_commands_on_its_page_play_the_same_match(
    model: Submission, alice: User, worker: Worker, client: Client, live_server: LiveServer, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    made = challenge(submission=model, opponent="gaussian-noise", by=alice)
    Challenge.objects.update(samples=1)
    client.force_login(alice)
    address = f"/challenges/{made.pk}"
    assert 'id="play"' not in client.get(address).content.decode(), "it is not played yet"
    let_play(worker)
    made.refresh_from_db()
    page = client.get(address, headers={"Host": live_server.url.removeprefix("http://")})
    shown = re.search(r'id="play">(.*?)</code>', page.content.decode(), re.DOTALL)
    assert shown is not None
    monkeypatch.chdir(tmp_path)
    commands = [shlex.split(line) for line in html.unescape(shown[1]).replace("\\\n", " ").splitlines() if line]
    assert [words[:2] for words in commands] == [["gauntlet", "new"], ["gauntlet", "new"], ["gauntlet", "play"]]
    assert [main(words[1:]) for words in commands] == [0, 0, 0]
    result = json.loads((tmp_path / f"challenge-{made.pk}/result.json").read_text())
    columns = "sample", "outcome", "queries"
    again = [[row[name] for name in columns] for row in result["samples"]]
    assert again == [[row[name] for name in columns] for row in made.results]
    made.rules.competition.rules_versions.create(version=2, values=made.rules.values, created_at=clock.now(), note="2")
    assert 'id="play"' not in client.get(address).content.decode(), "others are in force"


def test_an_attack_meets_a_released_model(
    model: Submission, repositories: dict[str, Repository], worker: Worker, alice: User
) -> None:
    other = other_team(model.repository)
    opponent = ready(other, other.entry.team.members.get())
    release(opponent)
    attack = ready(repositories["targeted"], alice)
    made = challenge(submission=attack, opponent=str(opponent.pk), by=alice)
    Challenge.objects.update(samples=1)
    let_play(worker)
    made.refresh_from_db()
    assert (made.progress, made.attack_track, len(made.results)) == ("played", "targeted", 1)


def test_what_a_player_does_wrong_is_part_of_the_result(model: Submission, alice: User, worker: Worker) -> None:
    """The attack has a thousandth of a second for its sample, and so many queries that it computes for longer."""
    made = challenge(submission=model, opponent="gaussian-noise", by=alice)
    Challenge.objects.update(samples=1)
    rules = made.rules
    rules.values |= {"attack_seconds_per_sample": 0.001, "query_budget": 5000}
    rules.save()
    let_play(worker)
    made.refresh_from_db()
    assert made.progress == "played"
    assert made.results[0]["reason"] in OUT_OF_TIME


def test_one_that_needs_a_gpu_waits_for_a_worker_with_one(model: Submission, alice: User, worker: Worker) -> None:
    challenge(submission=model, opponent="gaussian-noise", by=alice)
    Challenge.objects.update(needs_gpu=True)
    assert queue.claim(worker) is None
    worker.device = "0"
    assert queue.claim(worker) is not None


@pytest.mark.parametrize("change", [{"state": "withdrawn"}, {"disqualified_at": clock.now()}])
def test_nothing_is_played_with_a_player_that_left(
    model: Submission, repositories: dict[str, Repository], alice: User, worker: Worker, change: dict[str, Any]
) -> None:
    other = other_team(model.repository)
    opponent = ready(other, other.entry.team.members.get())
    release(opponent)
    attack = ready(repositories["untargeted"], alice)
    made = challenge(submission=attack, opponent=str(opponent.pk), by=alice)
    Submission.objects.filter(pk=opponent.pk).update(**change)
    assert queue.claim(worker) is None
    assert Challenge.objects.get().progress == "cancelled"
    assert play_challenge.longest(made) > timedelta(0)
