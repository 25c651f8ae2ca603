"""`gauntlet challenge`: an unranked match of a submission on a site against an opponent whose files are public."""

from __future__ import annotations

import argparse
import time
from typing import Any

from evaluation.cli import submission_log
from evaluation.cli.output import as_it_is, print_facts, print_json, print_table, say
from evaluation.cli.positive_number import positive
from evaluation.cli.site_client import SiteChallenge, SiteClient
from evaluation.cli.site_login import add_json, add_site, site_client
from evaluation.domain.errors import Refusal

_GOES_ON = ("waiting", "playing")


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "challenge",
        help="play a submission on a site against a chosen opponent, unranked",
        description="Requests a match on the public development images of the competition. It counts nowhere. Without "
        "an opponent, it lists whom the submission may challenge.",
    )
    command.add_argument("submission", type=positive, metavar="SUBMISSION", help="the number of a submission of yours")
    command.add_argument(
        "opponent",
        nargs="?",
        metavar="OPPONENT",
        help="a bundled baseline, or the number of a submission with released code",
    )
    command.add_argument("--wait", action="store_true", help="wait for the result")
    add_site(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    if given.opponent is None and given.wait:
        raise Refusal("--wait needs an opponent", fix="name one, or leave --wait out to list them")
    client = site_client(given)
    if given.opponent is None:
        return _list_opponents(client, given)
    made = client.request_challenge(given.submission, given.opponent)
    try:
        shown = _followed(client, made) if given.wait else made
    except KeyboardInterrupt:
        say(f"Challenge {made.number} goes on without this command: {_address(client, made)}")
        return 130
    if given.json:
        print_json(client.get(f"submissions/{made.submission}/challenges/{made.number}"))
    else:
        _print(client, shown)
        if shown.samples:
            say(f"Its pictures: gauntlet pictures {shown.submission} --challenge {shown.number}")
    return 3 if shown.state in ("failed", "cancelled") else 0


def _list_opponents(client: SiteClient, given: argparse.Namespace) -> int:
    if given.json:
        print_json(list(client.rows(f"submissions/{given.submission}/opponents")))
        return 0
    found = client.opponents(given.submission)
    if not found:
        say("Nobody can be challenged: no opponent is public yet, or this competition offers no challenges.")
        return 0
    rows = [tuple(as_it_is(text) for text in (each.opponent, each.track, each.title, each.team)) for each in found]
    title = f"Whom submission {given.submission} may challenge"
    print_table(title, ("opponent", "track", "title", "team"), rows, text=(0, 1, 2, 3))
    return 0


def _followed(client: SiteClient, made: SiteChallenge) -> SiteChallenge:
    """Print the states of a challenge on standard error until it is over, and return it."""
    shown, state = made, ""
    while True:
        if shown.state != state:
            state = shown.state
            say(f"challenge {shown.number} is {state}")
        if state not in _GOES_ON:
            return shown
        time.sleep(submission_log.EVERY)
        shown = submission_log.patiently(lambda: client.challenge(made.submission, made.number))


def _print(client: SiteClient, shown: SiteChallenge) -> None:
    rows = [
        ("challenge", f"{shown.number}, submission {shown.submission} against {shown.opponent_title}"),
        ("state", shown.state),
        *([("median distance", f"{shown.numbers.median:g}")] if shown.numbers else []),
        ("page", _address(client, shown)),
    ]
    print_facts(rows)
    if shown.samples:
        table = [
            (str(each.sample), as_it_is(each.outcome), f"{each.distance:.3f}", str(each.queries))
            for each in shown.samples
        ]
        print_table("Samples", ("sample", "outcome", "distance", "queries"), table, text=(1,))


def _address(client: SiteClient, shown: SiteChallenge) -> str:
    return f"{client.site}/challenges/{shown.number}"
