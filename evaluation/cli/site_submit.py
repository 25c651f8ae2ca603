"""`gauntlet submit`: a tag on the current commit, its push, and the way to the score."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from evaluation.cli.output import print_json, say
from evaluation.cli.site_client import SiteRefusal
from evaluation.cli.site_login import add_json, add_site, site_client
from evaluation.cli.site_repository import SiteRemote, TeamWorkingCopy, add_target, target
from evaluation.cli.site_team_commands import print_submission
from evaluation.cli.submission_log import followed, patiently
from evaluation.domain.submission_tags import next_tag


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "submit",
        help="submit the current commit of a repository to a site",
        description="Sets the next tag submission-N on the current commit, pushes both, and follows the submission to "
        "its score. It commits nothing: what is not committed is not submitted.",
    )
    command.add_argument("directory", nargs="?", type=Path, default=Path(), metavar="DIR", help="default: this one")
    add_target(command)
    command.add_argument("--no-wait", action="store_true", help="do not wait for the score")
    add_site(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    client = site_client(given)
    repository = TeamWorkingCopy.at(given.directory)
    team, track = target(client, repository, given)
    if changed := repository.git("status", "--porcelain").splitlines():
        say(f"{len(changed)} changed files are not committed, so they are not submitted.")
    remote = SiteRemote.of(client, track)
    tag = next_tag([*repository.git("tag", "--list").splitlines(), *remote.tags(repository)])
    say(f"Submitting {repository.git('rev-parse', '--short', 'HEAD')} as {tag} to {team.slug}/{track.name}")
    repository.git("-c", "tag.gpgSign=false", "tag", "--no-sign", tag, "HEAD")
    pushed = remote.push(repository, tag)
    # asked in any case: the answer to a push that arrived may be lost
    sent = patiently(lambda: list(client.submissions_of(team.slug, track.name)))
    # another member may have pushed another commit under this tag meanwhile
    commit = repository.git("rev-parse", f"refs/tags/{tag}")
    made = next((each for each in sent if (each.tag, each.commit) == (tag, commit)), None)
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
