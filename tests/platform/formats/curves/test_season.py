"""A season of the curves format: pushes, benchmarks, leaderboards, a round, its bundle, a proof against its model."""

from __future__ import annotations

import csv
import io
import json
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command
from django.db.models import F
from django.test import Client
from numpy.typing import NDArray
from pytest_django import Settings

from accounts.models import User
from competitions.sample_store import samples_of
from evaluation.bundle.canonical_json import decode_line, split
from evaluation.bundle.signing import sign
from evaluation.cli.main import main as gauntlet
from evaluation.formats.curves.bundle.verify import verify as verify_bundle
from evaluation.formats.registry import find_bundled
from formats.curves.benchmark_runs import played
from formats.curves.models import Benchmark, ModelScore, Proof
from formats.curves.round_format import CurvesRounds
from rounds.models import Round
from rounds.planning.entries import frozen
from rounds.publishing.publication import publish
from rounds.release.released_parts import release
from rounds.release.signing_keys import public_key
from rounds.running import lifecycle as rounds
from rounds.site_verification import verify
from submissions.models import Submission
from tests.platform.conftest import FakeClock
from tests.platform.formats.curves.conftest import Site
from tests.platform.printed_command import rows_of, rows_of_the_printed_command
from workers.sandboxes import open_sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(30)]

BOARD = "/competitions/digits-curves/leaderboards/model"
CRASHES_LATER = """
seen = 0

def tired(images):
    global seen
    seen += len(images)
    if seen > 40:  # more than the smoke test asks for
        raise SystemExit(3)
    return predict(images)

serve_model(tired)
"""


def test_a_season(
    site: Site, olga: User, alice: User, bob: User, client: Client, the_clock: FakeClock, tmp_path: Path,
    settings: Settings, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    settings.SITE_ADDRESS = site.address
    for user in (alice, bob):
        site.join(user)
    assert "run starts 'missing.py'" in site.push(alice, 1, submission_toml=_manifest("python missing.py"))
    site.push(alice, 2)
    site.push(bob, 1, main_py=_main() + CRASHES_LATER)
    site.beat()
    site.beat()
    good, crashing = (Submission.objects.get(submitted_by=user, state="ready") for user in (alice, bob))
    _the_crash_is_shown(client, crashing)
    _the_printed_command_plays_the_same(site, good, capfd)
    _board(client, good)
    _replay(good)

    round_ = site.plan(olga)
    the_clock.at = round_.window.starts_at
    site.beat()  # it is frozen
    rounds.start(round_=round_, by=olga)
    for _ in range(2):
        site.beat()
    round_.refresh_from_db()
    assert (round_.state, round_.problem) == ("scored", "")
    publish(round_=round_, by=olga)
    release(round_=round_, part="bundle", by=olga, reason="It is over.")
    page = client.get("/competitions/digits-curves/rounds/1").content.decode()
    assert "Alice" in page
    assert "<svg" in page
    bundle = b"".join(client.get("/competitions/digits-curves/rounds/1/files/bundle"))
    report = verify_bundle(bundle, public_key(), samples=round_.commitment, field=round_.field_commitment)
    assert report.ok, report.problems
    assert report.summary[0] == 'round 1 of "digits-curves": 2 models, 8 benchmarks'
    path = tmp_path / "bundle.jsonl"
    path.write_bytes(bundle)
    assert gauntlet(["verify", str(path), "--key", public_key()]) == 0
    forged = bundle.replace(b'"place":2', b'"place":1')
    assert "its value and place do not follow: they are 0 and 2" in str(verify_bundle(forged).problems)
    lines = [decode_line(number, line) for number, line in enumerate(split(bundle), 1)]
    assert [line["place"] for line in lines if line["kind"] == "model"] == [1, 2]

    _of_a_round_frozen_earlier(round_)
    _release_images(round_, olga, bundle, client)
    _a_benchmark_is_replayed(site, round_, olga, capfd)
    _a_proof(site, round_, good, bob, client)

    _changed_scores_are_found(site)


def _changed_scores_are_found(site: Site) -> None:
    call_command("leaderboards", "verify")
    ModelScore.objects.update(accuracy=F("accuracy") + 0.125)
    assert "accuracy do not follow from its benchmarks" in str(verify(site.competition).differences)


def _of_a_round_frozen_earlier(round_: Round) -> None:
    """Its bundle names neither the round nor seeds, and is written again to the same bytes."""
    earlier = Round.objects.get(pk=round_.pk)
    earlier.bundle_format = 1
    signed = sign(CurvesRounds().outcome(earlier, frozen(earlier)).read(), bytes(32))
    assert verify_bundle(signed).problems == ()
    head, *lines = (decode_line(number, line) for number, line in enumerate(split(signed), 1))
    assert "version" not in head
    assert not [line for line in lines if "seed" in line]


def _release_images(round_: Round, olga: User, bundle: bytes, client: Client) -> None:
    """The released images are those of the commitment in the bundle."""
    release(round_=round_, part="images", by=olga, reason="It is over.")
    images = b"".join(client.get("/competitions/digits-curves/rounds/1/files/images"))
    assert verify_bundle(bundle, public_key(), images=[("images.zip", io.BytesIO(images))]).ok
    other = verify_bundle(bundle, public_key(), images=[("images.zip", io.BytesIO(images.replace(b"salt", b"sale")))])
    assert "images.zip cannot be read" in str(other.problems)


def _a_benchmark_is_replayed(site: Site, round_: Round, olga: User, capfd: pytest.CaptureFixture[str]) -> None:
    """Anyone runs an attack of the round again, from what is released, and finds the same distances."""
    release(round_=round_, part="code", by=olga, reason="It is over.")
    fetched = str(site.folder / "fetched")
    round_address = f"{site.address}/competitions/digits-curves/rounds/1"
    assert gauntlet(["fetch", round_address, "--into", fetched, "--images", "--code"]) == 0
    replay = ["replay", "boundary-untargeted-l2/alice", "--from", fetched]
    capfd.readouterr()
    assert gauntlet(["matches", "--from", fetched]) == 0
    assert replay[1] in capfd.readouterr().out
    assert gauntlet([*replay, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["same"]
    distances = [each["replayed"][1] for each in found["samples"]]
    assert len(distances) == 6
    assert any(type(each) is float and each > 0 for each in distances)
    other = shutil.copytree(find_bundled("numpy-classifier").repository(), site.folder / "other")
    (other / "main.py").write_text(f"{_main()}\nserve_model(lambda images: predict(images // 8 * 8))\n")
    assert gauntlet([*replay, "--model", str(other)]) == 1
    assert "samples differ from the bundle" in capfd.readouterr().err
    assert gauntlet([*replay, "--attack", "surfree"]) == 2
    assert "leave --attack out" in capfd.readouterr().err
    assert gauntlet(["replay", "boundary-untargeted-l2/bob", "--from", fetched]) == 3
    assert "the model failed: crashed" in capfd.readouterr().err


def _the_printed_command_plays_the_same(site: Site, good: Submission, capfd: pytest.CaptureFixture[str]) -> None:
    build = good.builds.get()
    place = site.folder / good.submitted_by.username
    assert rows_of_the_printed_command(build, place, capfd) == rows_of(build)


def _the_crash_is_shown(client: Client, crashing: Submission) -> None:
    """A model that crashes under attack has no score; its page says why."""
    rows = crashing.benchmarks.all()
    assert {(row.state, row.reason, row.faults) for row in rows} == {("played", "crashed", 0)}
    assert not crashing.model_scores.exists()
    assert "its process ended with an error" in client.get(f"/submissions/{crashing.pk}").content.decode()


def _board(client: Client, good: Submission) -> None:
    """The leaderboards of all threat models: as pages, as CSV and in the API."""
    answer = client.get(f"/api/v1{BOARD}").json()
    assert [each["threat_model"] for each in answer["threat_models"]] == [
        "decision-untargeted-l2", "decision-untargeted-linf", "decision-targeted-l2",
    ]  # fmt: skip
    assert answer["rows"] == answer["threat_models"][0]["rows"]
    for board in answer["threat_models"]:
        (row,) = board["rows"]
        score = ModelScore.objects.get(submission=good, goal=board["goal"], norm=board["norm"])
        assert row["accuracy"] == 100 * score.accuracy
        assert 0 <= score.accuracy <= score.clean_accuracy <= 1
        assert score.curve[0] == score.clean_accuracy
        assert score.curve == sorted(score.curve, reverse=True)
        assert score.curve[score.budgets.index(board["budget"])] == score.accuracy
        table = client.get(f"{BOARD}.csv?threat={board['threat_model']}").content.decode()
        assert [float(each["accuracy"]) for each in csv.DictReader(io.StringIO(table))] == [row["accuracy"]]
        page = client.get(f"{BOARD}?threat={board['threat_model']}").content.decode()
        assert f"{row['accuracy']:.1f}\N{NO-BREAK SPACE}%" in page
        assert "<svg" in page
    page = client.get(f"/submissions/{good.pk}").content.decode()
    assert page.count('<figure class="chart" id="budgets-') == page.count('<figure class="chart" id="queries-') == 3
    for name in ("curves", "history"):
        assert "<svg" in client.get(f"/competitions/digits-curves/{name}/model").content.decode()


def _a_proof(site: Site, round_: Round, good: Submission, by: User, client: Client) -> None:
    """Images on the way to another digit lower what is best known: a worker asks the model in its sandbox."""
    indices, images = adversarials(round_)
    file = io.BytesIO()
    np.savez_compressed(file, indices=indices, images=images)
    file.seek(0)
    client.force_login(by)
    address = f"/competitions/digits-curves/rounds/1/models/{good.pk}"
    assert (
        "waits for its verification" in client.post(f"{address}/proofs", {"proof": file}, follow=True).content.decode()
    )
    site.beat()
    proof = Proof.objects.get()
    assert proof.outcome == "verified"
    assert "adversarial" in proof.verdicts
    assert {*proof.verdicts} <= {"adversarial", "far"}  # the attacks of the round may have found a nearer one
    assert proof.improvements.exists()
    assert f"proofs/{proof.pk}.npz" in client.get(address).content.decode()


def adversarials(round_: Round) -> tuple[list[int], NDArray[np.uint8]]:
    """Return images of a round near the boundary of the bundled model, on the way to one of another digit."""
    samples = samples_of(round_.sample_set)
    predict = runpy.run_path(str(find_bundled("numpy-classifier").repository() / "main.py"))["predict"]
    clean = np.stack([each.image for each in samples]).astype(float)
    labels = np.array([each.label for each in samples])
    right = predict(clean.astype(np.uint8)) == labels
    found = {}
    for row in right.nonzero()[0]:
        others = (right & (labels != labels[row])).nonzero()[0]
        other = others[np.square(clean[others] - clean[row]).sum(axis=(1, 2, 3)).argmin()]
        steps = np.linspace(0, 1, 100)[:, None, None, None]
        line = (clean[row] + steps * (clean[other] - clean[row])).round().astype(np.uint8)
        image = line[(predict(line) != labels[row]).argmax()]
        for height in range(len(image)):  # rows of pixels that are not needed
            without = image.copy()
            without[height] = clean[row, height]
            image = without if predict(without[None])[0] != labels[row] else image
        found[int(row)] = image
    return list(found), np.stack(list(found.values()))


def _replay(good: Submission) -> None:
    """A benchmark that is played again gives the same file."""
    first = good.benchmarks.all()[0]
    again = played(Benchmark.objects.get(pk=first.pk), open_sandbox())
    assert again["result"] == first.result


def _main() -> str:
    source = (find_bundled("numpy-classifier").repository() / "main.py").read_text()
    return source.partition("if __name__")[0]


def _manifest(run: str) -> str:
    return f'[submission]\ntrack = "model"\nrun = "{run}"\ntitle = "Model"\nlicence = "Apache-2.0"\n'
