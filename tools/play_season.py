"""Play a season of a competition on a running site, over HTTP and git alone, as its teams and its organiser would.

.venv/bin/python tools/play_season.py teams FILE SITE           register teams, push their submissions, wait for scores
.venv/bin/python tools/play_season.py round FILE SITE NUMBER    play a round in the admin; release and verify a final

FILE is the file of the competition, which the site has imported. The teams are the virtual ones of the demo that fit
its images; their passwords and tokens are kept in season.json in the working folder, and files of the final beside it.
The password of the organiser, olga, is $GAUNTLET_ORGANISER. docs/seasons.md says what came of it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from core.errors import Fault, GauntletError
from demo.credentials import CredentialStore
from demo.git_push import push_copy, pushed_tags
from demo.virtual_teams import VirtualPush, VirtualTeam
from demo.web_client import WebClient
from formats.query.demo.teams import TEAMS as TEAMS_2018
from formats.transfer.demo.teams import TEAMS as TEAMS_2017

ORGANISER = "olga"
REASON = "The season on real images."
POLL_SECONDS = 3.0
PARTS = ("bundle", "images", "perturbed", "code")
NUMBER = re.compile(r"/submissions/(\d+)")
ENDED = ("rejected", "withdrawn")


class Season:
    """A competition on a site, and who plays it."""

    def __init__(self, file: Path, site: str) -> None:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        self.site = site.rstrip("/")
        self.slug: str = document["competition"]["slug"]
        self.title: str = document["competition"]["title"]
        self._tracks: dict[str, Any] = document["tracks"]
        self._source: str = document["sample_sets"][0]["source"]
        self._all = TEAMS_2017 if document["rules"].get("format") == "transfer" else TEAMS_2018
        self.credentials = CredentialStore(Path("season.json"))

    def teams(self) -> Iterator[tuple[VirtualTeam, list[VirtualPush]]]:
        """Yield each team that has entries for the images of the competition, with these."""
        for team in self._all:
            if entries := [each for each in team.entries if self._fits(each)]:
                yield team, entries

    def name(self, team: VirtualTeam) -> str:
        """Return the user name of a captain and short name of the team: another one in each competition."""
        return f"{team.slug}-{self.slug[-4:]}"

    def address(self, team: VirtualTeam, entry: VirtualPush) -> str:
        """Return the address of a repository, with the team's token."""
        name = self.name(team)
        parts = urlsplit(self.site)
        login = f"{name}:{self.credentials.token_of(name)}"
        return f"{parts.scheme}://{login}@{parts.netloc}/git/{name}/{entry.track}.git"

    def register(self, team: VirtualTeam) -> None:
        """Make the captain's account, the team and its token with the forms of the pages, if there are none yet."""
        name = self.name(team)
        if self.credentials.token_of(name) is None:
            client = WebClient(self.site)
            client.register(name, self.credentials.password_of(name))
            client.make_team(self.slug, name, f"{team.name} {self.slug[-4:]}")
            self.credentials.put_token(name, client.make_token("git"))

    def read(self, path: str, team: VirtualTeam | None = None) -> Any:
        """Return what the API answers at `path`, as to a member of the team; raise `Fault` if it is an error."""
        headers = {"Authorization": f"Bearer {self.credentials.token_of(self.name(team))}"} if team else {}
        answer = requests.get(f"{self.site}/api/v1/{path}", headers=headers, timeout=60)
        if not answer.ok:
            raise Fault(f"/api/v1/{path} answered {answer.status_code}")
        return answer.json()

    def _fits(self, entry: VirtualPush) -> bool:
        if made_for := entry.starts or entry.made_for:
            return made_for == self._source
        return entry.like in self._tracks[entry.track]["baselines"]


def play_teams(season: Season) -> None:
    """Register each team with the forms of the pages, push its entries with git, and wait for their scores."""
    begun: dict[int, tuple[VirtualTeam, float]] = {}
    for team, entries in season.teams():
        season.register(team)
        for entry in entries:
            if number := _push(season, team, entry):
                begun[number] = team, time.monotonic()
    while begun:
        time.sleep(POLL_SECONDS)
        for number in list(begun):
            team, pushed = begun[number]
            shown = season.read(f"submissions/{number}", team)
            score = (shown["evaluation"] or {}).get("value", (shown["standing"] or {}).get("score"))
            if score is not None or shown["state"] in ENDED:
                what = f"score {score}" if score is not None else f"{shown['state']}: {shown['problem']}"
                seconds = time.monotonic() - pushed
                del begun[number]
                _say(f"submission {number}, {shown['title']}: {what} after {seconds:.0f} s")


def _push(season: Season, team: VirtualTeam, entry: VirtualPush) -> int | None:
    """Push an entry; return the number of its submission, None if it was pushed before."""
    address = season.address(team, entry)
    if pushed_tags(address):
        return None
    pushed = push_copy(entry.like, address, author=team.slug, changes=entry.changes, starts=entry.starts)
    number = NUMBER.search(pushed.output)
    if number is None:
        raise Fault(f"the push of {entry.like} was answered without a submission: {pushed.output}")
    _say(f"submission {number[1]}: {team.name} pushed {entry.like} to {entry.track} in {pushed.seconds:.1f} s")
    return int(number[1])


def play_round(season: Season, number: int) -> None:
    """Play a round as the organiser: open its window now, start, watch, publish; release and verify a final."""
    organiser = WebClient(season.site)
    organiser.log_in(ORGANISER, os.environ["GAUNTLET_ORGANISER"])
    title = season.read(f"competitions/{season.slug}/rounds/{number}")["title"]
    window = _row(organiser, "competitions/freezewindow", title, season.title)
    shown = _row(organiser, "rounds/round", title, season.title)

    def act(name: str, done: str, **fields: str) -> None:
        organiser.act(f"/admin/rounds/round/{shown}/{name}/", f"1 of 1 {done}", reason=REASON, **fields)
        _say(f"{title}: {done} {fields.get('part', '')}".rstrip())

    def state() -> str:
        return str(season.read(f"competitions/{season.slug}/rounds/{number}")["state"])

    if state() == "planned":
        organiser.act(f"/admin/competitions/freezewindow/{window}/open_now/", "1 of 1 opened", reason=REASON)
        _say(f"{title}: window opened")
        _wait(lambda: state() == "frozen")
    if state() == "frozen":
        act("start", "started")
    started = time.monotonic()
    _wait(lambda: state() in {"scored", "published"})
    _say(f"{title}: scored {time.monotonic() - started:.0f} s after its start")
    if state() == "scored":
        act("publish", "published")
        organiser.act(f"/admin/competitions/freezewindow/{window}/end_now/", "1 of 1 ended", reason=REASON)
    if season.read(f"competitions/{season.slug}/rounds/{number}")["kind"] == "final":
        for part in PARTS:
            act("release", "released", part=part)
        _verify(season, number)


def _row(organiser: WebClient, table: str, title: str, competition: str) -> int:
    """Return the key of the newest row of a table of the admin that is called `title` and is of the competition."""
    page = organiser.download(f"/admin/{table}/").decode()
    links = re.findall(r'href="/admin/(\w+/\w+)/(\d+)/change/[^"]*"[^>]*>\s*([^<]*?)\s*<', page)
    rows = pairwise(links)
    keys = [int(key) for (where, key, text), (_, _, of) in rows if (where, text, of) == (table, title, competition)]
    if not keys:
        raise Fault(f"the admin's table {table} shows no row {title!r} of {competition}")
    return max(keys)


def _verify(season: Season, number: int) -> None:
    files = f"/competitions/{season.slug}/rounds/{number}/files"
    visitor = WebClient(season.site)
    bundle, images = Path(f"{season.slug}.gauntlet"), Path(f"{season.slug}-images.zip")
    bundle.write_bytes(visitor.download(f"{files}/bundle"))
    images.write_bytes(visitor.download(f"{files}/images"))
    shown = season.read(f"competitions/{season.slug}/rounds/{number}")
    key = visitor.download("/signing-key.txt").decode().strip()
    command = [sys.executable, "-m", "evaluation", "verify", str(bundle), "--key", key, "--images", str(images)]
    commitments = ["--samples", shown["commitment"], "--field", shown["field_commitment"]]
    _say(f"gauntlet verify {bundle} --images {images}:")
    subprocess.run([*command, *commitments], check=True)


def _wait(over: Callable[[], bool]) -> None:
    while True:
        with suppress(requests.ConnectionError):  # the web server may be started again meanwhile
            if over():
                return
        time.sleep(POLL_SECONDS)


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {line}", flush=True)


def main() -> int:
    """Run one step of the season."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("teams", "round"))
    parser.add_argument("file", type=Path)
    parser.add_argument("site")
    parser.add_argument("number", type=int, nargs="?", help="of the round")
    given = parser.parse_args()
    season = Season(given.file, given.site)
    try:
        if given.step == "teams":
            play_teams(season)
        elif given.number is None:
            parser.error("round needs the NUMBER of the round")
        else:
            play_round(season, given.number)
    except GauntletError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
