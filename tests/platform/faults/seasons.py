"""A minimal season of each format, in phases: pushes, builds, matches, leaderboards, and a round to its publication."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from accounts.models import User
from accounts.services import create_team
from competitions.models import Organiser, SampleSet
from competitions.services import enter, import_competition
from core import clock
from repositories.models import Repository
from repositories.services import repository_of
from rounds.models import Round
from rounds.planning.plan import plan_round
from rounds.publishing.publication import publish
from rounds.running import lifecycle
from tests.platform.conftest import FakeClock
from tests.platform.faults.external_calls import ExternalCalls
from tests.platform.faults.running_site import RunningSite

SAMPLES = 4
"""Of each sample set."""

Files = Mapping[str, str]


@dataclass(frozen=True)
class Phase:
    """Something that people do, and all that the site does then."""

    name: str
    begin: Callable[[], None]


def query_files(track: str, number: int) -> Files:
    """Return a submission of the query format or of the curves format that nobody starts."""
    manifest = f'[submission]\ntrack = "{track}"\nrun = "python main.py"\ntitle = "Player {number}"\nlicence = "MIT"\n'
    return {"submission.toml": manifest, "main.py": f"print({number})\n"}


def transfer_files(track: str, number: int) -> Files:
    """Return a submission of the transfer format that nobody starts."""
    kind = "defense" if track == "defence" else track
    return {
        "metadata.json": f'{{"type": "{kind}", "container": "some/image:1", "entry_point": "run.sh"}}',
        "run.sh": f"#!/bin/sh\necho {number}\n",
    }


FILES: Mapping[str, Callable[[str, int], Files]] = {
    "query": query_files,
    "transfer": transfer_files,
    "curves": query_files,
}
PUSHES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "query": (("owls", "model"), ("foxes", "untargeted")),
    "transfer": (("owls", "attack"), ("foxes", "defence")),
    "curves": (("owls", "model"),),
}
"""Who pushes to which track."""
RULES: Mapping[str, Mapping[str, Any]] = {
    "query": {"piece_samples": 2},
    "transfer": {"batch_images": 2},
    "curves": {},
}


class Season:
    """A competition of a format, in which nothing was pushed yet, and its phases."""

    def __init__(
        self, document: dict[str, Any], name: str, folder: Path, clock: FakeClock, calls: ExternalCalls
    ) -> None:
        few = [each | {"count": min(each["count"], SAMPLES)} for each in document["sample_sets"]]
        tracks = {track: values | {"baselines": []} for track, values in document["tracks"].items()}
        rules = document["rules"] | RULES[name]
        competition = import_competition(document | {"tracks": tracks, "sample_sets": few, "rules": rules})
        self.site = RunningSite(competition, folder, clock, calls)
        self._clock, self._name = clock, name
        self._olga = User.objects.create_user("olga", "olga@example.org")
        Organiser.objects.create(competition=competition, user=self._olga)
        self._commits = [
            self._prepare(number, slug, track) for number, (slug, track) in enumerate(PUSHES[name], start=1)
        ]

    @property
    def phases(self) -> list[Phase]:
        """The phases, in their order."""
        pushes = [
            Phase(f"push of {track}", lambda number=number: self._push(number))  # type: ignore[misc]
            for number, (_, track) in enumerate(PUSHES[self._name])
        ]
        return [
            *pushes,
            Phase("freeze", self._wait_for_the_window),
            Phase("round", self._start),
            Phase("publication", self._publish),
        ]

    def _prepare(self, number: int, slug: str, track: str) -> tuple[Repository, str]:
        """Make a team with a repository, which has the objects of a commit already."""
        competition = self.site.competition
        captain = User.objects.create_user(slug, f"{slug}@example.org")
        entry = enter(team=create_team(slug=slug, name=slug.title(), captain=captain), competition=competition)
        repository = repository_of(entry=entry, track=competition.tracks.get(name=track))
        lines = ["commit refs/heads/main\nmark :1\ncommitter A <a@example.org> 1 +0000\ndata 0\n"]
        for name, text in FILES[self._name](track, number).items():
            lines.append(
                f"M {'100755' if name.endswith('.sh') else '100644'} inline {name}\ndata {len(text)}\n{text}\n"
            )
        git = ["git", "-C", str(repository.path)]
        subprocess.run([*git, "fast-import", "--quiet"], input="".join(lines).encode(), check=True)
        commit = subprocess.run([*git, "rev-parse", "refs/heads/main"], check=True, capture_output=True, text=True)
        return repository, commit.stdout.strip()

    def _push(self, number: int) -> None:
        repository, commit = self._commits[number]
        with self.site.calls.uncounted():
            repository = Repository.objects.get(pk=repository.pk)
        self.site.push(repository, commit, "submission-1")

    def _wait_for_the_window(self) -> None:
        """Olga has planned a round, and its window begins."""
        with self.site.calls.uncounted():
            now = clock.now()
            round_ = plan_round(
                competition=self.site.competition, title="Final", kind="final", schedule=self._schedule, guard=False,
                samples=SAMPLES, source=self.site.competition.sample_sets.get(purpose=SampleSet.Purpose.FINAL),
                by=self._olga, starts_at=now + timedelta(hours=1), ends_at=now + timedelta(hours=9),
            )  # fmt: skip
            self._clock.at = round_.window.starts_at

    @property
    def _schedule(self) -> str:
        return "ladder" if self._name == "query" else ""

    def _start(self) -> None:
        self.site.act(
            lambda: lifecycle.start(round_=self._round(), by=self._olga),
            done=lambda: self._round().state != "frozen",
        )

    def _publish(self) -> None:
        self.site.act(
            lambda: publish(round_=self._round(), by=self._olga), done=lambda: self._round().state == "published"
        )

    def _round(self) -> Round:
        return Round.objects.get(competition=self.site.competition)
