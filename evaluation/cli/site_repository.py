"""The working copy of a team's repository, and the repository on the site that it is pushed to."""

from __future__ import annotations

import argparse
import base64
import os
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from evaluation.builder.manifest import MANIFEST_NAME
from evaluation.cli.site_client import OwnTeam, SiteClient, SiteTrack
from evaluation.cli.site_team_commands import require_teams
from evaluation.domain.errors import Refusal


@dataclass(frozen=True)
class TeamWorkingCopy:
    """A working copy."""

    folder: Path

    @classmethod
    def at(cls, directory: Path) -> TeamWorkingCopy:
        """Return the working copy that contains a directory. Raise `Refusal` if there is none, or no commit."""
        if not directory.is_dir():
            raise Refusal(f"{directory} is not a directory", fix="name the directory of a repository")
        try:
            top = cls(directory).git("rev-parse", "--show-toplevel")
        except Refusal as refusal:
            if "safe.directory" in refusal.problem:  # another user's: git says what to do about it
                raise
            raise Refusal(
                f"{directory.resolve()} is in no git repository", fix="clone the repository of your team's page"
            ) from None
        found = cls(Path(top))
        if not found.git("rev-parse", "--verify", "--quiet", "HEAD", check=False):
            raise Refusal("the repository has no commit", fix="run: git add --all && git commit")
        return found

    def git(self, *words: str, check: bool = True) -> str:
        """Return what git prints. Raise `Refusal` if it fails."""
        done = subprocess.run(
            ["git", *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if check and done.returncode:
            raise Refusal(f"git {words[0]} failed: {done.stderr.strip()}", fix="see the message of git")
        return done.stdout.strip()


@dataclass(frozen=True)
class SiteRemote:
    """The repository of a team on the site, for one person. The token is in no argument: other users see these."""

    address: str
    user: str
    token: str = field(repr=False)

    @classmethod
    def of(cls, client: SiteClient, track: SiteTrack) -> SiteRemote:
        """Return the repository of a track, for the person who is signed in."""
        # whatever host the site calls itself: the token goes to the one that was named
        return cls(f"{client.site}{urlsplit(track.repository).path}", client.profile().username, client.token)

    def tags(self, repository: TeamWorkingCopy) -> Sequence[str]:
        """Return the tags that it has."""
        lines = self._read(repository, "ls-remote", "--refs", "--tags", self.address).splitlines()
        return [line.rpartition("refs/tags/")[2] for line in lines]

    def check_out(self, repository: TeamWorkingCopy) -> bool:
        """Check out the newest commit of its branch in a working copy without one; False if nothing was pushed yet."""
        if not self._read(repository, "ls-remote", self.address, "HEAD"):
            return False
        self._read(repository, "fetch", "--quiet", self.address, "HEAD")
        repository.git("checkout", "--quiet", "-B", "main", "FETCH_HEAD")
        return True

    def push(self, repository: TeamWorkingCopy, tag: str) -> bool:
        """Push the tag, and the branch of its commit if there is one, both or neither; git prints the answer."""
        branch = repository.git("symbolic-ref", "--quiet", "HEAD", check=False)
        refs = [f"HEAD:{branch}"] if branch else []
        return self._git(repository, "push", "--atomic", self.address, *refs, f"refs/tags/{tag}").returncode == 0

    def _read(self, repository: TeamWorkingCopy, *words: str) -> str:
        done = self._git(repository, *words, quiet=True)
        if done.returncode:
            raise Refusal(f"git cannot read {self.address}: {done.stderr.strip()}", fix="see the message of git")
        return done.stdout

    def _git(self, repository: TeamWorkingCopy, *words: str, quiet: bool = False) -> subprocess.CompletedProcess[str]:
        login = base64.b64encode(f"{self.user}:{self.token}".encode()).decode()
        configuration = {
            f"http.{self.address}.extraHeader": f"Authorization: Basic {login}",
            f"http.{self.address}.followRedirects": "false",  # another site would get the token
            "credential.helper": "",
        }
        # after the settings that the environment has already, such as a safe directory
        text = os.environ.get("GIT_CONFIG_COUNT", "")
        count = int(text) if text.isdecimal() else 0
        settings = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_COUNT": str(count + len(configuration))}
        for number, (key, value) in enumerate(configuration.items(), start=count):
            settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return subprocess.run(
            ["git", *words],
            cwd=repository.folder,
            env=os.environ | settings,
            capture_output=quiet,
            text=True,
            check=False,
        )


def add_target(command: argparse.ArgumentParser) -> None:
    """Add the options that name a team and a track."""
    command.add_argument("--team", help="the short name of the team (default: that of the clone, or your only one)")
    command.add_argument("--track", help="the track (default: that of the clone, or of submission.toml)")


def target(client: SiteClient, repository: TeamWorkingCopy, given: argparse.Namespace) -> tuple[OwnTeam, SiteTrack]:
    """Return team and track that the options name, else those of the clone, else the only ones that fit."""
    pairs = [(team, track) for team in require_teams(client) for track in team.tracks]
    if given.team:
        pairs = [pair for pair in pairs if pair[0].slug == given.team]
    if given.track:
        pairs = [pair for pair in pairs if pair[1].name == given.track]
    if not pairs:
        raise Refusal("you are in no team of this name, or it has no such track", fix="run: gauntlet quota")
    clone = path_of(repository.git("remote", "get-url", "origin", check=False))
    fitting = [pair for pair in pairs if path_of(pair[1].repository) == clone]
    fitting = fitting or [pair for pair in pairs if pair[1].name == _manifest_track(repository.folder)] or pairs
    if len(fitting) > 1:
        known = ", ".join(f"--team {team.slug} --track {track.name}" for team, track in fitting)
        raise Refusal("it is not clear which team and track it is for", fix=f"add one of: {known}")
    return fitting[0]


def path_of(address: str) -> str:
    """Return where a repository is on its site, without the person in the address."""
    return urlsplit(address).path.rpartition("/git/")[2]


def _manifest_track(folder: Path) -> str:
    """Return the track that the manifest names, "" if it names none."""
    try:
        manifest = tomllib.loads((folder / MANIFEST_NAME).read_text("utf-8"))
        return str(manifest["submission"]["track"])
    except (OSError, ValueError, LookupError, TypeError):
        return ""
