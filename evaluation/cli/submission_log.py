"""`gauntlet logs`: the log of a submission's build and smoke test, and following a submission to its score."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, TypeVar

from evaluation.cli.output import printable, say
from evaluation.cli.positive_number import positive
from evaluation.cli.site_client import (
    THROTTLED,
    SiteClient,
    SiteLog,
    SiteRefusal,
    SiteSubmission,
    UnavailableSiteError,
)
from evaluation.cli.site_login import add_site, site_client

EVERY = 2.0
"""Seconds between requests for news."""

_ATTEMPTS = 30
"""Requests in a row that may fail while a submission is followed."""

Result = TypeVar("Result")


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "logs", help="print the log of a submission's build and smoke test"
    )
    command.add_argument("number", type=positive, metavar="N", help="the number of a submission of your team")
    command.add_argument("-f", "--follow", action="store_true", help="go on until the log is over")
    command.add_argument("--attempt", type=positive, metavar="N", help="an earlier attempt (default the newest one)")
    command.add_argument("--json", action="store_true", help="print one JSON object for each line")
    add_site(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    client, after, attempt = site_client(given), 0, given.attempt
    while True:
        page = patiently(lambda: client.log(given.number, after, given.attempt))  # noqa: B023 - called at once
        if attempt is not None and page.attempt != attempt:  # another attempt has lines of its own
            for rest in _rest(client, given.number, after, attempt):
                _print_lines(rest, as_json=given.json)
            attempt, after = page.attempt, 0
            continue
        _print_lines(page, as_json=given.json)
        after, attempt = page.last, page.attempt
        if page.over or not (page.lines or given.follow):
            return 0
        if not page.lines:
            time.sleep(EVERY)


def followed(client: SiteClient, number: int) -> SiteSubmission:
    """Print the log of a submission and its states on standard error until it is final, and return it."""
    state, after, attempt, over = "", 0, None, False
    while True:
        shown = patiently(lambda: client.submission(number))
        if shown.state != state:
            state = shown.state
            say(f"submission {number} is {state}")
        page = patiently(lambda: client.log(number, after)) if not over else None  # noqa: B023 - called at once
        if page and page.attempt != attempt:  # another attempt has a log of its own
            for line in (line for rest in _rest(client, number, after, attempt) for line in rest.lines):
                say(f"  {line.text}")
            attempt, after = page.attempt, 0
            page = patiently(lambda: client.log(number, 0))
        if page:
            for line in page.lines:
                say(f"  {line.text}")
            after = page.last
            over = page.over and state not in {"received", "building", "checking"}
        if shown.progress and shown.progress.final and (page is None or page.over):
            return shown
        time.sleep(EVERY)


def _rest(client: SiteClient, number: int, after: int, attempt: int | None) -> Iterator[SiteLog]:
    """Yield what an attempt wrote after line `after`, before another one began; nothing of None."""
    while attempt is not None:
        page = patiently(lambda: client.log(number, after, attempt))  # noqa: B023 - called at once
        yield page
        if page.over or not page.lines:
            return
        after = page.last


def _print_lines(page: SiteLog, *, as_json: bool) -> None:
    for line in page.lines:
        if as_json:
            sys.stdout.write(f"{json.dumps(asdict(line))}\n")
        else:
            sys.stdout.write(f"{printable(line.text)}\n")
    sys.stdout.flush()


def patiently(ask: Callable[[], Result]) -> Result:
    """Return the answer of the site, which may be away for a minute, or get too many requests of the person."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return ask()
        except UnavailableSiteError:
            time.sleep(EVERY)
        except SiteRefusal as refusal:
            if refusal.code != THROTTLED:
                raise
            time.sleep(EVERY)
    return ask()
