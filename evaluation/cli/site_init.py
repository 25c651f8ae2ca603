"""`gauntlet init`: a directory as the working copy of a team's repository."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evaluation.builder.manifest import MANIFEST_NAME, MAX_TITLE_CHARACTERS
from evaluation.cli.output import say
from evaluation.cli.site_login import add_site, site_client
from evaluation.cli.site_repository import SiteRemote, TeamWorkingCopy, add_target, path_of, target
from evaluation.domain.errors import Refusal


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "init",
        help="begin or clone the repository of a team in a directory",
        description="Makes a directory the working copy of your team's repository: git knows its address as `origin`, "
        "and what was pushed there is checked out. It commits and pushes nothing.",
    )
    command.add_argument("directory", nargs="?", type=Path, default=Path(), metavar="DIR", help="default: this one")
    add_target(command)
    command.add_argument("--title", help=f"the title of the submission, written to {MANIFEST_NAME}")
    add_site(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    client = site_client(given)
    if given.title is not None and not 1 <= len(given.title.strip()) <= MAX_TITLE_CHARACTERS:
        raise Refusal("the title is not valid", fix=f"give 1 to {MAX_TITLE_CHARACTERS} characters")
    try:
        given.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"cannot make {given.directory}: {error.strerror}", fix="name another directory") from None
    folder = given.directory.resolve()
    copy = TeamWorkingCopy(folder)
    top = copy.git("rev-parse", "--show-toplevel", check=False)
    if top and Path(top).resolve() != folder:
        raise Refusal(f"{folder} is inside the repository {top}", fix="name a directory outside of it")
    team, track = target(client, copy, given)
    remote = SiteRemote.of(client, track)
    origin = copy.git("remote", "get-url", "origin", check=False) if top else ""
    if origin and path_of(origin) != path_of(remote.address):
        raise Refusal(
            f"{folder} is a clone of {origin}, not of {remote.address}",
            fix="name another directory, or run: git remote remove origin",
        )
    if not top:
        copy.git("init", "--quiet", "--initial-branch=main")
    if not origin:
        parts = urlsplit(remote.address)
        copy.git("remote", "add", "origin", parts._replace(netloc=f"{remote.user}@{parts.netloc}").geturl())
    if not copy.git("rev-parse", "--verify", "--quiet", "HEAD", check=False) and remote.check_out(copy):
        say(f"The newest commit of {team.slug}/{track.name} is checked out.")
    manifest = folder / MANIFEST_NAME
    if given.title is not None and manifest.is_file():
        _set_title(manifest, given.title.strip())
    say(f"{folder} is for {team.slug}/{track.name}.")
    if not any(path.name != ".git" for path in folder.iterdir()):
        title = f" --title {shlex.quote(given.title)}" if given.title else ""
        say(f"It is empty. Begin with: gauntlet new {track.name} {shlex.quote(str(given.directory))}{title}")
    return 0


def _set_title(manifest: Path, title: str) -> None:
    text = manifest.read_text("utf-8")
    line = f"title = {json.dumps(title, ensure_ascii=False)}"
    changed, count = re.subn(r"^title\s*=.*$", lambda found: line, text, count=1, flags=re.MULTILINE)
    if not count:
        raise Refusal(f"{manifest} has no title", fix=f"add the line {line} below [submission]")
    manifest.write_text(changed, "utf-8")
