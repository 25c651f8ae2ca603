"""A participant installs the command from the kit of a site, and uses it with nothing but what it declares."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
import requests
from django.conf import settings as site_settings
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services import issue_token
from competitions.services import import_competition, make_team
from core import clock, worker_notifications
from formats.query.challenges.models import Challenge
from formats.query.pages.reproduction import challenge_reproduction
from submissions import pipeline
from submissions.models import Submission
from submissions.selectors import whole_log
from tests.platform.conftest import _own_folders
from tests.platform.printed_command import rows_as_json, rows_of, words_of_the_printed_command
from workers.heartbeat import WorkerHeartbeat
from workers.models import Worker
from workers.worker import play

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

    def follow(self, page: Path, **other: str) -> str:
        """Run the commands of a page, with `other` words in place of its own; return what they print."""
        commands = "".join(re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE))
        for old, new in other.items():
            assert old in commands, f"{page} has it no more"
            commands = commands.replace(old, new)
        return self.shell(commands)

    def shell(self, commands: str) -> str:
        """Run commands; return what they print on both streams."""
        done = subprocess.run(
            ["/bin/sh", "-ec", commands], cwd=self.folder, env=self.variables, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout


def take_part(me: Participant, user: User, root: Path) -> None:
    """Let the person have git, and a team in a small competition of the site."""
    document = tomllib.loads((root / "tests/journeys/small.toml").read_text())
    competition = import_competition(document | {"pages": {}})  # without terms
    make_team(slug="owls", name="The Owls", captain=user, competition=competition)
    (me.python.parent / "git").symlink_to(shutil.which("git") or "")
    for role in ("AUTHOR", "COMMITTER"):
        me.variables |= {f"GIT_{role}_NAME": "Newcomer", f"GIT_{role}_EMAIL": "newcomer@example.org"}


def verdict_of_the_site() -> Submission:
    """Return the newest submission after its build and smoke test."""
    pipeline.advance()
    return Submission.objects.latest("pk")


def check_that_scores_agree(me: Participant, folder: str, submission: Submission) -> None:
    """Compare what the site's worker and the kit, by the commands of the page, find in the same challenge."""
    me.gauntlet("challenge", str(submission.pk), "numpy-classifier")
    Challenge.objects.update(samples=2)
    worker = Worker.objects.create(name="one/0", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
    with WorkerHeartbeat(worker) as heartbeat:
        play(worker, heartbeat, seconds=60.0)
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


def check_that_the_kit_agrees(me: Participant, folder: str) -> None:
    """Compare what kit and site say about a submission that the site accepts, and about one that it refuses."""
    accepted = verdict_of_the_site()
    assert accepted.state == Submission.State.READY, accepted.problem
    build = accepted.builds.get()
    words = words_of_the_printed_command("".join(whole_log(build)))
    assert rows_as_json(me.gauntlet(*words, folder, "--json")) == rows_of(build)
    check_that_scores_agree(me, folder, accepted)

    (me.folder / folder / "main.py").write_text("raise SystemExit(3)\n")
    me.shell(f"cd {folder} && git commit --quiet --all --message Next && gauntlet submit --no-wait")
    refused = verdict_of_the_site()
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


@pytest.mark.slow(25)
@pytest.mark.django_db(transaction=True)
def test_the_command_needs_what_it_declares_and_nothing_else(
    live_server: LiveServer, root: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KIT = tmp_path / "kit"
    subprocess.run([root / "deploy" / "kit", sys.executable, settings.KIT], check=True, capture_output=True)
    again = tmp_path / "again"
    subprocess.run([root / "deploy" / "kit", sys.executable, again], check=True, capture_output=True, umask=0o77)
    for file in again.iterdir():
        assert file.read_bytes() == (settings.KIT / file.name).read_bytes(), "the same commit gives the same bytes"

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
    me.gauntlet("login", live_server.url, typed=token)
    assert json.loads(me.gauntlet("whoami", "--json"))["username"] == "newcomer"
    me.gauntlet("completion", "bash")

    monkeypatch.setattr(worker_notifications, "notify", lambda task, **keys: None)
    settings.SITE_ADDRESS = live_server.url
    take_part(me, user, root)
    printed = me.follow(
        root / "docs/kit/first-attack.md",
        **{
            "SITE/git/TEAM": f"{live_server.url.replace('://', f'://newcomer:{token}@')}/git/owls",
            "check .": "check . --samples 2",
            "adversarial-logit-pairing": "numpy-classifier",  # of PyTorch, which is not installed
            "--samples 20": "--samples 2",
        },
    )
    assert "The site would accept it." in printed
    assert (tmp_path / "my-attack.html").stat().st_size > 10_000
    check_that_the_kit_agrees(me, "my-attack")

    assert "another build" not in me.messages, "the kit is that of the site"
    with zipfile.ZipFile(next(settings.KIT.glob("gauntlet_arena-*.whl")), "a") as wheel:
        wheel.comment = b"of another commit"
    settings.KIT.touch()
    me.gauntlet("whoami")
    assert "the site has another build of it. Update: " in me.messages
    me.gauntlet("whoami")
    assert me.messages == "", "it says so once a day"
