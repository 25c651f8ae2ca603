"""The demo's season: the organiser plays a top-five round and the final in the admin, and releases the final."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from competitions.models import Competition, SampleSet
from competitions.selectors import sample_set_for
from core import clock
from core.errors import Fault
from demo.demo_site import ORGANISER, DemoSite, Say, boards
from demo.print_boards import print_boards, print_preview, print_standings
from demo.web_client import WebClient
from leaderboards.models import Evaluation
from leaderboards.selectors import unevaluated
from rounds.models import Release, Round
from rounds.selectors import estimate, preview, progress, standings

State = Round.State

WATCH_SECONDS = 5.0
"""Between two lines about a round that plays."""

WINDOW = timedelta(hours=2)
"""How long submissions would be refused, if the organiser did not end the window before."""

NUMBER = re.compile(r"(?<=[:,\[])\d+\.\d+(?=[,}\]])")
"""A distance or another number with a point, in a line of JSON."""


@dataclass(frozen=True)
class Chapter:
    """A round of the season."""

    kind: Round.Kind
    title: str
    purpose: SampleSet.Purpose


ROUND = Chapter(Round.Kind.TOP_FIVE, "Top-five round", SampleSet.Purpose.TEST)
FINAL = Chapter(Round.Kind.FINAL, "The final", SampleSet.Purpose.FINAL)


class Season:
    """Plays the season at the site of `site`. Every step looks first whether it is already done."""

    def __init__(self, *, site: DemoSite, competition: Competition, say: Say, limit: float, folder: Path) -> None:
        self._story = site
        self._competition = competition
        self._say = say
        self._limit = limit
        self._folder = folder
        self._console = Console(width=100)
        self._organiser = WebClient(site.front_page(""))

    def play(self) -> None:
        """All of it. Raises `Fault` where something does not go on within the limit."""
        self._organiser.log_in(ORGANISER, self._story.password_of(ORGANISER))
        self._publish(ROUND)
        self._wait_for_boards()
        print_boards(boards(self._competition), self._console)
        final = self._publish(FINAL)
        self._release(final)
        self._verify(final)
        print_standings(final.title, standings(final), self._console)

    def _publish(self, chapter: Chapter) -> Round:
        """Plan, freeze, start, watch and apply one round, and let submissions in again."""
        shown = self._competition.rounds.filter(kind=chapter.kind).exclude(state=State.CANCELLED).first()
        shown = shown or self._plan(chapter)
        if shown.state != State.PUBLISHED:
            self._wait("frozen", lambda: self._at(shown) != State.PLANNED)
            if shown.state == State.FROZEN:
                self._tell(f"{shown.title} is frozen with {shown.entries.count()} submissions.")
                self._act(shown, "start", "started")
            if shown.state == State.PAUSED:
                self._act(shown, "resume", "resumed")
            self._watch(shown)
            self._apply(shown)
        if shown.window.ends_at > clock.now():
            path = f"/admin/competitions/freezewindow/{shown.window_id}/end_now/"
            self._organiser.act(path, "1 of 1 ended", reason="It is over.")
            self._tell("The window is ended: submissions are accepted again.")
        return shown

    def _plan(self, chapter: Chapter) -> Round:
        source = self._competition.sample_sets.filter(purpose=chapter.purpose, drawn_from=None).first()
        if source is None:
            raise Fault(f"the competition has no samples for {chapter.purpose}")
        # a moment ahead: what begins in the past is refused
        begins = clock.now() + timedelta(seconds=4)
        ends = begins + WINDOW
        self._organiser.act(
            "/admin/rounds/round/add/",
            "is planned",
            competition=str(self._competition.pk),
            title=chapter.title,
            kind=chapter.kind,
            schedule=Round.Schedule.LADDER,
            source=str(source.pk),
            samples=str(source.count),
            starts_at_0=f"{begins:%Y-%m-%d}",
            starts_at_1=f"{begins:%H:%M:%S}",
            ends_at_0=f"{ends:%Y-%m-%d}",
            ends_at_1=f"{ends:%H:%M:%S}",
            reason="The demo's season.",
        )
        planned: Round = self._competition.rounds.get(kind=chapter.kind, state=State.PLANNED)
        most = estimate(planned)
        hours = f", {max(1, 60 * most.hours):.0f} min" if most.hours is not None else ""
        self._tell(
            f"{ORGANISER} planned {planned.title}: {source.count} secret samples, at most {most.triples_most:,} "
            f"samples to play{hours}; committed to {planned.commitment[:16]}."
        )
        return planned

    def _watch(self, shown: Round) -> None:
        """Say how far it is every few seconds, until it is scored."""
        most = estimate(shown).triples_most
        told = ""

        def over() -> bool:
            nonlocal told
            if self._at(shown) != State.PLAYING:
                return True
            far = progress(shown)
            line = f"stages over {shown.stages.count()}; {far.done:,} of at most {most:,} samples played"
            if line != told:
                told = line
                self._tell(f"{shown.title}: {line}")
            return False

        self._wait("scored", over, every=WATCH_SECONDS)

    def _apply(self, shown: Round) -> None:
        print_preview(shown.title, preview(shown), self._console)
        self._act(shown, "apply", "applied")
        self._tell(f"{shown.title} is applied. Its page: {self._story.front_page(self._page(shown))}")
        for track in self._competition.tracks.all():
            pools = track.pools.prefetch_related("players").order_by("-number")[:2]
            for pool in reversed(pools):
                places = pool.places.select_related("player")
                self._say(f"  {track.name} pool {pool.number}: {', '.join(place.player.title for place in places)}")
        validation = sample_set_for(self._competition, SampleSet.Purpose.VALIDATION)
        if validation.replaces_id is not None:
            self._say(f"  validation set: {validation.name}, {validation.count} images that were in no set before")

    def _wait_for_boards(self) -> None:
        playing = Evaluation.objects.filter(state=Evaluation.State.PLAYING)

        def settled() -> bool:
            return not playing.exists() and next(unevaluated(), None) is None

        if not settled():
            self._tell("Everybody is measured anew against the new pools.")
            self._wait("measured anew", settled)

    def _release(self, final: Round) -> None:
        public = set(final.releases.filter(withdrawn_at=None).values_list("part", flat=True))
        for part in Release.Part:
            if part not in public:
                self._act(final, "release", "released", part=part)
                self._tell(f"released: {part.label}")

    def _verify(self, final: Round) -> None:
        """Check the bundle as any stranger can, and a forged copy of it."""
        stranger = WebClient(self._story.front_page(""))
        bundle = stranger.download(f"{self._page(final)}/files/bundle")
        key = stranger.download("/signing-key.txt").decode().strip()
        genuine = self._folder / "final.jsonl"
        genuine.write_bytes(bundle)
        self._tell(f"gauntlet verify on the bundle, {len(bundle):,} bytes:")
        if self._run_verify(genuine, key) != 0:
            raise Fault("gauntlet verify does not accept the bundle")
        line, forged = _forged(bundle)
        copy = self._folder / "forged.jsonl"
        copy.write_bytes(forged)
        self._tell(f"gauntlet verify on a copy with one digit changed in line {line}:")
        if self._run_verify(copy, key) == 0:
            raise Fault("gauntlet verify accepts a forged bundle")

    def _run_verify(self, path: Path, key: str) -> int:
        command = [sys.executable, "-m", "evaluation", "verify", str(path), "--key", key]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        self._say("".join(f"  {line}\n" for line in (done.stdout + done.stderr).splitlines()))
        return done.returncode

    def _act(self, shown: Round, name: str, done: str, **fields: str) -> None:
        reason = "The demo's season."
        self._organiser.act(f"/admin/rounds/round/{shown.pk}/{name}/", f"1 of 1 {done}", reason=reason, **fields)
        shown.refresh_from_db()

    def _at(self, shown: Round) -> str:
        """The state of a round now; raises `Fault` where something keeps it from going on."""
        shown.refresh_from_db()
        if shown.problem:
            raise Fault(f"{shown.title} does not go on: {shown.problem}")
        return str(shown.state)

    def _wait(self, what: str, over: Callable[[], bool], *, every: float = 1.0) -> None:
        deadline = time.monotonic() + self._limit
        while not over():
            self._story.check()
            if time.monotonic() > deadline:
                raise Fault(f"it was not {what} after {self._limit:g} s")
            time.sleep(every)

    def _page(self, shown: Round) -> str:
        return f"/competitions/{self._competition.slug}/rounds/{shown.number}"

    def _tell(self, line: str) -> None:
        self._say(f"{self._story.time()}  {line}")


def _forged(bundle: bytes) -> tuple[int, bytes]:
    """The bundle with the last digit of one number changed, and the number of that line, from 1."""
    lines = bundle.decode().split("\n")
    for place in range(len(lines) // 2, len(lines)):
        for number in NUMBER.finditer(lines[place]):
            others = (number[0][:-1] + digit for digit in "0123456789")
            # a number that is written in no other way: only what it says is wrong
            other = next((text for text in others if text != number[0] and repr(float(text)) == text), None)
            if other is not None:
                lines[place] = lines[place][: number.start()] + other + lines[place][number.end() :]
                return place + 1, "\n".join(lines).encode()
    raise Fault("the bundle holds no number to change")
