"""`gauntlet submit`: a tag on the current commit, its push, and the way to the score."""

from __future__ import annotations

import argparse
import base64
import os
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evaluation.builder.manifest import MANIFEST_NAME
from evaluation.cli.output import print_json, say
from evaluation.cli.site_client import OwnTeam, SiteClient, SiteRefusal, SiteTrack
from evaluation.cli.site_login import add_json, add_site, site_client
from evaluation.cli.site_logs import followed, patiently
from evaluation.cli.site_status import print_submission, require_teams
from evaluation.domain.errors import Refusal
from evaluation.domain.submission_tags import next_tag


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "submit",
        help="submit the current commit of a repository to a site",
        description="Sets the next tag submission-N on the current commit, pushes both, and follows the submission to "
        "its score. It commits nothing: what is not committed is not submitted.",
    )
    command.add_argument("directory", nargs="?", type=Path, default=Path(), metavar="DIR", help="default: this one")
    command.add_argument("--team", help="the short name of the team (default: that of the clone, or your only one)")
    command.add_argument("--track", help="the track (default: that of the clone, or of submission.toml)")
    command.add_argument("--no-wait", action="store_true", help="do not wait for the score")
    add_site(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    client = site_client(given)
    repository = _Repository.at(given.directory)
    team, track = _target(client, repository, given)
    if changed := repository.git("status", "--porcelain").splitlines():
        say(f"{len(changed)} changed files are not committed, so they are not submitted.")
    user = client.profile().username
    # whatever host the site calls itself: the token goes to the one that was named
    remote = _Remote(f"{client.site}{urlsplit(track.repository).path}", user, client.token)
    tag = next_tag([*repository.git("tag", "--list").splitlines(), *remote.tags(repository)])
    say(f"Submitting {repository.git('rev-parse', '--short', 'HEAD')} as {tag} to {team.slug}/{track.name}")
    repository.git("-c", "tag.gpgSign=false", "tag", "--no-sign", tag, "HEAD")
    pushed = remote.push(repository, tag)
    # asked in any case: the answer to a push that arrived may be lost
    sent = patiently(lambda: client.submissions_of(team.slug, track.name))
    made = next((each for each in sent if each.tag == tag), None)
    if made is None and not pushed:
        repository.git("tag", "--delete", tag)
        raise SiteRefusal("rejected", f"{tag} is not submitted; the lines above say why")
    if made is None:
        raise SiteRefusal("rejected", f"{tag} is stored, but is no submission; the lines above say why")
    number = made.number
    try:
        shown = patiently(lambda: client.submission(number)) if given.no_wait else followed(client, number)
    except KeyboardInterrupt:
        say(f"Submission {number} goes on without this command. Follow it with: gauntlet logs -f {number}")
        return 130
    if given.json:
        print_json(client.get(f"submissions/{number}"))
    else:
        print_submission(shown)
    if not shown.progress or not shown.progress.final or shown.progress.score is not None:
        return 0  # without waiting, or with its score
    if shown.state == "ready":
        say(f"It has no score. {shown.progress.problem or 'Its page says why:'} {client.site}/submissions/{number}")
    return 3


@dataclass(frozen=True)
class _Repository:
    """A working copy."""

    folder: Path

    @classmethod
    def at(cls, directory: Path) -> _Repository:
        """Return the working copy that contains a directory. Raise `Refusal` if there is none, or no commit."""
        if not directory.is_dir():
            raise Refusal(f"{directory} is not a directory", fix="name the directory of a repository")
        try:
            top = cls(directory).git("rev-parse", "--show-toplevel")
        except Refusal:
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
class _Remote:
    """The repository of a team on the site, for one person. The token is in no argument: other users see these."""

    address: str
    user: str
    token: str = field(repr=False)

    def tags(self, repository: _Repository) -> Sequence[str]:
        """Return the tags that it has."""
        done = self._git(repository, "ls-remote", "--refs", "--tags", self.address, quiet=True)
        if done.returncode:
            raise Refusal(f"git cannot read {self.address}: {done.stderr.strip()}", fix="see the message of git")
        return [line.rpartition("refs/tags/")[2] for line in done.stdout.splitlines()]

    def push(self, repository: _Repository, tag: str) -> bool:
        """Push the tag, and the branch of its commit if there is one, both or neither; git prints the answer."""
        branch = repository.git("symbolic-ref", "--quiet", "HEAD", check=False)
        refs = [f"HEAD:{branch}"] if branch else []
        return self._git(repository, "push", "--atomic", self.address, *refs, f"refs/tags/{tag}").returncode == 0

    def _git(self, repository: _Repository, *words: str, quiet: bool = False) -> subprocess.CompletedProcess[str]:
        login = base64.b64encode(f"{self.user}:{self.token}".encode()).decode()
        configuration = {
            f"http.{self.address}.extraHeader": f"Authorization: Basic {login}",
            f"http.{self.address}.followRedirects": "false",  # another site would get the token
            "credential.helper": "",
        }
        settings = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_COUNT": str(len(configuration))}
        for number, (key, value) in enumerate(configuration.items()):
            settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return subprocess.run(
            ["git", *words],
            cwd=repository.folder,
            env=os.environ | settings,
            capture_output=quiet,
            text=True,
            check=False,
        )


def _target(client: SiteClient, repository: _Repository, given: argparse.Namespace) -> tuple[OwnTeam, SiteTrack]:
    """Return team and track that the options name, else those of the clone, else the only ones that fit."""
    pairs = [(team, track) for team in require_teams(client) for track in team.tracks]
    if given.team:
        pairs = [pair for pair in pairs if pair[0].slug == given.team]
    if given.track:
        pairs = [pair for pair in pairs if pair[1].name == given.track]
    if not pairs:
        raise Refusal("you are in no team of this name, or it has no such track", fix="run: gauntlet quota")
    clone = _path(repository.git("remote", "get-url", "origin", check=False))
    fitting = [pair for pair in pairs if _path(pair[1].repository) == clone]
    fitting = fitting or [pair for pair in pairs if pair[1].name == _manifest_track(repository.folder)] or pairs
    if len(fitting) > 1:
        known = ", ".join(f"--team {team.slug} --track {track.name}" for team, track in fitting)
        raise Refusal("it is not clear where to submit", fix=f"add one of: {known}")
    return fitting[0]


def _path(address: str) -> str:
    """Return where a repository is on its site, without the person in the address."""
    return urlsplit(address).path.rpartition("/git/")[2]


def _manifest_track(folder: Path) -> str:
    """Return the track that the manifest names, "" if it names none."""
    try:
        manifest = tomllib.loads((folder / MANIFEST_NAME).read_text("utf-8"))
        return str(manifest["submission"]["track"])
    except (OSError, ValueError, LookupError, TypeError):
        return ""
