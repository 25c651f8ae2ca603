"""The commands of `gauntlet` for teams, against a site that runs."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts import device_login
from accounts.models import AccessToken, DeviceLogin, Membership, User
from accounts.services import issue_token
from competitions.models import Competition, RulesVersion, SampleSet, Track
from core import worker_notifications
from evaluation.cli import main, site_device_login, site_version_check, submission_log
from evaluation.cli.site_client import SiteClient, UnavailableSiteError
from evaluation.cli.site_login import config_path
from evaluation.cli.site_repository import SiteRemote, TeamWorkingCopy
from formats.query.challenges.models import Challenge
from formats.query.leaderboards.models import Evaluation, Pool, Standing, SubmissionChoice
from formats.query.matches.models import Match
from repositories.models import Repository
from submissions.models import Build, LogChunk, Player, QuotaSlot, Submission
from tests.platform.api.conftest import MANIFEST

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_signed_out")]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def _signed_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody is signed in, news are asked for at once, and no worker is woken."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("GAUNTLET_SITE", "GAUNTLET_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(submission_log, "EVERY", 0.01)
    monkeypatch.setattr(site_version_check, "_noted", set())
    monkeypatch.setattr(worker_notifications, "notify", lambda task, **keys: None)


@pytest.fixture
def gauntlet(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; return its exit status and what it printed on both streams."""

    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def login(gauntlet: Run, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Sign a person in with a new token, and return it."""

    def sign_in(user: User, *scopes: str) -> str:
        _, plain = issue_token(user=user, name="laptop", scopes=scopes or ("read", "submit"), days=9)
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{plain}\n"))
        status, _, err = gauntlet("login", f"{live_server.url}/")
        assert status == 0, err
        return plain

    return sign_in


@pytest.fixture
def copy(repositories: dict[str, Repository], tmp_path: Path) -> Path:
    """A working copy with a commit, which the site does not have yet."""
    folder = tmp_path / "copy"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", "--bare", str(repositories["model"].path)], check=True)
    (folder / "submission.toml").write_text(MANIFEST)
    (folder / "main.py").write_text("print('plays')\n")
    for words in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "--all"],
        ["-c", "user.name=Alice", "-c", "user.email=alice@example.org", "commit", "--quiet", "--message=First"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def build_and_score(rules: RulesVersion, samples: SampleSet, tracks: dict[str, Track]) -> Callable[..., None]:
    """Return a worker that builds and scores each submission at once."""

    def work(task: str, **keys: int) -> None:
        if task != "submissions.build":
            return
        submission, at = Submission.objects.get(pk=keys["submission"]), rules.created_at
        build = Build.objects.create(
            submission=submission, attempt=1, worker="w", started_at=at, finished_at=at, outcome="ready"
        )
        LogChunk.objects.create(build=build, stage="build", first_line=1, lines=2, text="one\ntwo", at=at)
        submission.player = Player.objects.create(
            competition=rules.competition, track_name="model", digest="sha256:7", title="Wise owl", command=["x"],
            repository=submission.repository, created_at=at,
        )  # fmt: skip
        submission.state = Submission.State.READY
        submission.save()
        evaluation = Evaluation.objects.create(
            submission=submission, pool=Pool.objects.create(track=tracks["untargeted"], number=1, made_at=at),
            sample_set=samples, rules=rules, state="scored", created_at=at, finished_at=at, value=0.75, low=0.5, high=1,
            samples=6, failures=0, worst_opponent=submission.player, median_seconds=0.1,
        )  # fmt: skip
        repository = submission.repository
        Standing.objects.create(track=repository.track, entry=repository.entry, evaluation=evaluation, rank=1)

    return work


def test_a_commit_is_submitted_and_followed_to_its_score(
    gauntlet: Run,
    login: Callable[..., str],
    copy: Path,
    alice: User,
    rules: RulesVersion,
    sample_sets: dict[str, SampleSet],
    tracks: dict[str, Track],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_notifications, "notify", build_and_score(rules, sample_sets["validation"], tracks))
    login(alice)
    (copy / "notes").write_text("not committed")
    status, out, err = gauntlet("submit", copy)
    assert status == 0, err
    made = Submission.objects.get()
    assert (made.tag, made.commit) == ("submission-1", _git(copy, "rev-parse", "HEAD"))
    assert f"submission {made.pk} is ready" in err
    assert "  one\n  two\n" in err
    assert "1 changed files are not committed" in err
    assert re.search(r"score +0\.75", out)
    assert re.search(r"rank +1\b", out)
    assert _git(copy, "log", "--oneline").count("\n") == 0, "it commits nothing"
    assert "submission-1" in _git(copy, "tag", "--list")
    status, out, err = gauntlet("submit", copy, "--json")
    assert (status, out) == (3, ""), "the same commit again"
    assert "submission-2 is not submitted" in err
    assert _git(copy, "tag", "--list") == "submission-1"
    board = json.loads(gauntlet("board", "digits", "model", "--json")[1])
    assert [row["team"] for row in board["rows"]] == ["owls"]
    assert "Wise owl" in gauntlet("board", "digits", "model")[1]


def test_a_directory_becomes_a_working_copy_of_the_team(
    gauntlet: Run, login: Callable[..., str], repositories: dict[str, Repository], alice: User, commit: str,
    live_server: LiveServer, tmp_path: Path,
) -> None:  # fmt: skip
    login(alice)
    cloned, begun = tmp_path / "cloned", tmp_path / "begun"
    status, _, err = gauntlet("init", cloned, "--team", "owls")
    assert status == 2
    assert "--team owls --track model, --team owls --track untargeted" in err
    status, _, err = gauntlet("init", cloned, "--track", "model", "--title", "A wiser owl")
    assert status == 0, err
    assert _git(cloned, "rev-parse", "HEAD") == commit
    assert 'title = "A wiser owl"' in (cloned / "submission.toml").read_text()
    address = f"{live_server.url.replace('://', '://alice@')}/git/owls/model.git"
    assert _git(cloned, "remote", "get-url", "origin") == address
    assert gauntlet("init", cloned)[0] == 0, "that of the clone, again"
    status, _, err = gauntlet("init", begun, "--track", "untargeted")
    assert status == 0, err
    assert f"It is empty. Begin with: gauntlet new untargeted {begun}" in err
    assert gauntlet("new", "untargeted", begun, "--template", "numpy")[0] == 0
    status, _, err = gauntlet("init", begun, "--track", "model")
    assert (status, "is a clone of" in err, "git remote remove origin" in err) == (2, True, True)
    (begun / "below").mkdir()
    status, _, err = gauntlet("init", begun / "below", "--track", "untargeted")
    assert (status, "is inside the repository" in err) == (2, True)


def test_a_file_becomes_no_working_copy(
    gauntlet: Run, login: Callable[..., str], alice: User, repositories: dict[str, Repository], tmp_path: Path
) -> None:
    login(alice)
    (tmp_path / "file").touch()
    status, _, err = gauntlet("init", tmp_path / "file")
    assert (status, "Traceback" in err) == (2, False), err


def test_matches_are_those_behind_scores(
    gauntlet: Run, login: Callable[..., str], alice: User, match: Match, scored: Submission, live_server: LiveServer
) -> None:
    status, out, err = gauntlet("matches", scored.pk, "--site", live_server.url)
    assert status == 0, err
    assert re.search(rf"{match.pk} +untargeted +Boundary attack +Wise owl +played +15\.625", out)
    listed = json.loads(gauntlet("matches", "--competition", "digits", "--site", live_server.url, "--json")[1])
    assert [(each["competition"], each["key"]) for each in listed] == [("digits", str(match.pk))]
    status, _, err = gauntlet("matches", "--site", live_server.url)
    assert (status, "you are not signed in" in err) == (2, True), "its teams are unknown"
    login(alice)
    assert json.loads(gauntlet("matches", "--json")[1]) == listed


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_token_is_stored_for_its_owner_alone(
    gauntlet: Run, login: Callable[..., str], alice: User, repositories: dict[str, Repository], tmp_path: Path
) -> None:
    plain = login(alice)
    kept = tmp_path / "config" / "gauntlet" / "sites.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert plain in kept.read_text()
    status, out, _ = gauntlet("whoami", "--json")
    shown = json.loads(out)
    assert (status, shown["username"], shown["teams"]) == (0, "alice", ["owls"])
    assert shown["token"]["scopes"] == ["read", "submit"]
    assert "alice" in gauntlet("whoami")[1]
    assert gauntlet("logout")[0] == 0
    assert plain not in kept.read_text()
    status, _, err = gauntlet("whoami")
    assert (status, "gauntlet login" in err) == (2, True)
    assert AccessToken.objects.get().last_used_at is not None


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Callable[[], Any]]], None]:
    """Sit at a terminal without a desktop: what happens, one after the other, while the command waits."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)

    def sit(happens: list[Callable[[], Any]]) -> None:
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr(site_device_login, "sleep", lambda seconds: happens.pop(0)())

    return sit


def confirm(code: str, by: User, *, allowed: bool) -> None:
    """Do what the page of the site does."""
    device_login.decide(login=device_login.waiting_login(code), allowed=allowed, by=by)


def test_a_code_that_is_confirmed_on_the_site_signs_in(
    gauntlet: Run, at_a_terminal: Any, live_server: LiveServer, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_login, "_LETTERS", "B")
    at_a_terminal(
        [lambda: None, lambda: None, lambda: confirm("BBBB-BBBB", alice, allowed=True)]
    )  # the second: too fast
    status, _, err = gauntlet("login", f"{live_server.url}/")
    assert status == 0, err
    assert f"Open {live_server.url}/device in a browser" in err
    assert "\n    BBBB-BBBB\n" in err
    assert "Signed in to" in err
    shown = json.loads(gauntlet("whoami", "--json")[1])
    assert (shown["username"], shown["token"]["scopes"]) == ("alice", ["read", "submit"])
    assert DeviceLogin.objects.get().interval == 10


def test_the_page_opens_on_a_desktop_and_no_other_site(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    for address in ("https://a.example/device", "https://a.example.org/device", "file:///etc/passwd"):
        site_device_login._open_browser("https://a.example", address)
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
    site_device_login._open_browser("https://a.example", "https://a.example/device")
    assert opened == ["https://a.example/device"]


def test_without_a_confirmation_nobody_is_signed_in(
    gauntlet: Run, at_a_terminal: Any, live_server: LiveServer, alice: User, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setattr(device_login, "_LETTERS", "B")
    at_a_terminal([lambda: confirm("bbbbbbbb", alice, allowed=False)])
    status, _, err = gauntlet("login", live_server.url)
    assert (status, "was refused on the site" in err) == (3, True)
    DeviceLogin.objects.all().delete()

    def interrupt() -> None:
        raise KeyboardInterrupt

    at_a_terminal([interrupt])
    status, _, err = gauntlet("login", live_server.url)
    assert (status, "Nobody is signed in." in err, "Traceback" in err) == (130, True, False)
    assert not (tmp_path / "config").exists()


def test_it_shows_submissions_quota_and_logs(
    gauntlet: Run, login: Callable[..., str], scored: Submission, alice: User
) -> None:
    login(alice, "read")
    build = Build.objects.create(submission=scored, attempt=1, worker="w", started_at=scored.received_at)
    LogChunk.objects.create(build=build, stage="build", first_line=1, lines=2, text="one\ntwo", at=scored.received_at)
    status, out, _ = gauntlet("status")
    assert (status, "Wise owl" in out, "ready" in out) == (0, True, True)
    assert [row["number"] for row in json.loads(gauntlet("status", "--json")[1])] == [scored.pk]
    assert re.search(r"score +0\.5\b", gauntlet("status", scored.pk)[1])
    assert json.loads(gauntlet("status", scored.pk, "--json")[1])["evaluation"]["value"] == 0.5
    assert "5 of 5" in gauntlet("quota")[1]
    assert {row["left"] for row in json.loads(gauntlet("quota", "--json")[1])} == {5}
    assert gauntlet("logs", scored.pk)[1] == "one\ntwo\n"
    Build.objects.update(finished_at=scored.received_at)
    assert gauntlet("logs", "-f", scored.pk)[1] == "one\ntwo\n"
    lines = [json.loads(line) for line in gauntlet("logs", scored.pk, "--json")[1].splitlines()]
    assert lines[1] == {"number": 2, "stage": "build", "text": "two"}
    status, _, err = gauntlet("withdraw", scored.pk)
    assert (status, "lacks the scope 'submit'" in err) == (3, True)
    login(alice)
    status, _, err = gauntlet("withdraw", scored.pk)
    assert (status, f"Submission {scored.pk}, Wise owl, is withdrawn." in err) == (0, True)
    scored.refresh_from_db()
    assert scored.state == Submission.State.WITHDRAWN


def test_a_challenge_is_requested_and_followed_to_its_result(
    gauntlet: Run, login: Callable[..., str], challenged: Challenge, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    login(alice)
    number = challenged.submission_id
    status, out, err = gauntlet("challenge", number, "gaussian-noise", "--json")
    assert (status, json.loads(out)["state"]) == (0, "waiting"), err
    rows = [
        {"sample": 0, "outcome": "adversarial", "distance": 1.25, "queries": 40, "seconds": 0.5, "reason": "",
         "found_label": 3},
    ]  # fmt: skip

    def played(_: float) -> None:
        Challenge.objects.filter(baseline="boundary").update(state="played", results=rows, median=1.25)

    monkeypatch.setattr("evaluation.cli.site_challenge.time.sleep", played)
    Track.objects.filter(name="untargeted").update(baselines=["boundary"])
    status, out, err = gauntlet("challenge", number, "boundary", "--wait")
    assert (status, f"submission {number} against boundary" in out) == (0, True), err
    assert re.search(r"median distance +1\.25\b", out)
    assert re.search(r"adversarial +1\.250 +40", out)
    assert "is waiting\n" in err
    assert "is played\n" in err
    status, out, err = gauntlet("challenge", number, "numpy-classifier")
    assert (status, out, "choose one of boundary" in err) == (3, "", True)
    Challenge.objects.update(state="waiting")
    monkeypatch.setattr("evaluation.cli.site_challenge.time.sleep", lambda _: Challenge.objects.update(state="failed"))
    assert gauntlet("challenge", number, "boundary", "--wait")[0] == 3, "platform errors ended it"


def test_without_an_opponent_a_challenge_lists_whom_it_may_meet(
    gauntlet: Run, login: Callable[..., str], challenged: Challenge, alice: User
) -> None:
    login(alice)
    number = challenged.submission_id
    status, out, err = gauntlet("challenge", number)
    assert status == 0, err
    assert re.search(r"gaussian-noise +untargeted +gaussian-noise", out)
    listed = json.loads(gauntlet("challenge", number, "--json")[1])
    assert [each["opponent"] for each in listed] == ["gaussian-noise", "salt-and-pepper"]
    assert listed[0].items() >= {"track": "untargeted", "team": "", "submission": None}.items()
    status, _, err = gauntlet("challenge", number, "--wait")
    assert (status, "--wait needs an opponent" in err) == (2, True)
    Track.objects.update(baselines=[])
    status, out, err = gauntlet("challenge", number)
    assert (status, out, "Nobody can be challenged" in err) == (0, "", True)


def test_a_team_chooses_which_submission_counts(
    gauntlet: Run, login: Callable[..., str], scored: Submission, alice: User, rules: RulesVersion
) -> None:
    login(alice)
    status, out, err = gauntlet("choose", scored.pk)
    assert (status, out, "the newest submission" in err) == (3, "", True)
    rules.values["counting_submission"] = "chosen"
    rules.save()
    status, out, err = gauntlet("choose", scored.pk)
    assert (status, out, f"Submission {scored.pk}, Wise owl, counts for owls on the track model." in err) == (
        0, "", True,
    )  # fmt: skip
    assert SubmissionChoice.objects.get().submission_id == scored.pk
    status, out, err = gauntlet("choose", scored.pk, "--json")
    assert (status, out, "is already the one that counts" in err) == (3, "", True)
    assert gauntlet("choose", "--newest", "owls")[0] == 2, "it names no track"
    assert gauntlet("choose", "--newest", "owls/model", "--json")[:2] == (0, "null\n")
    status, _, err = gauntlet("choose", "--newest", "owls/model")
    assert (status, "the newest submission counts already" in err) == (3, True)


def test_pictures_that_the_site_does_not_show_are_refused(
    gauntlet: Run, login: Callable[..., str], match: Match, scored: Submission, alice: User, charlie: User,
    tmp_path: Path,
) -> None:  # fmt: skip
    login(charlie)
    into = ("--into", tmp_path / "pictures")
    status, _, err = gauntlet("pictures", scored.pk, *into)
    assert (status, "has no smoke test to see" in err) == (3, True)
    login(alice)
    status, _, err = gauntlet("pictures", scored.pk, "--match", match.pk, *into)
    assert (status, "secret ones are not shown" in err) == (3, True)
    assert not (tmp_path / "pictures").exists()


def test_a_repository_of_another_user_of_the_computer_is_called_that(
    gauntlet: Run, login: Callable[..., str], copy: Path, alice: User, rules: RulesVersion,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    login(alice)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # as git's own tests do: root alone gives files away
    status, _, err = gauntlet("submit", copy)
    assert (status, "git config --global --add safe.directory" in err) == (2, True), err


def test_a_rejected_push_uses_no_slot_and_leaves_no_tag(
    gauntlet: Run, login: Callable[..., str], copy: Path, alice: User, rules: RulesVersion
) -> None:
    login(alice)
    (copy / "submission.toml").write_text(MANIFEST.replace("title", "titel"))
    _git(copy, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--all", "--message=Worse")
    status, _, err = gauntlet("submit", copy)
    assert (status, "submission-1 is not submitted" in err) == (3, True)
    assert _git(copy, "tag", "--list") == ""
    assert not QuotaSlot.objects.exists()


def test_an_evaluation_without_a_score_is_no_success(
    gauntlet: Run, login: Callable[..., str], copy: Path, alice: User, rules: RulesVersion,
    sample_sets: dict[str, SampleSet], tracks: dict[str, Track], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    work = build_and_score(rules, sample_sets["validation"], tracks)

    def void(task: str, **keys: int) -> None:
        work(task, **keys)
        Evaluation.objects.update(state="void", value=None, low=None, high=None)

    monkeypatch.setattr(worker_notifications, "notify", void)
    login(alice)
    _git(copy, "config", "tag.gpgSign", "true")
    status, _, err = gauntlet("submit", copy)
    assert (status, "It has no score. Its page says why" in err) == (3, True)


def test_a_push_whose_answer_is_lost_is_a_submission(
    gauntlet: Run, login: Callable[..., str], copy: Path, alice: User, rules: RulesVersion, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    login(alice)
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    real = _git(copy, "--exec-path")
    program.write_text(f'#!/bin/sh\n{real}/git "$@" || exit\ncase "$*" in push*) exit 1; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    status, out, err = gauntlet("submit", copy, "--no-wait", "--json")
    assert status == 0, err
    assert json.loads(out)["number"] == Submission.objects.get().pk
    assert _git(copy, "tag", "--list") == "submission-1"


def test_the_submission_of_a_member_who_was_faster_is_not_one_s_own(
    gauntlet: Run, login: Callable[..., str], copy: Path, alice: User, bob: User, rules: RulesVersion,
    live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    login(alice)
    _, token = issue_token(user=bob, name="laptop", scopes=["read", "submit"], days=9)
    other, push = tmp_path / "other", SiteRemote.push
    subprocess.run(["git", "clone", "--quiet", copy, other], check=True)
    _git(other, "-c", "user.name=B", "-c", "user.email=b@c", "commit", "--quiet", "--allow-empty", "--message=Second")
    _git(other, "tag", "submission-1")

    def second(remote: SiteRemote, repository: TeamWorkingCopy, tag: str) -> bool:
        assert push(SiteRemote(remote.address, "bob", token), TeamWorkingCopy(other), tag)
        return push(remote, repository, tag)

    monkeypatch.setattr(SiteRemote, "push", second)
    status, _, err = gauntlet("submit", copy, "--no-wait")
    assert (status, "submission-1 is not submitted" in err) == (3, True), err
    assert Submission.objects.get().submitted_by == bob
    assert _git(copy, "tag", "--list") == ""


def test_a_site_that_is_away_after_the_push_is_asked_again(
    gauntlet: Run, login: Callable[..., str], copy: Path, alice: User, rules: RulesVersion,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    login(alice)
    answer, away = SiteClient.get, [True, True]

    def restarting(client: SiteClient, path: str, **query: str) -> Any:
        if path.endswith("/submissions") and away:
            away.pop()
            raise UnavailableSiteError(f"{client.site} does not answer")
        return answer(client, path, **query)

    monkeypatch.setattr(SiteClient, "get", restarting)
    status, out, err = gauntlet("submit", copy, "--no-wait", "--json")
    assert status == 0, err
    assert not away
    assert json.loads(out)["number"] == Submission.objects.get().pk


def test_a_token_of_the_environment_goes_to_its_own_site_alone(
    gauntlet: Run, login: Callable[..., str], alice: User, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = login(alice)
    monkeypatch.setenv("GAUNTLET_TOKEN", plain)
    for site in (None, "https://arena.example"):
        if site:
            monkeypatch.setenv("GAUNTLET_SITE", site)
        status, _, err = gauntlet("whoami", "--site", live_server.url)
        assert (status, "set GAUNTLET_SITE to its site" in err) == (2, True)
    monkeypatch.setenv("GAUNTLET_SITE", f"{live_server.url}/")
    config_path().write_text("damaged")  # a machine may have no home: with both no file is read
    assert "alice" in gauntlet("whoami")[1]


def test_each_attempt_has_a_log_from_its_first_line(
    gauntlet: Run, login: Callable[..., str], scored: Submission, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    login(alice, "read")
    at = scored.received_at
    first = Build.objects.create(submission=scored, attempt=1, worker="w", started_at=at)
    LogChunk.objects.create(build=first, stage="build", first_line=1, lines=2, text="one\ntwo", at=at)

    def lost() -> None:
        """The worker is lost, and the submission waits for another one."""
        Build.objects.filter(pk=first.pk).update(finished_at=at)
        Submission.objects.update(state="received")

    def retried() -> None:
        Submission.objects.update(state="ready")
        second = Build.objects.create(submission=scored, attempt=2, worker="v", started_at=at, finished_at=at)
        LogChunk.objects.create(build=second, stage="build", first_line=1, lines=2, text="uno\ndue", at=at)

    happens = [lost, retried]
    monkeypatch.setattr("evaluation.cli.submission_log.time.sleep", lambda _: happens.pop(0)())
    assert gauntlet("logs", "-f", scored.pk)[1] == "one\ntwo\nuno\ndue\n"


def test_the_last_lines_of_an_attempt_are_printed_though_the_next_one_has_begun(
    gauntlet: Run, login: Callable[..., str], scored: Submission, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    login(alice, "read")
    at = scored.received_at
    first = Build.objects.create(submission=scored, attempt=1, worker="w", started_at=at)
    LogChunk.objects.create(build=first, stage="build", first_line=1, lines=1, text="one", at=at)

    def failed(_: float) -> None:
        LogChunk.objects.create(build=first, stage="build", first_line=2, lines=1, text="the disk is full", at=at)
        Build.objects.filter(pk=first.pk).update(finished_at=at)
        second = Build.objects.create(submission=scored, attempt=2, worker="v", started_at=at, finished_at=at)
        LogChunk.objects.create(build=second, stage="build", first_line=1, lines=1, text="uno", at=at)

    monkeypatch.setattr("evaluation.cli.submission_log.time.sleep", failed)
    assert gauntlet("logs", "-f", scored.pk)[1] == "one\nthe disk is full\nuno\n"


def test_the_token_is_in_no_argument_of_git_and_settings_of_the_environment_are_kept(
    gauntlet: Run, login: Callable[..., str], copy: Path, alice: User, rules: RulesVersion, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    plain = login(alice)
    seen, real = tmp_path / "arguments", _git(copy, "--exec-path")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" $({real}/git config a.b) >> {seen}\nexec {real}/git "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    for name, value in (("COUNT", "1"), ("KEY_0", "a.b"), ("VALUE_0", "of-the-environment")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    assert gauntlet("submit", copy, "--no-wait")[0] == 0
    arguments = seen.read_text()
    assert re.search("push --atomic .* of-the-environment\n", arguments)
    assert plain not in arguments


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["status"], "gauntlet login SITE"),
        (["login", "ftp://arena.example"], "https://arena.example"),
        (["whoami", "--site", "https://arena.example"], "gauntlet login https://arena.example"),
    ],
)
def test_it_rejects_a_person_who_is_not_signed_in(gauntlet: Run, words: list[str], fix: str) -> None:
    status, _, err = gauntlet(*words)
    assert status == 2
    assert fix in err


def test_problems_of_the_site_are_its_own_words(
    gauntlet: Run, login: Callable[..., str], alice: User, owls: Any, competition: Competition, scored: Submission
) -> None:
    login(alice)
    status, _, err = gauntlet("board", "digits", "nothing")
    assert (status, "there is no such track" in err) == (3, True)
    status, _, err = gauntlet("board", "digits", "model", "--at", "soon")
    assert (status, "write it as 2026-11-23" in err) == (3, True)
    Membership.objects.filter(user=alice).delete()
    status, _, err = gauntlet("withdraw", scored.pk)
    assert (status, "ask the captain of The Owls" in err) == (3, True)
    status, _, err = gauntlet("status")
    assert (status, "you are in no team" in err) == (2, True)
    AccessToken.objects.update(revoked_at=competition.created_at)
    status, _, err = gauntlet("whoami")
    assert (status, "is revoked" in err, "create another one" in err) == (3, True, True)


@pytest.mark.parametrize("words", [("whoami",), ("board", "digits", "nothing")])
def test_another_version_of_the_site_is_said_once_and_is_no_error(
    gauntlet: Run,
    login: Callable[..., str],
    alice: User,
    competition: Competition,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    login(alice)
    expected = gauntlet(*words, "--json")
    assert "This is gauntlet" not in expected[2]
    monkeypatch.setattr(site_version_check, "__version__", "0.0.9")
    status, out, err = gauntlet(*words, "--json")
    assert (status, out) == expected[:2]
    assert err.count("This is gauntlet 0.0.9; the site has 0.1.0. ") == 1
    monkeypatch.setattr(site_version_check, "_noted", set())
    assert "This is gauntlet" not in gauntlet(*words, "--json")[2], "another process on the same day"
    assert "/docs#gauntlet says how to get that" in err, "this site has no kit"


def test_the_site_s_kit_is_the_update(
    gauntlet: Run, live_server: LiveServer, competition: Competition, monkeypatch: pytest.MonkeyPatch, settings: Any,
    tmp_path: Path,
) -> None:  # fmt: skip
    settings.KIT.mkdir()
    for project in ("gauntlet-arena", "gauntlet-sdk"):
        with zipfile.ZipFile(settings.KIT / f"{project.replace('-', '_')}-0.1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("x.dist-info/METADATA", f"Name: {project}\nVersion: 0.1.0\nRequires-Python: >=3.8\n\n")
    for name in ("constraints.txt", "packages.txt"):
        (settings.KIT / name).touch()
    monkeypatch.setattr(site_version_check, "__version__", "0.0.9")
    _, _, err = gauntlet("check", "--competition", f"{live_server.url}/competitions/digits", "numpy-classifier")
    assert f"Update: {sys.executable} -m pip install -r {live_server.url}/kit/requirements.txt\n" in err
    monkeypatch.setattr(site_version_check, "__version__", "0.1.0")
    monkeypatch.setattr(site_version_check, "_noted", set())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "next-day"))
    words = ("matches", "--competition", "digits", "--site", live_server.url)
    assert "another build" not in gauntlet(*words)[2], "a checkout"
    monkeypatch.setattr(site_version_check, "installed_wheel", lambda: "0" * 64)
    _, _, err = gauntlet(*words)
    assert "This is gauntlet 0.1.0; the site has another build of it. Update: " in err
    assert f"-m pip install --force-reinstall -r {live_server.url}/kit/requirements.txt\n" in err


def test_a_site_that_does_not_answer_has_its_own_exit_status(
    gauntlet: Run, monkeypatch: pytest.MonkeyPatch, unused_address: str
) -> None:
    monkeypatch.setenv("GAUNTLET_SITE", unused_address)
    monkeypatch.setenv("GAUNTLET_TOKEN", "gtl_x")
    status, _, err = gauntlet("whoami")
    assert (status, "does not answer" in err) == (6, True)


@pytest.fixture
def unused_address() -> str:
    """The address of a port of this host on which nothing listens: 1 needs rights that no test has."""
    return "http://127.0.0.1:1"


def test_lists_are_read_page_by_page(live_server: LiveServer, scored: Submission, alice: User) -> None:
    for number in range(2, 5):
        scored.pk, scored.commit, scored.tag = None, str(number) * 40, f"submission-{number}"
        scored.save()
    client = SiteClient(live_server.url)
    listed = [row["number"] for row in client.rows("submissions", page_size="1", team="owls")]
    assert listed == sorted(Submission.objects.values_list("pk", flat=True), reverse=True)
    assert len(listed) == 4
