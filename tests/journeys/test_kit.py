"""A participant installs the command from the kit of a site, and uses it with nothing but what it declares."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
import requests
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services import issue_token

SHARED = {"__pycache__", "..", "bin"}
"""Folders of an environment that files of several distributions are in."""


class Participant:
    """A computer of a participant: an environment of Python alone, and a home folder. Bubblewrap is not installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", symlinks=True)
        self.python = folder / "venv" / "bin" / "python"
        (self.packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
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

    def gauntlet(self, *words: str, typed: str = "") -> str:
        """Run the command; return what it prints on standard output."""
        command = [str(self.python.parent / "gauntlet"), *words]
        done = subprocess.run(
            command, cwd=self.folder, env=self.variables, input=typed, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


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


@pytest.mark.slow(11)
@pytest.mark.django_db(transaction=True)
def test_the_command_needs_what_it_declares_and_nothing_else(
    live_server: LiveServer, root: Path, settings: Settings, tmp_path: Path
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
    _, token = issue_token(user=user, name="laptop", scopes=("read",), days=9)
    me.gauntlet("login", live_server.url, typed=token)
    assert json.loads(me.gauntlet("whoami", "--json"))["username"] == "newcomer"

    me.gauntlet("new", "untargeted", "attack", "--template", "numpy")
    assert "The site would accept it." in me.gauntlet("check", "attack", "--samples", "2")
    me.gauntlet("play", "--model", "numpy-classifier", "--attack", "attack", "--track", "untargeted", "--samples", "2",
                "--out", "result", "--report", "result.html")  # fmt: skip
    assert (tmp_path / "result.html").stat().st_size > 10_000
    me.gauntlet("completion", "bash")
