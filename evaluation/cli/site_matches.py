"""`gauntlet matches`: the matches that a site shows, and those of a fetched round."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from evaluation.cli.output import as_it_is, print_json, print_table, say
from evaluation.cli.positive_number import positive
from evaluation.cli.replay import add_from, opened
from evaluation.cli.site_client import SiteClient, SiteMatch, SiteSubmission
from evaluation.cli.site_login import add_json, add_site, public_client, site_client
from evaluation.cli.site_team_commands import require_teams
from evaluation.domain.errors import Refusal

_SUBMISSIONS = 20
"""So many submissions are asked for their matches; each takes a request."""

_PLAYER = "player-"
_SHORT = len(_PLAYER) + 8
"""Characters of a player's name that tell players apart; `gauntlet replay` takes names that are cut off."""


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "matches",
        help="list matches of a site, or of a fetched round",
        description="Lists the matches behind the score of a submission; without a number, of the newest submissions "
        f"of your teams, or of a competition (the newest {_SUBMISSIONS}); with --from, those of a fetched round, which "
        "`gauntlet replay` plays again.",
    )
    which = command.add_mutually_exclusive_group()
    which.add_argument("number", nargs="?", type=positive, metavar="SUBMISSION", help="the number of a submission")
    which.add_argument("--competition", metavar="SLUG", help="the short name of a competition")
    add_from(which, default=None)
    add_site(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if given.directory is not None:
        return _released(given)
    if given.number:
        client = public_client(given)
        found = list(client.rows(f"submissions/{given.number}/matches"))
    else:
        client = public_client(given) if given.competition else site_client(given)
        found = list(_matches(client, _submissions(client, given.competition)))
    if given.json:
        print_json(found)
        return 0
    if not found:
        say("There are no matches, or you may not see them yet.")
        return 0
    rows = [
        [as_it_is(text) for text in (each.key, each.track, each.attack, each.model, each.state, _median(each.numbers))]
        for each in (client.read(SiteMatch, row) for row in found)
    ]
    print_table("Matches", ("match", "track", "attack", "model", "state", "median"), rows, text=(0, 1, 2, 3, 4))
    return 0


def _submissions(client: SiteClient, competition: str | None) -> Iterator[SiteSubmission]:
    """Yield the newest submissions that are ready, of a competition or of the person's teams."""
    chosen = [{"competition": competition}] if competition else [{"team": team.slug} for team in require_teams(client)]
    for values in chosen:
        yield from islice(client.submissions(**values, state="ready"), _SUBMISSIONS)


def _matches(client: SiteClient, submissions: Iterator[SiteSubmission]) -> Iterator[dict[str, Any]]:
    """Yield their matches, each once: those of an attack are also those of the models that it met."""
    seen: set[tuple[str, str]] = set()
    for submission in submissions:
        for match in client.rows(f"submissions/{submission.number}/matches"):
            name = submission.competition, client.read(SiteMatch, match).key
            if name not in seen:
                seen.add(name)
                yield {"competition": submission.competition, **match}


def _released(given: argparse.Namespace) -> int:
    directory: Path = given.directory
    if given.site:
        raise Refusal("--from reads a directory, and asks no site", fix="leave --site or --from out")
    matches = opened(directory, None).matches
    if given.json:
        print_json(
            [
                {
                    "match": each.name,
                    "attack": each.attack.title,
                    "model": each.model.title,
                    "samples": each.samples,
                    "problem": each.problem,
                }
                for each in matches
            ]
        )
        return 0
    rows = [
        [
            as_it_is(text)
            for text in (
                f"{_short(each.attack.name)}/{_short(each.model.name)}",
                *(each.attack.title, each.model.title, str(each.samples), each.problem),
            )
        ]
        for each in matches
    ]
    print_table(f"Matches in {directory}", ("match", "attack", "model", "samples", ""), rows, text=(0, 1, 2, 4))
    return 0


def _short(name: str) -> str:
    return name[:_SHORT] if name.startswith(_PLAYER) else name


def _median(numbers: Any) -> str:
    value = numbers.get("median") if isinstance(numbers, dict) else None
    return f"{value:g}" if isinstance(value, int | float) else "-"
