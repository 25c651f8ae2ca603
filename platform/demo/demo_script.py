"""The demo's script: a competition opens, virtual teams register and push, and leaderboards fill."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import call_command
from django.db.models import Q
from rich.console import Console
from rich.live import Live

from accounts.models import User
from competitions import services as competitions
from competitions.baseline_files import is_directory
from competitions.bundled_baselines import missing_package
from competitions.models import Competition, Entry
from competitions.rules import format_of
from competitions.shifted_dates import shifted
from core import clock, time_format
from core.errors import Fault, Refusal
from core.table_versions import versions
from demo.credentials import CredentialStore
from demo.entry_progress import EntryProgress, changes, entry_progress, progress_table
from demo.formats import SeasonFormat, demos
from demo.git_push import TAG, has_code, push_copy, pushed_tags
from demo.submission_result import DemoResult
from demo.supervisor import SiteSupervisor
from demo.virtual_teams import VirtualPush, VirtualTeam
from demo.web_client import WebClient
from submissions.models import Submission

COMPETITION_FILE = Path(__file__).with_name("digits.toml")
ORGANISER = "olga"
SEED_SALT = "d1" * 32
"""Nothing is secret in the demo: with one salt, its leaderboards are the same everywhere."""

Say = Callable[[str], None]


class DemoSite:
    """Runs the script on the site of `supervisor`. Each step first checks whether it is already done."""

    def __init__(
        self,
        *,
        supervisor: SiteSupervisor,
        credentials: CredentialStore,
        say: Say,
        competition_file: Path,
        most_samples: int | None = None,
    ) -> None:
        self._supervisor = supervisor
        self._credentials = credentials
        self._print = say
        self._live: Live | None = None
        self._entries: Sequence[EntryProgress] = ()
        self._read: Mapping[str, int] | None = None
        """The versions of the tables from which the last news was read."""
        document = open_now(tomllib.loads(competition_file.read_text(encoding="utf-8")))
        name = format_of(document["rules"])
        if name not in demos:
            raise Refusal(
                f"{competition_file.name} has the format {name}, of which there is no demo",
                fix=f"choose a competition of the format {' or '.join(demos)}",
            )
        self._format = demos[name]
        if most_samples is not None:
            rules = self._format.rules_for(document["rules"], most_samples)
            document = with_at_most(most_samples, document) | {"rules": rules}
        self._source: str = document["sample_sets"][0]["source"]
        self._document = self._without_missing_packages(document)
        self._started = time.monotonic()
        self._reported: set[str] = set()
        self._said: dict[int, str] = {}
        """The last result that was said of each submission."""

    def open(self) -> Competition:
        """Create the tables, the competition and its organiser.

        Raise `Refusal` where the demo played another competition: its teams and their tokens are those of that one.
        """
        call_command("migrate", verbosity=0)
        elsewhere = Entry.objects.exclude(competition__slug=self._document["competition"]["slug"])
        if played := elsewhere.filter(team__slug=self.reader).first():
            raise Refusal(
                f"the demo in {settings.STATE} plays the competition {played.competition.slug}",
                fix=f"choose another folder with GAUNTLET_STATE, or remove that one: rm -r {settings.STATE}",
            )
        call_command("collectstatic", interactive=False, verbosity=0)
        known = Competition.objects.filter(slug=self._document["competition"]["slug"]).first()
        # a later start has the dates of the first one: its rounds are planned
        document = shifted(self._document, known.starts_at) if known else self._document
        competition = competitions.import_competition(document, new_salt=lambda: SEED_SALT)
        if not User.objects.filter(username=ORGANISER).exists():
            User.objects.create_superuser(ORGANISER, "", self._credentials.password_of(ORGANISER))
        return competition

    @property
    def reader(self) -> str:
        """The user name of the person who started the demo."""
        return self._format.reader.slug

    @property
    def _competition(self) -> Competition:
        return Competition.objects.get(slug=self._document["competition"]["slug"])

    def season(self) -> SeasonFormat:
        """Return how the rounds of this format are played. Raise `Refusal` if the demo cannot play them."""
        if self._format.season is None:
            raise Refusal(
                f"the demo plays no rounds of the {format_of(self._document['rules'])} format",
                fix="leave out --full; the organiser can plan a round in the admin",
            )
        return self._format.season

    def enter(self, team: VirtualTeam) -> None:
        """Register the team's captain, create the team and a token: over HTTP, with the forms of the pages."""
        if self._credentials.token_of(team.slug) is not None:
            return
        web_client = WebClient(self._supervisor.url)
        web_client.register(team.slug, self._credentials.password_of(team.slug))
        web_client.make_team(self._document["competition"]["slug"], team.slug, team.name)
        for name in team.members:
            member = WebClient(self._supervisor.url)
            member.register(name, self._credentials.password_of(name))
            web_client.invite(team.slug, name)
            member.accept_invitation()
        self._credentials.put_token(team.slug, web_client.make_token("git"))

    def submit(self, team: VirtualTeam) -> None:
        """Push each of the team's entries with git, and print the site's answer."""
        for entry in filter(self._plays, team.entries):
            address = self.address(team, entry)
            if TAG not in pushed_tags(address):
                pushed = push_copy(entry.like, address, author=team.slug, changes=entry.changes, starts=entry.starts)
                answer = next((line for line in pushed.output.splitlines() if " received: " in line), "")
                if self._live is None:
                    self._say(f"{team.name} pushed to {entry.track}: {answer.removeprefix('remote:').strip()}")
                self.say_news()

    def prepare_reader(self) -> str:
        """Create the reader's own team with code not submitted yet; return the command that submits it."""
        reader = self._format.reader
        self.enter(reader)
        (entry,) = reader.entries
        address = self.address(reader, entry)
        if not has_code(address):
            push_copy(entry.like, address, author=reader.slug, changes=entry.changes, tag=None)
        return f"git clone {address} my-attack && cd my-attack && git tag {TAG} && git push origin HEAD {TAG}"

    def address(self, team: VirtualTeam, entry: VirtualPush) -> str:
        """Return the address to which the team pushes an entry, with its token."""
        site = urlsplit(self._supervisor.url)
        credentials = f"{team.slug}:{self._credentials.token_of(team.slug)}"
        return f"{site.scheme}://{credentials}@{site.netloc}/git/{team.slug}/{entry.track}.git"

    def front_page(self, path: str = "/") -> str:
        """Return an address on the site."""
        return self._supervisor.url + path

    def password_of(self, user: str) -> str:
        """Return the password of one of the demo's users."""
        return self._credentials.password_of(user)

    def time(self) -> str:
        """Return the time since the start, as minutes and seconds."""
        return time_format.elapsed(time.monotonic() - self._started)

    def check(self) -> None:
        """Raise `Fault` if a process of the site has ended."""
        self._supervisor.check()

    def settings(self) -> str:
        """Describe how the demo is smaller than the competition that its format comes from."""
        samples = next(each["count"] for each in self._document["sample_sets"] if each["purpose"] == "validation")
        return self._format.settings(self._document["rules"], samples)

    def print_boards(self, console: Console) -> None:
        """Print the leaderboards."""
        self._format.print_boards(self._competition, console)

    def submit_all(self, *, one_at_a_time: bool) -> None:
        """Register all teams and push their entries. The virtual teams have lower priority than the reader's.

        With `one_at_a_time`, each waits until those before it are built: one builder stays free for the reader.
        """
        for team in self._format.teams:
            for entry in filter(self._fits, team.entries):
                if package := missing_package(entry.track, entry.like, self._source):
                    self._say(f"Left out: {entry.like} of {team.name}; for it: pip install --no-deps {package}")
            if any(map(self._plays, team.entries)):
                if one_at_a_time:
                    self._wait_for_builds()
                self.enter(team)
                Entry.objects.filter(team__slug=team.slug).update(low_priority=True)
                self.submit(team)
            self.check()

    def watch(self, *, limit: float) -> None:
        """Print news until every submission is rejected, scored or void; raise `Fault` after `limit` seconds."""
        deadline = time.monotonic() + limit
        while True:
            self._supervisor.check()
            left = self._format.under_way(self._competition)  # before the news: what ends between would be left out
            self.say_news()
            if not left:
                return
            if time.monotonic() > deadline:
                raise Fault(f"{left} players were still under way after {limit:g} s")
            time.sleep(1)

    @contextmanager
    def live_table(self, console: Console) -> Iterator[None]:
        """Show the state of all entries as a table that is redrawn in place; elsewhere it is lines.

        What is said meanwhile stands above it: what ended without a score, and the reader's own submissions.
        """
        try:
            with Live(console=console, auto_refresh=False) as self._live:
                yield
        finally:
            self._live = None

    def say_news(self) -> None:
        """Print what has changed since the last call."""
        if (now := versions()) != self._read:
            self._read = now  # before the rows: what changes between is read by the next call
            self._say_changes()
        if self._live is not None:
            self._live.update(progress_table(self._entries, self.time()), refresh=True)

    def _say_changes(self) -> None:
        results = list(self._format.results(self._competition))
        entries = self._progress(results)
        if self._live is None:
            for line in changes(self._entries, entries):
                self._say(f"{self.time()}  {line}")
        self._entries = entries
        for key, submission, line, in_table in self._news(results):
            if key not in self._reported:
                self._reported.add(key)
                # measured again with an equal score, it is no news
                if self._said.get(submission) != line and not (in_table and self._live):
                    self._say(f"{self.time()}  {line}")
                self._said[submission] = line

    def _say(self, line: str) -> None:
        if self._live is None:
            self._print(line)
        else:
            self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _progress(self, results: Sequence[DemoResult]) -> list[EntryProgress]:
        """Return all entries: those of the virtual teams in their order, then those of others that were pushed."""
        rows = {
            (team.slug, entry.track): EntryProgress(team.name, entry.track)
            for team in self._format.teams
            for entry in filter(self._plays, team.entries)
        }
        ended = {result.submission.pk: result for result in results}
        played = self._format.played(self._competition)
        pushed = Submission.objects.filter(repository__track__competition=self._competition)
        for row in pushed.select_related("repository__entry__team", "repository__track").order_by("pk"):
            team, track = row.repository.entry.team, row.repository.track.name
            rows[team.slug, track] = entry_progress(
                team.name, track, row.state, ended.get(row.pk), played.get(row.pk, (0, 0))
            )
        return list(rows.values())

    def _wait_for_builds(self) -> None:
        of_others = ~Q(repository__entry__team__slug=self.reader)
        while Submission.objects.filter(of_others, state__in=Submission.UNDER_WAY).exists():
            self.check()
            self.say_news()
            time.sleep(1)

    def _without_missing_packages(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the competition without the baselines that cannot run here, and say which they are."""
        tracks = {}
        for name, track in document["tracks"].items():
            missing = {
                each: "" if is_directory(each) else missing_package(name, each, self._source)
                for each in track["baselines"]
            }
            for each in filter(missing.get, missing):
                self._say(f"Left out: the baseline {each}; for it: pip install --no-deps {missing[each]}")
            tracks[name] = track | {"baselines": [each for each in missing if not missing[each]]}
        return document | {"tracks": tracks}

    def _plays(self, entry: VirtualPush) -> bool:
        return self._fits(entry) and not missing_package(entry.track, entry.like, self._source)

    def _fits(self, entry: VirtualPush) -> bool:
        """Return whether the entry works on the competition's images.

        It does where its submission is a baseline, so small competitions get small teams, or where it or its start
        images are made for the same data set.
        """
        if made_for := entry.starts or entry.made_for:
            return any(each["source"] == made_for for each in self._document["sample_sets"])
        return entry.like in self._document["tracks"][entry.track]["baselines"]

    def _news(self, results: Sequence[DemoResult]) -> Iterator[tuple[str, int, str, bool]]:
        """Yield everything that has ended so far: its own key, its submission, and whether the table says it, too."""
        rejected = Submission.objects.filter(state=Submission.State.REJECTED)
        for row in rejected.select_related("repository__entry__team", "repository__track"):
            yield f"{row} {row.state_since}", row.pk, f"{self._named(row)} rejected: {row.problem}", False
        for result in results:
            own = result.submission.repository.entry.team.slug == self.reader
            yield result.key, result.submission.pk, self._line(result), result.scored and not own

    def _line(self, result: DemoResult) -> str:
        where = result.submission.repository
        if where.entry.team.slug != self.reader:
            return f"{where.entry.team.name}, {where.track.name}: {result.score}"
        scored = "scored " if result.scored else ""
        rank = f", rank {result.rank}" if result.rank else ""
        address = self.front_page(f"/submissions/{result.submission.pk}")
        return f"{self._named(result.submission)}: {scored}{result.score}{rank}. {address}"

    def _named(self, submission: Submission) -> str:
        own = submission.repository.entry.team.slug == self.reader
        return f"Your submission {submission.pk}" if own else str(submission)


def open_now(document: dict[str, Any]) -> dict[str, Any]:
    """Return the competition; if it has ended or not begun, with all its dates moved so that it begins now."""
    now = clock.now().replace(microsecond=0)
    dates = document["competition"]
    return document if dates["starts_at"] <= now < dates["ends_at"] else shifted(document, now)


def with_at_most(most: int, document: dict[str, Any]) -> dict[str, Any]:
    """Return the competition with at most `most` samples in every sample set that a match is played on."""
    sets = [
        each if each["purpose"] == "development" else each | {"count": min(each["count"], most)}
        for each in document["sample_sets"]
    ]
    rounds = [
        each | {"samples": min(each["samples"], most)} if "samples" in each else each
        for each in document.get("rounds", [])
    ]
    return document | {"sample_sets": sets, "rounds": rounds}
