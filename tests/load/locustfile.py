"""Load on a site: people who read its leaderboards, and teams that push and follow the log of their submission.

docs/performance.md says how to run it, and what it measured. Accounts, teams and submissions stay on the site.
"""

from __future__ import annotations

import html
import itertools
import re
import secrets
import time
from argparse import ArgumentParser

from locust import HttpUser, between, constant, events, task

from core.errors import Fault
from demo.git_push import Pushed, push_copy
from demo.web_client import WebClient

LIVE = re.compile(r'hx-get="([^"]+)" hx-trigger="(?:load|every \d+s)"')
"""An address that a page asks again by itself."""
LOG = re.compile(r"/submissions/\d+/log")
SUBMISSION = re.compile(r"/submissions/\d+")
TEAMS, APART = 10, 8
"""So many users are teams, the others readers. Teams begin so many seconds apart, since sites limit sign-ups."""


@events.init_command_line_parser.add_listener
def add_options(parser: ArgumentParser) -> None:
    """Add the options of this file to those of locust."""
    parser.add_argument("--competition", default="demo", help="short name of a running competition")
    parser.add_argument("--track", default="untargeted", help="the track that is read, and that teams submit to")
    parser.add_argument("--like", default="gaussian-noise", help="the bundled submission that teams push")


class Person(HttpUser):
    """Somebody with a page in front of them, which asks for its live part again as in a browser."""

    abstract = True
    live = ""

    def open(self, address: str, name: str) -> None:
        """Open a page."""
        self._ask_next(self.client.get(address, name=name).text)

    def poll(self) -> None:
        """Ask for the log of the open page, or for its live part, if it has one."""
        if self.live:
            name = "log, next lines" if LOG.match(self.live) else "live part of a page"
            answer = self.client.get(self.live, name=name, headers={"HX-Request": "true"})
            if answer.status_code == 200:
                self._ask_next(answer.text)

    def _ask_next(self, page: str) -> None:
        found = [html.unescape(address) for address in LIVE.findall(page)]
        self.live = next(filter(LOG.match, found), found[0] if found else "")


class Reader(Person):
    """Opens a page, and leaves it open for a while."""

    wait_time = between(8, 12)

    def on_start(self) -> None:
        """Begin with the overview."""
        self.read_overview()

    @task(1)
    def read_overview(self) -> None:
        """Open the overview of the competition."""
        self.open(f"/competitions/{self.environment.parsed_options.competition}", "overview")

    @task(2)
    def read_leaderboard(self) -> None:
        """Open the leaderboard."""
        options = self.environment.parsed_options
        self.open(f"/competitions/{options.competition}/leaderboards/{options.track}", "leaderboard")

    @task(7)
    def stay(self) -> None:
        """Let the page ask for its live part."""
        self.poll()


class Team(Person):
    """Signs up, pushes a submission, and follows its log."""

    fixed_count = TEAMS
    wait_time = constant(1)
    begun = itertools.count()

    def on_start(self) -> None:
        """Sign up, push and open the page of the submission."""
        time.sleep(APART * next(self.begun))
        options, name = self.environment.parsed_options, f"load-{secrets.token_hex(4)}"
        browser = WebClient(self.host, self.client)
        browser.register(name, secrets.token_urlsafe())
        browser.make_team(options.competition, name, name)
        token = browser.make_token("load")
        address = f"{self.host.replace('//', f'//{name}:{token}@')}/git/{name}/{options.track}.git"
        pushed, failure = Pushed("", 0.0), None
        try:
            pushed = push_copy(options.like, address, author=name)
        except Fault as fault:
            failure = fault
        self.environment.events.request.fire(
            request_type="git", name="push", response_time=pushed.seconds * 1000, response_length=len(pushed.output),
            exception=failure, context={},
        )  # fmt: skip
        if found := SUBMISSION.search(pushed.output):
            self.open(found[0], "submission")

    @task
    def follow(self) -> None:
        """Ask for the next lines of the log, every second as the page does."""
        self.poll()
