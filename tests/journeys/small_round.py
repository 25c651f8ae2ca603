"""A round of two models and three attacks.

Every name, commit and sample order is the same each time, so two sites must have the same outcome.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from accounts.models import User
from accounts.services import create_team
from competitions import services as competitions
from competitions.models import Competition, Track
from core import clock
from demo.git_push import TAG, push_copy
from demo.virtual_teams import Change
from evaluation.formats.query.catalogue import find_baseline
from formats.query.matches.player_builds import build
from repositories.git_reader import GitReader
from repositories.services import repository_of
from rounds.planning import commitment_salts
from rounds.planning.freeze import freeze
from rounds.planning.plan import plan_round
from rounds.running import lifecycle
from submissions.models import Player, Submission

MODELS, ATTACKS = 2, 3
SAMPLES = 3
WEIGHTS = 'WEIGHTS = dict(np.load(Path(__file__).with_name("weights.npz"), allow_pickle=False))'
SHAKEN = """
DRAW = np.random.default_rng({number})
WEIGHTS = {{name: np.float32(w + DRAW.normal(0, {size} * np.abs(w).mean(), w.shape)) for name, w in WEIGHTS.items()}}"""


# in numpy alone: a process is started for every piece, and foolbox takes a second to import
NOISE = """# noise of growing size, drawn {draws} times at each
from gauntlet import serve_attack


def attack(model, image, label, *, target, rng):
    for step in range(1, 1 + 36 // {draws}):
        for _ in range({draws}):
            model(image + rng.normal(0, 3 * step * {draws}, image.shape))


serve_attack(attack)
"""


def begin(by: User) -> None:
    """Make the competition, five teams with a submission each, and the round."""
    competition = competitions.import_competition(
        tomllib.loads(Path(__file__).with_name("small_round.toml").read_text(encoding="utf-8"))
    )
    Competition.objects.filter(pk=competition.pk).update(seed_salt="0123456789abcdef")
    bundled = (find_baseline("gaussian-noise").source / "main.py").read_text(encoding="utf-8")
    for number in range(MODELS):
        shaken = WEIGHTS + SHAKEN.format(number=number, size=number / 10)
        enter(competition, f"models-{number}", "model", "numpy-classifier", Change("main.py", WEIGHTS, shaken))
    for number in range(ATTACKS):
        noise = Change("main.py", bundled, NOISE.format(draws=number + 1))
        enter(competition, f"noise-{number}", "untargeted", "gaussian-noise", noise)
    start_round(competition, by, samples=SAMPLES)


def enter(competition: Competition, team: str, kind: str, like: str, change: Change) -> None:
    """A team of one with a changed copy of a bundled submission, which is ready."""

    def push(bare: Path) -> str:
        push_copy(like, str(bare), author=team, changes=(change,))
        with GitReader(bare) as reader:
            return reader.resolve(f"refs/tags/{TAG}") or ""

    submit(competition, team, kind, push, build)


def submit(
    competition: Competition,
    team: str,
    kind: str,
    push: Callable[[Path], str],
    build: Callable[[Submission, Callable[[str], None]], Player],
) -> None:
    """A team of one with a submission that is ready. `push` fills a bare repository, and returns the commit."""
    captain = User.objects.create_user(team)
    entry = competitions.enter(team=create_team(slug=team, name=team, captain=captain), competition=competition)
    repository = repository_of(entry=entry, track=Track.objects.get(competition=competition, name=kind))
    now = clock.now()
    submission = Submission.objects.create(
        repository=repository,
        commit=push(repository.path),
        tag=TAG,
        submitted_by=captain,
        received_at=now,
        title=team,
        licence="MIT",
        state=Submission.State.READY,
        state_since=now,
    )
    submission.player = build(submission, lambda line: None)
    submission.save()


def start_round(competition: Competition, by: User, *, samples: int) -> None:
    """Plan, freeze and start it, on samples in the order of one salt."""
    vars(commitment_salts)["new_salt"] = lambda: "0123456789abcdef"
    now = clock.now()
    planned = plan_round(
        competition=competition,
        title="A small round",
        kind="development",
        schedule="ladder",
        guard=False,
        source=competition.sample_sets.get(name="test-1"),
        samples=samples,
        starts_at=now,
        ends_at=now + timedelta(days=3),
        by=by,
    )
    freeze(round_=planned, by=by, reason="It is time.")
    lifecycle.start(round_=planned, by=by, reason="It is time.")
