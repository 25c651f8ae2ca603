"""A competition on images written by the test, and a site that runs its own tasks."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from celery import current_app
from django.core.management import call_command
from PIL import Image as Picture

from accounts.models import User
from competitions.models import Competition, Entry
from competitions.services import make_team
from core import worker_notifications
from repositories.services import repository_of
from submissions.models import Submission
from submissions.services import submit

COLOURS = ("blue", "green", "red")
CHANNEL = {"blue": 2, "green": 1, "red": 0}

MODEL = """
from gauntlet import serve_model

def predict(images):
    # blue, green, red: the last channel is the first class
    return 2 - (images.reshape(len(images), -1, 3).mean(1) + {tint}).argmax(1)

serve_model(predict)
"""
UNTARGETED = """
from gauntlet import serve_attack

def attack(model, image, label, *, target, rng):
    for step in range(1, 13):
        model(image + (255.0 - 2.0 * image) * step / 12)

serve_attack(attack)
"""
TARGETED = """
import numpy as np
from gauntlet import serve_attack

def attack(model, image, label, *, target, rng):
    far = np.zeros(image.shape)
    far[..., 2 - target] = 255
    for step in range(1, 13):
        model(image + (far - image) * step / 12)

serve_attack(attack)
"""


def write_images(root: Path, *, side: int, counts: dict[str, int], colours: tuple[str, ...] = COLOURS) -> None:
    """Write noise images with a stronger channel for the class, in one folder per split and class."""
    rng = np.random.default_rng(5)
    for split, count in counts.items():
        for colour in colours:
            folder = root / split / colour
            folder.mkdir(parents=True)
            for number in range(count):
                pixels = rng.integers(60, 140, (side, side, 3))
                pixels[..., CHANNEL[colour]] += 50
                Picture.fromarray(pixels.astype(np.uint8)).save(folder / f"{number}.png")


@dataclass
class Site:
    """A site without a broker: imports, submits and runs the notified tasks."""

    folder: Path
    notified: list[tuple[str, dict[str, int]]] = field(default_factory=list)
    output: str = ""

    def import_competition(
        self, *, side: int, samples: dict[str, int], baselines: dict[str, list[str]] | None = None, **about: str
    ) -> Competition:
        """Import a competition with `samples` per purpose; the command's output is in `output`."""
        start, end = "2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z"
        head = tomli_w.dumps({"slug": "colours", "title": "Colours", "public": True, **about})
        text = f"[competition]\nstarts_at = {start}\nends_at = {end}\n{head}" + tomli_w.dumps(
            {
                "rules": {"name": "colours", "shape": [side, side, 3], "classes": 3, "query_budget": 30,
                          "piece_samples": 3, "opponents": 2},
                "tracks": {kind: {"title": kind, "baselines": (baselines or {}).get(kind, [])}
                           for kind in ("model", "untargeted", "targeted")},
                "sample_sets": [
                    {"name": purpose, "purpose": purpose, "source": f"folder:{self.folder / 'images'}",
                     "split": purpose, "count": count, "target_seed": 3}
                    for purpose, count in samples.items()
                ],
            }
        )  # fmt: skip
        file, out = self.folder / "colours.toml", io.StringIO()
        file.write_text(text)
        call_command("competition", "import", str(file), stdout=out)
        self.output = out.getvalue()
        return Competition.objects.get()

    def submit(self, team: str, kind: str, program: str) -> Submission:
        """Push and submit a program as a team of one, then run all tasks that follow."""
        competition = Competition.objects.get()
        user, made = User.objects.get_or_create(username=team)
        if made:
            make_team(slug=team, name=team.title(), captain=user, competition=competition)
        entry = Entry.objects.get(team__slug=team)
        repository = repository_of(entry=entry, track=competition.tracks.get(name=kind))
        manifest = f'[submission]\ntrack = "{kind}"\nrun = "python main.py"\ntitle = "{team}"\nlicence = "MIT"\n'
        files = {"submission.toml": manifest, "main.py": program}
        commit = _pushed(self.folder / f"{team}-{kind}", repository.path, files)
        submission = submit(repository=repository, commit=commit, by=user)
        self.work()
        submission.refresh_from_db()
        return submission

    def work(self) -> None:
        """Run the notified tasks until none is left, then a sweep."""
        self.notified.append(("leaderboards.sweep", {}))
        while self.notified:
            task, keys = self.notified.pop(0)
            current_app.tasks[task](**keys)


def _pushed(work: Path, bare: Path, files: dict[str, str]) -> str:
    identity = {
        f"GIT_{who}_{what}": "team@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=work, check=True, capture_output=True, text=True, env=os.environ | identity
        )
        return done.stdout.strip()

    work.mkdir(exist_ok=True)
    for name, text in files.items():
        (work / name).write_text(text)
    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "A try")
    if not bare.exists():
        git("init", "--quiet", "--bare", str(bare))
    git("push", "--quiet", str(bare), "main")
    return git("rev-parse", "HEAD")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site without a broker."""
    current_app.loader.import_default_modules()
    made = Site(tmp_path)
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: made.notified.append((task, keys)))
    return made


@pytest.fixture
def read_page(client: object) -> Callable[[str], str]:
    """The text of a page for a visitor without an account."""
    return lambda path: client.get(path).content.decode()  # type: ignore[attr-defined]
