"""The demo's season: the organiser plays the development rounds and the final in the admin, and releases the final."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from competitions.models import Competition, SampleSet
from core import clock
from core.errors import Fault
from demo.demo_script import ORGANISER, DemoSite, Say
from demo.formats import SeasonFormat
from demo.web_client import WebClient
from rounds.models import Release, Round

State = Round.State

WATCH_SECONDS = 5.0
"""Seconds between two lines about a running round."""

WINDOW = timedelta(hours=2)
"""Length of the freeze window, which the organiser ends early."""

PATIENCE = timedelta(seconds=10)
"""How far ahead the window of a round may be for the season to wait for it."""


@dataclass(frozen=True)
class Chapter:
    """A round of the season."""

    kind: Round.Kind
    title: str
    purpose: SampleSet.Purpose


ROUND = Chapter(Round.Kind.DEVELOPMENT, "Development round", SampleSet.Purpose.TEST)
FINAL = Chapter(Round.Kind.FINAL, "The final", SampleSet.Purpose.FINAL)


class Season:
    """Plays the season on the site `site`. Each step first checks whether it is already done."""

    def __init__(
        self, *, site: DemoSite, rounds: SeasonFormat, competition: Competition, say: Say, limit: float, folder: Path
    ) -> None:
        self._site = site
        self._rounds = rounds
        self._competition = competition
        self._say = say
        self._limit = limit
        self._folder = folder
        self._console = Console(width=100)
        self._organiser = WebClient(site.front_page(""))

    def is_over(self) -> bool:
        """Return whether the final is published. Boards that are measured again afterwards change nothing of it."""
        return self._competition.rounds.filter(kind=FINAL.kind, state=State.PUBLISHED).exists()

    def play(self) -> None:
        """Play the whole season. Raise `Fault` if a step takes longer than the limit."""
        self._organiser.log_in(ORGANISER, self._site.password_of(ORGANISER))
        for chapter in () if self.is_over() else self._chapters(ROUND):
            self._play_round(chapter)
            self._wait_for_boards()
            self._site.print_boards(self._console)
        final = self._play_round(self._chapters(FINAL)[0])
        self._release(final)
        self._verify(final)
        self._rounds.print_standings(final, self._console)

    def _chapters(self, default: Chapter) -> list[Chapter]:
        """Return the rounds of the kind that the competition's file plans, in order; `default` if there are none."""
        planned = self._competition.rounds.filter(kind=default.kind).exclude(state=State.CANCELLED)
        titles = planned.order_by("number").values_list("title", flat=True)
        return [replace(default, title=title) for title in titles] or [default]

    def _play_round(self, chapter: Chapter) -> Round:
        """Plan, freeze, start, watch and publish one round, and end its freeze window."""
        rounds = self._competition.rounds.filter(kind=chapter.kind, title=chapter.title)
        shown = rounds.exclude(state=State.CANCELLED).first() or self._plan(chapter)
        if shown.state != State.PUBLISHED:
            if shown.window.starts_at > clock.now() + PATIENCE:
                path = f"/admin/competitions/freezewindow/{shown.window_id}/open_now/"
                self._organiser.act(path, "1 of 1 opened", reason="The demo does not wait for it.")
                self._print_line(f"{ORGANISER} opened the freeze window of {shown.title} now.")
            self._wait("frozen", lambda: self._at(shown) != State.PLANNED)
            if shown.state == State.FROZEN:
                self._print_line(f"{shown.title} is frozen with {shown.entries.count()} submissions.")
                self._act(shown, "start", "started")
            if shown.state == State.PAUSED:
                self._act(shown, "resume", "resumed")
            self._watch(shown)
            self._publish(shown)
        shown.window.refresh_from_db()
        if shown.window.ends_at > clock.now():
            path = f"/admin/competitions/freezewindow/{shown.window_id}/end_now/"
            self._organiser.act(path, "1 of 1 ended", reason="The round is published.")
            self._print_line("The freeze window has ended: submissions are accepted again.")
        return shown

    def _plan(self, chapter: Chapter) -> Round:
        source = self._competition.sample_sets.filter(purpose=chapter.purpose, drawn_from=None).first()
        if source is None:
            raise Fault(f"the competition has no samples for {chapter.purpose}")
        # slightly ahead: a window that begins in the past is rejected
        begins = clock.now() + timedelta(seconds=4)
        ends = begins + WINDOW
        self._organiser.act(
            "/admin/rounds/round/add/",
            "is planned",
            competition=str(self._competition.pk),
            title=chapter.title,
            kind=chapter.kind,
            source=str(source.pk),
            samples=str(source.count),
            starts_at_0=begins.date().isoformat(),
            starts_at_1=begins.time().isoformat("seconds"),
            ends_at_0=ends.date().isoformat(),
            ends_at_1=ends.time().isoformat("seconds"),
            reason="Demo season",
            **self._rounds.plan,
        )
        # on a busy host, its window may have begun and the sweep have frozen it by now
        rounds = self._competition.rounds.exclude(state=State.CANCELLED)
        planned: Round = rounds.get(kind=chapter.kind, title=chapter.title)
        self._print_line(
            f"{ORGANISER} planned {planned.title}: {source.count} secret samples, {self._rounds.cost(planned)}; "
            f"committed to {planned.commitment[:16]}."
        )
        return planned

    def _watch(self, shown: Round) -> None:
        """Print the progress every few seconds, until the round is scored."""
        progress = self._rounds.progress(shown)
        printed = ""

        def over() -> bool:
            nonlocal printed
            if self._at(shown) != State.PLAYING:
                return True
            line = progress()
            if line != printed:
                printed = line
                self._print_line(f"{shown.title}: {line}")
            return False

        self._wait("scored", over, every=WATCH_SECONDS)

    def _publish(self, shown: Round) -> None:
        self._rounds.print_preview(shown, self._console)
        self._act(shown, "publish", "published")
        self._print_line(f"{shown.title} is published. Its page: {self._site.front_page(self._page(shown))}")
        for line in self._rounds.changes(shown):
            self._say(f"  {line}")

    def _wait_for_boards(self) -> None:
        if awaited := self._rounds.awaited():
            self._print_line(awaited)
            self._wait("measured again", lambda: not self._rounds.awaited())

    def _release(self, final: Round) -> None:
        public = set(final.releases.filter(withdrawn_at=None).values_list("part", flat=True))
        for part in Release.Part:
            # objections are released once their period is over
            if part not in public and part != Release.Part.OBJECTIONS:
                self._act(final, "release", "released", part=part)
                self._print_line(f"released: {part.label}")

    def _verify(self, final: Round) -> None:
        """Verify the bundle as anyone can, and check that a forged copy fails."""
        visitor = WebClient(self._site.front_page(""))
        bundle = visitor.download(f"{self._page(final)}/files/bundle")
        key = visitor.download("/signing-key.txt").decode().strip()
        genuine = self._folder / "final.gauntlet"
        genuine.write_bytes(bundle)
        self._print_line(f"gauntlet verify on the bundle, {len(bundle):,} bytes:")
        if self._run_verify(genuine, key) != 0:
            raise Fault("gauntlet verify does not accept the bundle")
        byte, forged = _forged(bundle)
        copy = self._folder / "forged.gauntlet"
        copy.write_bytes(forged)
        self._print_line(f"gauntlet verify on a copy with one bit changed in byte {byte:,}:")
        if self._run_verify(copy, key) == 0:
            raise Fault("gauntlet verify accepts a forged bundle")

    def _run_verify(self, path: Path, key: str) -> int:
        command = [sys.executable, "-m", "evaluation", "verify", str(path), "--key", key]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        self._say("".join(f"  {line}\n" for line in (done.stdout + done.stderr).splitlines()))
        return done.returncode

    def _act(self, shown: Round, name: str, done: str, **fields: str) -> None:
        reason = "Demo season"
        self._organiser.act(f"/admin/rounds/round/{shown.pk}/{name}/", f"1 of 1 {done}", reason=reason, **fields)
        shown.refresh_from_db()

    def _at(self, shown: Round) -> str:
        """Return the state of a round now; raise `Fault` if a problem stops it."""
        shown.refresh_from_db()
        if shown.problem:
            raise Fault(f"{shown.title} does not continue: {shown.problem}")
        return str(shown.state)

    def _wait(self, what: str, over: Callable[[], bool], *, every: float = 1.0) -> None:
        deadline = time.monotonic() + self._limit
        while not over():
            self._site.check()
            if time.monotonic() > deadline:
                raise Fault(f"it was not {what} after {self._limit:g} s")
            time.sleep(every)

    def _page(self, shown: Round) -> str:
        return f"/competitions/{self._competition.slug}/rounds/{shown.number}"

    def _print_line(self, line: str) -> None:
        self._say(f"{self._site.time()}  {line}")


def _forged(bundle: bytes) -> tuple[int, bytes]:
    """Return the bundle with one bit changed in its middle, and the number of that byte, from 1."""
    at = len(bundle) // 2
    return at + 1, bundle[:at] + bytes([bundle[at] ^ 1]) + bundle[at + 1 :]
