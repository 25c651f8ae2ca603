"""A released round of real players: fetched from its site, and played again."""

from __future__ import annotations

import fcntl
import json
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from competitions import services as competitions
from competitions.models import Competition
from core import clock, worker_notifications
from demo.git_push import TAG, push_copy
from demo.virtual_teams import Change
from evaluation.bundle import body_in_parts
from evaluation.bundle.key_succession import public_key
from evaluation.bundle.signing import sign
from evaluation.cli import main, replay, site_version_check
from evaluation.formats.query.catalogue import find_baseline
from evaluation.legacy.environment import VARIABLE
from formats.query.matches import player_builds
from formats.query.rounds.round_advancement import advance_round
from repositories.git_reader import GitReader
from rounds.models import Release, Round
from rounds.planning.freeze import freeze
from rounds.planning.plan import plan_round
from rounds.publishing.publication import publish
from rounds.release.released_parts import release, withdraw
from rounds.running import lifecycle
from submissions.models import Submission
from tests.journeys import small_round
from tests.platform.submissions.pipeline.conftest import push_files
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.worker_loop import play

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(5)]

Run = Callable[..., tuple[int, str, str]]

OTHER_KEY = b"7" * 32
ATTACK_OF_2018 = Path(__file__).resolve().parents[3] / "repos" / "avc2018" / "plain-attack"
NOISE = small_round.NOISE.format(draws=1).replace(
    "image + rng.normal(0, 3 * step * 1, image.shape)",
    "127.5 + (image - 127.5) * (1 - step / 36) + rng.normal(0, 9, image.shape)",
)
WITHOUT_SEED = NOISE.replace("rng.normal", "np.random.default_rng().normal")
WITHOUT_SEED = WITHOUT_SEED.replace("from gauntlet", "import numpy as np\nfrom gauntlet")


@pytest.fixture
def gauntlet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command, of somebody who is not signed in; return its exit status and what it printed on both streams."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("GAUNTLET_SITE", "GAUNTLET_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(site_version_check, "_noted", set())

    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def organiser() -> User:
    return User.objects.create_superuser("olga", "", "a long enough password")


@pytest.fixture
def released_round(organiser: User, monkeypatch: pytest.MonkeyPatch) -> Round:
    """A round of a bundled model and three attacks, with all parts released.

    The second attack ignores the seed, the third is of 2018.
    """
    monkeypatch.setattr(worker_notifications, "notify", lambda task, **keys: None)
    monkeypatch.setenv(VARIABLE, sys.prefix)
    content = tomllib.loads(Path(small_round.__file__).with_name("small_round.toml").read_text(encoding="utf-8"))
    competition = competitions.import_competition(content)
    player_builds.baseline_player(competition.tracks.get(name="model"), "numpy-classifier", lambda line: None)
    plain = (find_baseline("gaussian-noise").source / "main.py").read_text(encoding="utf-8")
    noise = Change("main.py", plain, NOISE)
    enter(competition, "calm", "model", "numpy-classifier")
    enter(competition, "noise", "untargeted", "gaussian-noise", noise)
    enter(competition, "dice", "untargeted", "gaussian-noise", Change("main.py", plain, WITHOUT_SEED))
    small_round.submit(competition, "veteran", "untargeted", push_of_2018, player_builds.build)
    # as pushes say: the title of the manifest
    Submission.objects.filter(title="calm").update(title="Perceptron in numpy alone")
    now = clock.now()
    round_ = plan_round(
        competition=competition, title="A small round", kind="development", schedule="ladder", guard=False,
        source=competition.sample_sets.get(name="test-1"), samples=3, starts_at=now, ends_at=now + timedelta(days=3),
        by=organiser,
    )  # fmt: skip
    freeze(round_=round_, by=organiser, reason="It is time.")
    lifecycle.start(round_=round_, by=organiser, reason="It is time.")
    worker = Worker.objects.create(name="one/0", worker_class="cpu", started_at=now, last_seen_at=now)
    while round_.state == Round.State.PLAYING:
        with WorkerHeartbeat(worker) as heartbeat:
            play(worker, heartbeat, seconds=30.0)
        advance_round(round_)
        round_.refresh_from_db()
    assert round_.state == Round.State.SCORED, round_.problem
    publish(round_=round_, by=organiser, reason="It looks right.")
    Competition.objects.update(ends_at=clock.now() - timedelta(minutes=1))
    round_ = Round.objects.get()
    for part in ("images", "bundle", "perturbed", "code"):
        release(round_=round_, part=part, by=organiser, reason="It is over.")
    return round_


def enter(competition: Competition, team: str, kind: str, like: str, *changes: Change) -> None:
    """A team of one with a copy of a bundled submission, which is ready."""

    def push(bare: Path) -> str:
        push_copy(like, str(bare), author=team, changes=changes)
        with GitReader(bare) as reader:
            return reader.resolve(f"refs/tags/{TAG}") or ""

    small_round.submit(competition, team, kind, push, player_builds.build)


def push_of_2018(bare: Path) -> str:
    """Push a repository in the layout of 2018, whose attack draws nothing."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(shutil.copytree(ATTACK_OF_2018, Path(folder) / "work"))
        return push_files(work, bare, tag=TAG)


@pytest.fixture
def fetched(shared_folder: Path, request: pytest.FixtureRequest, gauntlet: Run, tmp_path: Path) -> Path:
    """A copy of the fetched round, which no site is needed for any more.

    The first test of this run that needs it keeps it for those of all processes.
    """
    kept = shared_folder / "fetched-round"
    with (shared_folder / "fetched-round.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            request.getfixturevalue("released_round")
            live_server: LiveServer = request.getfixturevalue("live_server")
            address = f"{live_server.url}/competitions/six/rounds/1"
            status, _, err = gauntlet("fetch", address, "--into", kept, "--perturbed", "--images", "--code")
            assert status == 0, err
    return Path(shutil.copytree(kept, tmp_path / "round"))


def names(gauntlet: Run, directory: Path) -> dict[str, str]:
    """The matches of a fetched round by the team of the attack."""
    status, out, err = gauntlet("matches", "--from", directory, "--json")
    assert status == 0, err
    return {each["attack"].split(":")[0]: each["match"] for each in json.loads(out)}


@pytest.mark.slow(20)
def test_released_parts_are_fetched_and_verified(
    released_round: Round, gauntlet: Run, live_server: LiveServer, tmp_path: Path, organiser: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    into = Path("round")
    fetch = ("fetch", f"{live_server.url}/competitions/six/rounds/1", "--into", into)
    status, out, err = gauntlet(*fetch, "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["not_released"] == ["objections"]
    assert found["verified"] is True
    assert sorted(path.name for path in into.iterdir()) == [
        "bundle.gauntlet", "code", "images.zip", "perturbed.csv", "signing-key.txt",
    ]  # fmt: skip
    teams = ["calm--model", "dice--untargeted", "noise--untargeted", "veteran--untargeted"]
    assert sorted(path.name for path in (into / "code").iterdir()) == teams

    # what is there with the right digest is not fetched again
    with (into / "images.zip").open("ab") as file:
        file.write(b"damaged")
    status, out, err = gauntlet(*fetch, "--images", "--code", "--json")
    assert status == 0, err
    assert [each["part"] for each in json.loads(out)["files"] if each["new"]] == ["images"]

    # another key than the one that is known
    key = (into / "signing-key.txt").read_text()
    (into / "signing-key.txt").write_text("0" * 64)
    status, _, err = gauntlet(*fetch)
    assert (status, "signed by another key" in err) == (3, True)
    (into / "signing-key.txt").write_text(key)

    # what is not released
    withdraw(release=released_round.releases.get(part=Release.Part.CODE), by=organiser, reason="A team asked for it.")
    shutil.rmtree(into)
    status, _, err = gauntlet("fetch", "six/1", "--site", live_server.url, "--into", into, "--code")
    assert status == 3
    assert "code of round 1 of six is not released" in err
    assert not into.exists()
    status, _, err = gauntlet("fetch", "six/1", "--site", live_server.url, "--into", into)
    assert status == 0, err
    assert "Not released, so not here: objections, code." in err

    # scores of submissions are not made of matches of rounds
    status, out, err = gauntlet("matches", "--competition", "six", "--site", live_server.url)
    assert status == 0, err
    status, out, err = gauntlet("matches", Submission.objects.latest("pk").pk, "--site", live_server.url, "--json")
    assert (status, json.loads(out)) == (0, [])


@pytest.mark.parametrize("team", ["noise", "veteran"])
def test_a_match_is_played_again_to_equal_bytes(
    fetched: Path, gauntlet: Run, monkeypatch: pytest.MonkeyPatch, team: str
) -> None:
    monkeypatch.setenv(VARIABLE, sys.prefix)
    match = names(gauntlet, fetched)[team]
    status, out, err = gauntlet("replay", match, "--from", fetched, "--json")
    assert status == 0, out + err
    found = json.loads(out)
    assert found["columns"] == ["outcome", "distance", "queries", "image"]
    assert len(found["samples"]) == 3
    assert all(row["published"] == row["replayed"] for row in found["samples"])
    distances, queries = ([row["published"][column] for row in found["samples"]] for column in (1, 2))
    assert min(queries) > 0
    assert team == "veteran" or any(0 < distance < 30 for distance in distances), "it finds something"


def test_a_match_of_a_submission_of_2018_needs_the_legacy_environment(
    fetched: Path, gauntlet: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    status, out, err = gauntlet("replay", names(gauntlet, fetched)["veteran"], "--from", fetched)
    assert (status, out) == (3, "")
    assert "a submission of 2018 needs the legacy environment, which this host does not have" in err
    assert "`gauntlet legacy-environment DIR`" in err


def test_released_code_is_not_played_with_the_rights_of_the_user(
    fetched: Path, gauntlet: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    match, code = names(gauntlet, fetched)["noise"], fetched / "code"
    monkeypatch.setattr(replay, "bubblewrap_works", lambda: False)
    status, _, err = gauntlet("replay", match, "--from", fetched)
    assert status == 3
    assert "would run with all your rights" in err
    assert "is played from" not in err
    # what the user names is trusted
    trusted = ("--attack", code / "noise--untargeted", "--model", code / "calm--model")
    assert gauntlet("replay", match, "--from", fetched, *trusted)[0] == 0


def test_a_match_is_found_by_its_number_and_a_bundled_player_by_its_title(fetched: Path, gauntlet: Run) -> None:
    attack = names(gauntlet, fetched)["noise"].partition("/")[0]
    number = next(line.split(",")[0] for line in (fetched / "perturbed.csv").read_text().splitlines() if attack in line)
    shutil.rmtree(fetched / "code" / "calm--model")
    status, out, err = gauntlet("replay", number, "--from", fetched)
    assert status == 0, out + err
    assert "all 3 samples are the same as in the bundle, to the last bit" in out
    assert "/numpy-classifier" in err, "its repository"


def test_an_attack_that_draws_without_the_seed_differs(fetched: Path, gauntlet: Run) -> None:
    match = names(gauntlet, fetched)["dice"]
    shutil.rmtree(fetched / "perturbed")
    status, out, err = gauntlet("replay", match, "--from", fetched)
    assert status == 1, out + err
    assert "differs" in out
    assert "samples differ from the bundle" in err
    assert "With `gauntlet fetch ROUND --perturbed`, they are compared one by one" in err


def test_a_changed_row_is_found(fetched: Path, gauntlet: Run) -> None:
    match, bundle = names(gauntlet, fetched)["noise"], fetched / "bundle.gauntlet"
    honest = bundle.read_bytes()

    # by a stranger
    at = len(honest) - 3
    bundle.write_bytes(honest[:at] + bytes([honest[at] ^ 1]) + honest[at + 1 :])
    status, _, err = gauntlet("replay", match, "--from", fetched)
    assert status == 3
    assert "is not what the organisers signed" in err

    # by those who have a key that is trusted
    lines = body_in_parts.decode(honest.partition(b"\n")[2])
    named = ["results", *reversed(match.split("/"))]
    row = next(line for line in lines if [line["kind"], line.get("model"), line.get("attack")] == named)
    row["queries"] = row["queries"].copy()
    row["queries"][1] -= 1
    bundle.write_bytes(sign(body_in_parts.encode(lines), OTHER_KEY))
    (fetched / "signing-key.txt").write_text(public_key(OTHER_KEY))
    status, out, err = gauntlet("replay", match, "--from", fetched, "--json")
    assert status == 1, out + err
    assert [each["same"] for each in json.loads(out)["samples"]] == [True, False, True]


def test_what_a_replay_lacks_is_named(fetched: Path, gauntlet: Run, tmp_path: Path) -> None:
    match = names(gauntlet, fetched)["noise"]
    shutil.rmtree(fetched / "code")
    status, _, err = gauntlet("replay", match, "--from", fetched)
    assert status == 3
    assert "the code of noise: noise" in err
    assert "not fetched, or not released" in err
    gpu = shutil.copytree(find_baseline("numpy-classifier").repository(), tmp_path / "gpu")
    manifest = gpu / "submission.toml"
    manifest.write_text(manifest.read_text().replace("[submission]", "[submission]\ngpu = true"))
    status, _, err = gauntlet("replay", match, "--from", fetched, "--attack", "gaussian-noise", "--model", gpu)
    assert (status, "uses a GPU, whose results differ between devices" in err) == (3, True)
    (fetched / "images.zip").unlink()
    status, _, err = gauntlet("replay", match, "--from", fetched)
    assert (status, "the samples are secret until the organisers release the images" in err) == (3, True)
    status, _, err = gauntlet("replay", "player-0/player-1", "--from", fetched)
    assert (status, "is no match of this round" in err) == (2, True)
    status, _, err = gauntlet("replay", match, "--from", fetched / "code")
    assert (status, "fetch the round with" in err) == (2, True)
