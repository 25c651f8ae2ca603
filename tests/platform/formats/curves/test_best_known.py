"""What is best known of released models: uploads of proofs, their verification, and what they lower."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from django.db import connection, transaction
from django.db.models import Model
from django.test import Client
from pytest_django.live_server_helper import LiveServer
from rest_framework.test import APIClient
from torch import Tensor

from accounts.models import User
from accounts.services import issue_token
from competitions.models import Competition, Organiser
from competitions.sample_store import samples_of
from core import clock
from core.errors import Fault, Refusal, RefusedForNow
from evaluation.cli import main
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import Images
from evaluation.domain.samples import Sample
from evaluation.formats.curves.models.classifier import Classifier, Loss
from evaluation.formats.curves.models.sandboxed_classifier import ModelFailedError, as_pixels
from evaluation.formats.curves.proofs.verification import DeadlineExceededError
from evaluation.formats.curves.threat_models import Knowledge, Norm
from formats.curves import proof_api, requests_and_scores
from formats.curves.best_known import proof_uploads, proof_verification, upload_rate
from formats.curves.best_known.best_known_distances import best_known
from formats.curves.best_known.proof_work import proofs
from formats.curves.models import Benchmark, Improvement, ModelScore, Proof
from formats.curves.pages import best_known_views
from formats.curves.round_format import CurvesRounds
from pages.formats import page_formats
from rounds.models import Round, RoundEntry
from rounds.planning.freeze import freeze
from rounds.planning.plan import plan_round
from rounds.publishing.publication import publish
from rounds.release.released_parts import release, withdraw
from rounds.running import lifecycle
from submissions.models import Submission
from tests.platform.conftest import FakeClock
from tests.platform.formats.curves.test_benchmarks import Stage, play_all, stage
from workers import queue
from workers.lease import Leased, LostClaimError
from workers.models import Host, Worker
from workers.sandboxes import Sandbox, open_sandbox

__all__ = ["stage"]

FOUND: Mapping[str, list[float]] = {
    "l2": [0.0, 2.0, 2.0, 4.5, 9.0, np.inf],
    "linf": [0.0, 0.2, 0.2, 0.2, np.inf, np.inf],
}
"""What the attacks of the round find; the model is wrong on the first image."""
RIGHT_BELOW = 3
"""The model is right on changed images whose first value is smaller: the clean ones have 0."""


class Memory(Classifier):
    """A model that knows the clean images; it is wrong on the first one, and on changed ones."""

    name, classes = "memory", 10

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._clean = np.stack([each.image for each in samples]).astype(int)
        self._labels = [each.label for each in samples]

    @property
    def offers(self) -> frozenset[Knowledge]:
        return frozenset({Knowledge.DECISION})

    def labels(self, images: Tensor) -> Tensor:
        return torch.tensor([self._label(each) for each in as_pixels(images)])

    def _label(self, image: Images) -> int:
        row = int(np.abs(self._clean - image.astype(int)).sum(axis=(1, 2, 3)).argmin())
        return (self._labels[row] + (row == 0 or image[0, 0, 0] >= RIGHT_BELOW)) % self.classes

    def logits(self, images: Tensor) -> Tensor:
        raise NotImplementedError

    def gradient(self, images: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        raise NotImplementedError


class Released:
    """A model that is released with its round, and who may lower what is best known of it."""

    def __init__(self, round_: Round, monkeypatch: pytest.MonkeyPatch) -> None:
        self.round = round_
        self.entry: RoundEntry = round_.entries.get()
        self.samples = samples_of(round_.sample_set)
        self.address = f"/competitions/digits-curves/rounds/1/models/{self.entry.submission_id}"
        self.proofs = f"/api/v1{self.address}/proofs"
        self.ann, self.ben = (User.objects.create_user(name, f"{name}@example.org") for name in ("ann", "ben"))
        self.ends_with: Exception | None = None
        monkeypatch.setattr(proof_verification, "_instance", self._instance)

    @contextmanager
    def _instance(self, proof: Proof, sandbox: Sandbox) -> Iterator[Classifier]:
        if self.ends_with is not None:
            raise self.ends_with
        yield Memory(self.samples)

    def npz(self, changes: Mapping[int, int]) -> bytes:
        """Return an archive with images whose first value is changed by so much."""
        file = io.BytesIO()
        np.savez(file, indices=[*changes], images=np.stack([self.changed(*each) for each in changes.items()]))
        return file.getvalue()

    def changed(self, index: int, by: int) -> Images:
        image = self.samples[index].image.copy()
        image[0, 0, 0] = by
        return image

    def upload(self, by: User, content: bytes) -> Proof:
        return proof_uploads.upload(entry=self.entry, by=by, content=content)

    def best(self, norm: Norm) -> list[float]:
        return [float(each) for each in best_known(self.entry).distances[norm].round(4)]


def differences() -> Sequence[object]:
    """Return what does not follow from what."""
    return CurvesRounds().verify(Competition.objects.all(), repair=False).differences


def post(client: Client, released: Released, content: bytes | None = None) -> str:
    """Upload as a browser does; return the page that follows."""
    form = {} if content is None else {"proof": io.BytesIO(content)}
    return client.post(f"{released.address}/proofs", form, follow=True).content.decode()


def by_api(user: User | None = None) -> APIClient:
    """Return a client of the API with a token of a person, or of nobody."""
    client = APIClient()
    if user is not None:
        _, plain = issue_token(user=user, name="program", scopes=("read", "submit"), days=1)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {plain}")
    return client


def uploaded_by_api(released: Released) -> None:
    """Upload a proof with a program, and let it be verified."""
    archive = released.npz({0: 9, 1: 51, 2: 2, 5: 102})
    made = by_api(released.ann).post(released.proofs, archive, content_type="application/octet-stream")
    assert made.status_code == 201, made.content
    assert made.json().items() >= {"by": "ann", "state": "waiting", "outcome": "", "images": 4}.items()
    listed = [len(by_api(user).get(released.proofs).json()["results"]) for user in (released.ann, released.ben, None)]
    assert listed == [1, 0, 0], "before it is verified, only who uploaded it sees it"
    images = f"{released.proofs}/{made.json()['number']}/images"
    assert by_api(released.ann).get(images).status_code == 404
    play_all()
    (shown,) = by_api().get(released.proofs).json()["results"]
    assert by_api().get(f"{released.proofs}/{shown['number']}").json() == shown
    assert (shown["outcome"], shown["improvements"]) == ("verified", 3)
    assert shown["verdicts"] == {"far": 1, "adversarial": 2, "right": 1}
    assert np.load(io.BytesIO(by_api().get(images).getvalue()))["indices"].tolist() == [0, 1, 2, 5]


def organiser(stage: Stage) -> User:
    """Make Olga an organiser."""
    found = User.objects.create_user("olga", "olga@example.org")
    Organiser.objects.create(competition=stage.competition, user=found)
    return found


def frozen_round(stage: Stage, olga: User, the_clock: FakeClock, number: int = 1) -> Round:
    """A team has a ready model, and a round is frozen with it."""
    stage.submit("owls", FOUND, number)
    hour = timedelta(hours=1)
    round_ = plan_round(
        competition=stage.competition, title="Round 1", kind="final", schedule="", guard=False, samples=6,
        source=stage.competition.sample_sets.get(name="final"), by=olga, starts_at=clock.now() + hour,
        ends_at=clock.now() + 2 * hour,
    )  # fmt: skip
    the_clock.at = round_.window.starts_at
    freeze(round_=round_, by=olga)
    return round_


def played_round(round_: Round, olga: User, the_clock: FakeClock) -> Round:
    """A frozen round is played and published."""
    lifecycle.start(round_=round_, by=olga)
    play_all()
    CurvesRounds().advance(round_)
    the_clock.at = round_.window.ends_at + timedelta(hours=1)
    publish(round_=round_, by=olga)
    return Round.objects.get(pk=round_.pk)


@pytest.fixture
def published(stage: Stage, the_clock: FakeClock) -> Round:
    """A published round with one model; nothing of it is released."""
    olga = organiser(stage)
    return played_round(frozen_round(stage, olga, the_clock), olga, the_clock)


@pytest.fixture
def released(published: Round, monkeypatch: pytest.MonkeyPatch) -> Released:
    """The model of the round, whose bundle and images are released."""
    for part in ("bundle", "images"):
        release(round_=published, part=part, by=User.objects.get(username="olga"), reason="It is over.")
    return Released(published, monkeypatch)


def test_a_proof_lowers_what_is_best_known_and_leaves_the_round_as_it_is(released: Released, client: Client) -> None:
    results = list(RoundEntry.objects.values()), list(ModelScore.objects.values()), released.round.outcome
    bundle = client.get("/competitions/digits-curves/rounds/1/files/bundle").getvalue()
    assert released.best(Norm.L2) == FOUND["l2"]
    uploaded_by_api(released)
    assert released.best(Norm.L2) == [0.0, 0.2, 2.0, 4.5, 9.0, 0.4]
    assert released.best(Norm.LINF) == [0.0, 0.2, 0.2, 0.2, np.inf, 0.4]
    proof = Proof.objects.get()
    assert proof.verdicts == ["far", "adversarial", "right", "adversarial"]
    assert proof.outcome == "verified"

    page = client.get(released.address).content.decode()
    assert "50.0\N{NO-BREAK SPACE}% &rarr; 50.0\N{NO-BREAK SPACE}%" not in page
    assert "ann" in page
    assert page.count("<svg") >= 2
    assert released.address in client.get("/competitions/digits-curves/rounds/1").content.decode()
    assert released.address in client.get(f"/submissions/{released.entry.submission_id}").content.decode()
    kept = client.get(f"{released.address}/proofs/{proof.pk}.npz").getvalue()
    assert np.load(io.BytesIO(kept))["indices"].tolist() == [0, 1, 2, 5]
    rows = list(csv.DictReader(io.StringIO(client.get(f"{released.address}/best-known.csv").content.decode())))
    assert [(row["image"], row["norm"], row["from"], row["to"]) for row in rows if row["by"] == "ann"] == [
        ("5", "linf", "", "0.4"), ("1", "l2", "2.0", "0.2"), ("5", "l2", "", "0.4"),
    ]  # fmt: skip
    assert {row["by"] for row in rows if row["image"] == "3"} == {"boundary", "hop-skip-jump"}
    (shown,) = client.get(f"/api/v1/submissions/{released.entry.submission_id}").json()["best_known"]
    l2 = shown["norms"][1]
    assert l2["contest"] == {"accuracy": 0.5, "median_distance": 3.25}
    assert l2["best_known"] == {"accuracy": 2 / 6, "median_distance": 1.2}
    assert [each["images"] for each in shown["improvements"]] == [1, 2]
    assert shown["attacks"][0]["optimality"] == 1.0

    after = list(RoundEntry.objects.values()), list(ModelScore.objects.values()), Round.objects.get().outcome
    assert after == results
    assert client.get("/competitions/digits-curves/rounds/1/files/bundle").getvalue() == bundle
    assert differences() == ()
    Improvement.objects.filter(image=1).update(distance=0.1)
    assert "do not follow from its images and verdicts" in str(differences())


def test_a_round_that_was_cancelled_before_it_played_keeps_no_images_secret(stage: Stage, the_clock: FakeClock) -> None:
    olga = organiser(stage)
    cancelled = frozen_round(stage, olga, the_clock)
    lifecycle.cancel(round_=cancelled, by=olga, reason="A mistake.")
    the_clock.at = cancelled.window.ends_at + timedelta(hours=1)
    played = played_round(frozen_round(stage, olga, the_clock, number=2), olga, the_clock)
    Competition.objects.update(ends_at=clock.now())
    assert cancelled.benchmarks.filter(state="waiting").exists()
    release(round_=played, part="images", by=olga, reason="It is over.")


@pytest.mark.django_db(transaction=True)
def test_the_command_uploads_a_proof_and_waits_for_its_verification(
    released: Released, live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("GAUNTLET_SITE", live_server.url)
    monkeypatch.setenv("GAUNTLET_TOKEN", issue_token(user=released.ann, name="x", scopes=("read", "submit"), days=1)[1])
    monkeypatch.setattr("evaluation.cli.site_prove.time.sleep", lambda _: play_all())
    archive = tmp_path / "proof.npz"
    archive.write_bytes(released.npz({1: 51, 2: 2}))
    words = ["prove", "digits-curves/1", str(released.entry.submission_id), str(archive), "--wait"]
    assert main(words) == 0
    assert re.search(r"state +verified *\nadversarial +1 *\nright +1 *\nimprovements +1\b", capsys.readouterr().out)
    assert main(words) == 3
    assert "has the same images" in capsys.readouterr().err


def test_of_two_proofs_that_are_verified_at_once_the_nearer_one_counts(released: Released) -> None:
    for by, change in ((released.ann, 51), (released.ben, 26)):
        released.upload(by, released.npz({1: change, 2: 77 - change}))
    claims = [claimed.claim for name in "ab" if (claimed := queue.claim(Worker(name=name, worker_class="cpu")))]
    results = [proofs.play(each, open_sandbox()) for each in claims]
    for claim, result in zip(claims, results, strict=True):
        with transaction.atomic():
            assert claim.release(state="played", **result)
            proofs.committed(claim, result)
    assert released.best(Norm.L2)[1:3] == [round(26 / 255, 4), round(26 / 255, 4)]
    assert [(each.proof.by.username, each.image) for each in Improvement.objects.filter(norm="l2")] == [
        ("ann", 1), ("ann", 2), ("ben", 1),
    ]  # fmt: skip
    assert differences() == ()


def test_proofs_that_a_drained_host_verified_are_listed_while_they_are_best_known(
    released: Released, the_clock: FakeClock
) -> None:
    def listed() -> list[int]:
        fixes = page_formats["curves"].rows_to_fix()
        return [each.pk for fix in fixes if fix.title == "Proofs that drained hosts verified" for each in fix.rows]

    proof = released.upload(released.ann, released.npz({1: 51}))
    play_all()
    Worker.objects.create(name="bad/0", worker_class="cpu", started_at=the_clock.at, last_seen_at=the_clock.at)
    Proof.objects.filter(pk=proof.pk).update(worker="bad/0")
    assert listed() == []
    Host.objects.create(name="bad", doubtful_until=the_clock.at)
    assert listed() == [proof.pk]
    the_clock.forward(minutes=1)
    released.upload(released.ben, released.npz({1: 26}))
    play_all()
    assert listed() == [], "another one is nearer"


def test_a_late_commit_of_a_lost_worker_writes_nothing(released: Released, the_clock: FakeClock) -> None:
    proof = released.upload(released.ann, released.npz({1: 51}))
    lost = queue.claim(Worker(name="lost", worker_class="cpu"))
    assert lost is not None
    result = proofs.play(lost.claim, open_sandbox())
    the_clock.forward(seconds=2 * Leased.LEASE.total_seconds())
    play_all()
    assert Improvement.objects.count() == 1
    with pytest.raises(LostClaimError), proofs.session(lost.claim, cast(Any, None)) as session:
        session.play(lost.claim)
    assert not lost.claim.release(state="played", **result)
    assert Improvement.objects.count() == 1
    proof.refresh_from_db()
    assert (proof.position, proof.faults) == (1, 1)


@pytest.mark.parametrize(
    ("error", "outcome", "text"),
    [
        (ModelFailedError(Reason.CRASHED, "exit status 3"), "model failed", "its process ended with an error"),
        (DeadlineExceededError(), "too long", "Upload fewer images at a time"),
    ],
)
def test_what_is_no_error_of_the_uploader_costs_nothing(
    released: Released, client: Client, error: Exception, outcome: str, text: str
) -> None:
    released.ends_with = error
    released.upload(released.ann, released.npz({1: 51}))
    play_all()
    proof = Proof.objects.get()
    assert (proof.state, proof.outcome, proof.faults, proof.position) == ("played", outcome, 0, None)
    client.force_login(released.ann)
    page = client.get(released.address).content.decode().replace("Its process", "its process")
    assert text in page
    assert "This is no error of yours." in page
    assert "exit status" not in page
    assert client.get(f"{released.address}/proofs/{proof.pk}.npz").status_code == 404
    released.ends_with = None
    released.upload(released.ann, released.npz({1: 51}))
    play_all()
    assert released.best(Norm.L2)[1] == 0.2
    assert differences() == ()


def test_a_platform_error_is_tried_again_and_can_be_replayed(released: Released, the_clock: FakeClock) -> None:
    released.ends_with = Fault("the disk is full")
    proof = released.upload(released.ann, released.npz({1: 51}))
    play_all()
    proof.refresh_from_db()
    assert (proof.state, proof.outcome, proof.reason, proof.fault) == ("waiting", "", "", "Fault: the disk is full")
    assert proof.faults + proof.host_faults == 1
    proofs.give_up(proof, released.ann, "It does not help.")
    the_clock.forward(hours=2)
    released.ends_with = None
    play_all()
    assert not Improvement.objects.exists()
    proofs.replay(proof, released.ann, "The disk is larger.")
    play_all()
    assert released.best(Norm.L2)[1] == 0.2
    with pytest.raises(Refusal, match="has not failed"):
        proofs.replay(proof, None)


def test_what_lowers_nothing_and_what_waits_already_is_refused(
    released: Released, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(released.ann)
    assert "No image is nearer" in post(client, released, released.npz({0: 9}))
    assert "waits for its verification" in post(client, released, released.npz({1: 51}))
    assert "has the same images" in post(client, released, released.npz({1: 51}))
    assert "The index 1 is there more than once" in post(client, released, _twice(released))
    assert "No file was uploaded" in post(client, released)
    play_all()
    assert "No image is nearer" in post(client, released, released.npz({1: 51}))
    monkeypatch.setattr(proof_uploads, "MOST_WAITING", 1)
    released.upload(released.ann, released.npz({1: 50}))
    with pytest.raises(Refusal, match="1 of your proofs wait"):
        released.upload(released.ann, released.npz({1: 49}))
    released.upload(released.ben, released.npz({1: 49}))


def _twice(released: Released) -> bytes:
    file = io.BytesIO()
    np.savez(file, indices=[1, 1], images=np.stack([released.changed(1, 9)] * 2))
    return file.getvalue()


def test_images_of_another_model_count_only_where_this_one_is_wrong(released: Released) -> None:
    images = np.stack([released.changed(index, by) for index, by in ((3, 51), (1, 2), (2, 1))])
    text = base64.b64encode(images.tobytes()).decode()
    released.upload(released.ann, json.dumps({"indices": [3, 1, 2], "images": text}).encode())
    play_all()
    assert Proof.objects.get().verdicts == ["right", "right", "adversarial"]
    assert [each.image for each in Improvement.objects.filter(norm="l2")] == [3]


def test_uploads_are_limited_by_size_and_by_hour(
    released: Released, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(released.ann)
    monkeypatch.setattr(best_known_views, "MOST_BYTES", -(1 << 15))
    answer = client.post(f"{released.address}/proofs", {"proof": io.BytesIO(bytes(1 << 16))})
    assert (answer.status_code, answer.content.decode().split(" fix")[0].strip()) == (
        413, "an upload may have at most 64 MiB",
    )  # fmt: skip
    monkeypatch.undo()
    monkeypatch.setattr(proof_uploads, "MOST_BYTES_A_DAY", 1000)
    assert "Your proofs of a day may have at most 0 MiB" in post(client, released, released.npz({1: 51}))
    assert not Proof.objects.exists()
    monkeypatch.setattr(proof_uploads, "MOST_BYTES_A_DAY", 1 << 20)
    with proof_uploads._reading(), pytest.raises(Refusal, match="another upload is being read"):
        released.upload(released.ann, released.npz({1: 51}))
    monkeypatch.setattr(upload_rate.UploadThrottle, "rate", "3/hour")
    for _ in range(2):
        assert "No file was uploaded" in post(client, released)
    assert "proofs within an hour" in post(client, released)
    refused = by_api(released.ann).post(released.proofs, b"x", content_type="application/octet-stream")
    assert (refused.status_code, refused.json()["code"]) == (409, "rejected-for-now"), "counted with those of the page"
    monkeypatch.setattr(proof_api, "MOST_BYTES", 0)
    large = by_api(released.ben).post(released.proofs, b"x", content_type="application/octet-stream")
    assert (large.status_code, large.json()["detail"]) == (413, "an upload may have at most 64 MiB")


def test_an_upload_is_accepted_from_the_promised_time_on(
    released: Released, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = released.upload(released.ann, released.npz({1: 51}))
    the_clock.forward(hours=1)
    large = released.upload(released.ann, released.npz({2: 51}))
    for each, size in ((small, 1), (large, 1 << 20)):
        Proof.objects.filter(pk=each.pk).update(bytes=size)
    monkeypatch.setattr(proof_uploads, "MOST_BYTES_A_DAY", 1 << 20)
    with pytest.raises(RefusedForNow) as refused:
        released.upload(released.ann, released.npz({3: 51}))
    the_clock.at = refused.value.accepted_from
    released.upload(released.ann, released.npz({3: 51}))
    assert the_clock.at == large.uploaded_at + timedelta(days=1)


def test_only_people_who_are_signed_in_upload_with_a_token_of_the_form(released: Released) -> None:
    address = f"{released.address}/proofs"
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(address).headers["Location"].startswith("/accounts/login")
    strict.force_login(released.ann)
    assert strict.post(address, {"proof": io.BytesIO(released.npz({1: 51}))}).status_code == 403
    assert not Proof.objects.exists()
    page = strict.get(released.address).content.decode()
    token = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    form = {"csrfmiddlewaretoken": token, "proof": io.BytesIO(released.npz({1: 51}))}
    assert strict.post(address, form).status_code == 302
    assert Proof.objects.get().by == released.ann


def test_nothing_is_taken_or_shown_of_a_model_that_is_not_released(
    published: Round, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, olga = Released(published, monkeypatch), User.objects.get(username="olga")
    client.force_login(hidden.ann)

    def statuses() -> set[int]:
        pages = ("", "/best-known.csv", "/proofs/1.npz")
        answers = [client.get(hidden.address + page) for page in pages] + [client.post(f"{hidden.address}/proofs")]
        return {each.status_code for each in answers}

    assert statuses() == {404}
    release(round_=published, part="images", by=olga, reason="It is over.")
    assert statuses() == {404}
    with pytest.raises(Refusal, match="the model is not released"):
        hidden.upload(hidden.ann, hidden.npz({1: 51}))
    assert client.get(f"/api/v1/submissions/{hidden.entry.submission_id}").json()["best_known"] == []
    bundle = release(round_=published, part="bundle", by=olga, reason="It is over.")
    assert client.get(hidden.address).status_code == 200
    assert client.get(hidden.address.replace("digits-curves", "digits")).status_code == 404
    assert client.get(hidden.address.rpartition("/")[0] + "/999999").status_code == 404
    hidden.upload(hidden.ann, hidden.npz({1: 51}))
    withdraw(release=bundle, by=olga, reason="A mistake.")
    assert statuses() == {404}
    play_all()
    assert Proof.objects.get().outcome == "verified"


@pytest.mark.parametrize("gone", ["withdrawn", "disqualified"])
def test_a_model_that_left_after_its_release_takes_no_proofs(released: Released, client: Client, gone: str) -> None:
    changed = {"state": Submission.State.WITHDRAWN} if gone == "withdrawn" else {"disqualified_at": clock.now()}
    released.upload(released.ann, released.npz({2: 51}))
    Submission.objects.filter(pk=released.entry.submission_id).update(**changed)
    client.force_login(released.ann)
    assert f"The model was {gone}, so what is best known of it stays as it is" in post(
        client, released, released.npz({1: 51})
    )
    assert f"The model was {gone}" in client.get(released.address).content.decode()
    play_all()
    assert released.best(Norm.L2)[1:3] == [2.0, 0.2]


def test_an_archived_competition_takes_no_proofs(released: Released, client: Client) -> None:
    Competition.objects.update(archived_at=clock.now())
    client.force_login(released.ann)
    page = client.get(released.address).content.decode()
    assert ("was archived at" in page, 'type="file"' in page) == (True, False)
    assert "was archived at" in post(client, released, b"nothing that is read")


def test_proofs_that_wait_in_an_archived_competition_leave_room_for_others(
    released: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof_uploads, "MOST_WAITING", 1)
    waiting = released.upload(released.ann, released.npz({1: 50}))
    with pytest.raises(Refusal, match="1 of your proofs wait"):
        released.upload(released.ann, released.npz({1: 49}))
    old = again(released.round.competition, slug="old", archived_at=clock.now())
    places = {name: again(getattr(released.round, name), competition=old) for name in ("window", "sample_set")}
    waiting.round_entry = again(released.entry, round=again(released.round, competition=old, **places))
    waiting.save()
    released.upload(released.ann, released.npz({1: 49}))


def again(row: Model, **changes: Any) -> Any:
    """Return a copy of a row, with changes."""
    made = type(row)._default_manager.get(pk=row.pk)
    made.pk = None
    for name, value in changes.items():
        setattr(made, name, value)
    made.save()
    return made


def test_what_is_known_starts_with_what_the_attacks_found(released: Released, client: Client) -> None:
    released.round.benchmarks.filter(norm="linf").delete()
    assert released.best(Norm.LINF) == [0.0] + [np.inf] * 5
    assert best_known(released.entry).contest(Norm.LINF) is None
    assert client.get(released.address).status_code == 200
    released.round.benchmarks.filter(goal="targeted").update(result="", reason="crashed")
    assert client.get(released.address).status_code == 404  # it got no image right in the round


def test_the_page_of_a_round_shows_its_places_without_a_lost_result(
    released: Released, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    address = "/competitions/digits-curves/rounds/1"
    assert 'id="known-title"' in client.get(address).content.decode()
    Benchmark.objects.update(result="0" * 64)
    page = client.get(address).content.decode()
    assert ('id="track-title"' in page, 'id="known-title"' in page) == (True, False)
    assert "what is best known of the models of digits-curves: Round 1 cannot be shown" in caplog.text


def test_the_check_names_what_a_lost_result_leaves_unknown_and_goes_on(released: Released) -> None:
    proof = released.upload(released.ann, released.npz({1: 51}))
    play_all()
    requests_and_scores.sweep()
    lost = released.round.benchmarks.filter(norm="linf")
    kept = ModelScore.objects.filter(norm="l2", goal="untargeted", sample_set=released.round.sample_set)
    lost.update(result="0" * 64)
    kept.update(accuracy=0.9)
    Improvement.objects.update(distance=0.1)
    found = [str(each) for each in differences()]
    assert sum(": it cannot be computed: " in each for each in found) == 1
    assert sum("accuracy do not follow from its benchmarks" in each for each in found) == 1
    assert sum("Round 1: its outcome cannot be computed: " in each for each in found) == 1
    assert sum("what is best known of it cannot be computed: " in each for each in found) == 1
    lost.update(result=released.round.benchmarks.filter(goal="targeted").get().result)
    Proof.objects.filter(pk=proof.pk).update(content="0" * 64)
    assert "what is best known of it cannot be computed: " in str(differences())


@pytest.mark.django_db(transaction=True)
def test_workers_that_commit_at_once_take_turns(released: Released) -> None:
    changes = {"ann": 51, "ben": 26}
    for by in (released.ann, released.ben):
        released.upload(by, released.npz({1: changes[by.username], 2: 77 - changes[by.username]}))
    claims = [claimed.claim for name in "ab" if (claimed := queue.claim(Worker(name=name, worker_class="cpu")))]
    results = [proofs.play(each, open_sandbox()) for each in claims]
    together = threading.Barrier(2)

    def commit(claim: Proof, result: Mapping[str, Any]) -> None:
        try:
            together.wait()
            with transaction.atomic():
                assert claim.release(state="played", **result)
                proofs.committed(claim, result)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(commit, claims, results))
    assert {*Proof.objects.values_list("position", flat=True)} == {1, 2}
    assert released.best(Norm.L2)[1:3] == [round(26 / 255, 4)] * 2
    assert Improvement.objects.filter(norm="l2").count() == 3
    assert differences() == ()
