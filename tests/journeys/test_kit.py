"""A participant installs the command from the kit of a site, and uses it with nothing but what it declares."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
import requests
from django.conf import settings as site_settings
from django.db import connection
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services import issue_token
from competitions.services import import_competition, make_team
from core import clock, worker_notifications
from formats.query.challenges import services as challenge_services
from formats.query.challenges.models import Challenge
from formats.query.leaderboards.tasks import sweep
from formats.query.pages.reproduction_commands import challenge_reproduction
from submissions import pipeline
from submissions.models import Submission
from submissions.selectors import whole_log
from tests.platform.conftest import _own_folders
from tests.platform.printed_command import rows_as_json, rows_of, words_of_the_printed_command
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.worker_loop import play

__all__ = ["_own_folders"]

SHARED = {"__pycache__", "..", "bin"}
"""Folders of an environment that files of several distributions are in."""


class Participant:
    """A computer of a participant: an environment of Python alone, and a home folder. Bubblewrap is not installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", symlinks=True)
        self.python = folder / "venv" / "bin" / "python"
        (self.packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        self.messages = ""
        self.variables = {"PATH": str(self.python.parent), "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}

    def pip(self, *words: str) -> None:
        """Install with the pip of the tests, without an index: of other packages none is needed."""
        command = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(self.python),
            "install",
            "--no-index",
            "--no-deps",
            "--no-compile",
        ]
        done = subprocess.run([*command, *words], env=os.environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def share(self, package: Distribution) -> None:
        """Let the environment have a package that the tests have, by links in place of a download."""
        for top in {file.parts[0] for file in package.files or ()} - SHARED:
            (self.packages / top).symlink_to(Path(str(package.locate_file(top))))

    def gauntlet(self, *words: str, typed: str = "", status: int = 0) -> str:
        """Run the command, which ends with `status`; return what it prints on standard output."""
        command = [str(self.python.parent / "gauntlet"), *words]
        done = subprocess.run(
            command, cwd=self.folder, env=self.variables, input=typed, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        self.messages = done.stderr
        return done.stdout

    def follow(self, commands: str, *, typed: str = "", **other: str) -> str:
        """Run commands of a page, with `other` words in place of its own; return what they print."""
        for old, new in other.items():
            assert old in commands, f"the page does not say {old!r} any more"
            commands = commands.replace(old, new)
        return self.shell(commands, typed=typed)

    def shell(self, commands: str, *, typed: str = "") -> str:
        """Run commands; return what they print on both streams."""
        done = subprocess.run(
            ["/bin/sh", "-ec", commands], cwd=self.folder, env=self.variables, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False, input=typed,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout


def take_part(me: Participant, user: User, root: Path) -> None:
    """Let the person have git, and a team in a small competition of the site."""
    document = tomllib.loads((root / "tests/journeys/small.toml").read_text())
    for track in ("untargeted", "targeted"):
        document["tracks"][track]["baselines"] = []  # the newcomer's attack meets models alone
    competition = import_competition(document | {"pages": {}})  # without terms
    make_team(slug="owls", name="The Owls", captain=user, competition=competition)
    (me.python.parent / "git").symlink_to(shutil.which("git") or "")
    for role in ("AUTHOR", "COMMITTER"):
        me.variables |= {f"GIT_{role}_NAME": "Newcomer", f"GIT_{role}_EMAIL": "newcomer@example.org"}


@contextmanager
def site_at_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Build, play and score while the block runs, as the processes of a site do.

    A notification wakes them. A platform error, such as a host that becomes slower, has none: there the sweep helps.
    """
    woken, over = threading.Event(), threading.Event()
    monkeypatch.setattr(worker_notifications, "notify", lambda task, **keys: woken.set())

    def work() -> None:
        at = clock.now()
        worker = Worker.objects.create(name="one/0", worker_class="cpu", started_at=at, last_seen_at=at)
        with closing(connection), WorkerHeartbeat(worker) as heartbeat:
            while not over.is_set():
                woken.clear()
                pipeline.advance()
                sweep()
                play(worker, heartbeat, seconds=60.0)
                woken.wait(5.0)

    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(work)
        try:
            yield
        finally:
            over.set()
            woken.set()
        working.result()


def play_as_the_page_says(me: Participant, page: Path, site: str, token: str) -> Submission:
    """Go from nothing to a score, its pictures and a challenge by the commands of a page; return the submission."""
    *blocks, shown, challenge = re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    printed = me.follow(
        "".join(blocks),
        typed=token,
        **{
            "https://SITE/competitions/SLUG": f"{site}/competitions/small",
            "https://SITE/": f"{site}/",
            "check .": "check . --samples 2",
            "adversarial-logit-pairing": "numpy-classifier",  # of PyTorch, which is not installed
            "--samples 20": "--samples 2",
        },
    )
    assert "The site would accept it." in printed
    assert (me.folder / "my-attack.html").stat().st_size > 10_000
    submission = Submission.objects.get()
    assert f"submission {submission.pk} is ready" in printed, "its log was followed"
    assert re.search(r"^score +\d+\.\d+ *\nrank +1 *$", printed, re.MULTILINE), printed

    printed = me.follow(f"cd my-attack\n{shown}", **{" 17": f" {submission.pk}", "SLUG": "small"})
    assert printed.count("My first attack") == 2, "the match behind the score, and the row of the leaderboard"
    assert {f"{sample}-{name}" for sample in range(6) for name in ("clean", "perturbed")} >= {
        file.stem for file in (me.folder / "smoke-test").iterdir()
    }
    printed = me.follow(challenge, **{" 17": f" {submission.pk}"})
    me.shell(printed.rpartition("Its pictures: ")[2])
    pictures = sorted((me.folder / f"challenge-{Challenge.objects.get().pk}").iterdir())
    assert [file.name for file in pictures] == [
        f"{sample}-{name}.png" for sample in (0, 1) for name in ("clean", "perturbed")
    ]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in pictures)
    return submission


def play_without_the_site(me: Participant, page: Path, **other: str) -> str:
    """Run the commands of a page that need no account and no PyTorch; return what they print."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    local = [each for each in blocks if "gauntlet train" not in each and "gauntlet submit" not in each]
    commands = re.sub(r"gauntlet login .*\ngauntlet init (\S+) .*", r"git init --quiet \1", "".join(local))
    return me.follow(commands, **other)


def check_that_scores_agree(me: Participant, folder: str) -> None:
    """Compare what the site's worker and the kit, by the commands of the page, find in the same challenge."""
    played = Challenge.objects.get()
    shown = challenge_reproduction(played, site_settings.SITE_ADDRESS)
    assert shown is not None
    for command in shown.commands:
        words = shlex.split(command.replace("\\\n", " "))
        me.gauntlet(*(folder if word.startswith("path/to/") else word for word in words[1:]))
    found = json.loads((me.folder / f"challenge-{played.pk}" / "result.json").read_text())
    columns = ("sample", "outcome", "distance", "queries")
    rows = [[row[name] for name in columns] for row in found["samples"]]
    assert rows == [[row[name] for name in columns] for row in played.results]
    assert found["median_distance"] == played.median


def check_that_the_kit_agrees(me: Participant, folder: str, accepted: Submission) -> None:
    """Compare what kit and site say about a submission that the site accepts, and about one that it refuses."""
    build = accepted.builds.get()
    words = words_of_the_printed_command("".join(whole_log(build)))
    assert rows_as_json(me.gauntlet(*words, folder, "--json")) == rows_of(build)
    check_that_scores_agree(me, folder)

    (me.folder / folder / "main.py").write_text("raise SystemExit(3)\n")
    me.shell(f"cd {folder} && git commit --quiet --all --message Next && (gauntlet submit || test $? = 3)")
    refused = Submission.objects.latest("pk")
    assert refused.state == Submission.State.REJECTED
    words = words_of_the_printed_command(refused.fix)
    assert rows_as_json(me.gauntlet(*words, folder, "--json", status=3)) == rows_of(refused.builds.get())
    assert f"The site would reject it: {refused.problem}" in me.gauntlet(*words, folder, status=3)


def needed_by(package: Distribution) -> Iterator[Distribution]:
    """Yield the distributions that `package` declares without an extra, and those that they declare."""
    found = {canonicalize_name(package.name)}
    open_ = [(package, "")]
    while open_:
        of, extra = open_.pop()
        for each in map(Requirement, of.requires or ()):
            if each.marker is not None and not each.marker.evaluate({"extra": extra}):
                continue
            needed = distribution(each.name)
            open_ += [(needed, name) for name in each.extras]
            if canonicalize_name(each.name) not in found:
                found.add(canonicalize_name(each.name))
                open_.append((needed, ""))
                yield needed


@pytest.mark.slow(40)
@pytest.mark.django_db(transaction=True)
def test_the_command_needs_what_it_declares_and_nothing_else(
    live_server: LiveServer, root: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KIT = tmp_path / "kit"
    subprocess.run([root / "deploy" / "kit", sys.executable, settings.KIT], check=True, capture_output=True)

    me = Participant(tmp_path)
    command_line, *others = requests.get(f"{live_server.url}/kit/requirements.txt", timeout=30).text.splitlines()
    (tmp_path / "requirements.txt").write_text(command_line)
    me.pip("--require-hashes", "--requirement", str(tmp_path / "requirements.txt"))
    (command,) = distributions(path=[str(me.packages)])
    assert {file.parts[0] for file in command.files or ()} - SHARED == {
        *("evaluation", "gauntlet", f"gauntlet_arena-{command.version}.dist-info")
    }
    assert not [file for file in command.files or () if file.suffix == ".so"], "it is for every platform"
    listed = {canonicalize_name(line.partition("==")[0]) for line in others if "==" in line}
    for package in needed_by(command):
        assert canonicalize_name(package.name) in listed, "pip would refuse it without a hash"
        me.share(package)
    installed = {canonicalize_name(each.name) for each in distributions(path=[str(me.packages)])}
    assert not {"django", "torch", "celery", "jupyter-repo2docker", "pip"} & installed

    user = User.objects.create_user("newcomer")
    _, token = issue_token(user=user, name="laptop", scopes=("read", "submit"), days=9)
    me.gauntlet("completion", "bash")

    monkeypatch.setattr(challenge_services, "SAMPLES", 2)
    settings.SITE_ADDRESS = live_server.url
    take_part(me, user, root)
    with site_at_work(monkeypatch):
        submission = play_as_the_page_says(me, root / "docs/kit/first-attack.md", live_server.url, token)
        check_that_the_kit_agrees(me, "my-attack", submission)
        printed = play_without_the_site(
            me,
            root / "docs/kit/first-model.md",
            **{
                "https://SITE/competitions/SLUG": f"{live_server.url}/competitions/small",
                "check .": "check . --samples 2",
                "--samples 20": "--samples 2",
            },
        )
        assert "The site would accept it." in printed
        assert (me.folder / "my-model.html").stat().st_size > 10_000
    printed = play_without_the_site(
        me, root / "docs/kit/first-defence.md", **{"fgsm": "random-noise", "--samples 20": "--samples 2"}
    )
    assert "The site would accept it." in printed
    assert json.loads(me.gauntlet("whoami", "--json"))["username"] == "newcomer"

    assert "another build" not in me.messages, "the kit is that of the site"
    with zipfile.ZipFile(next(settings.KIT.glob("gauntlet_arena-*.whl")), "a") as wheel:
        wheel.comment = b"of another commit"
    settings.KIT.touch()
    me.gauntlet("whoami")
    assert "the site has another build of it. Update: " in me.messages
    me.gauntlet("whoami")
    assert me.messages == "", "it says so once a day"
