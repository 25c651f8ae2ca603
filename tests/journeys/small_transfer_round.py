"""Sets up a site at which a round of the transfer format has begun: three attacks against three defences.

Run with the settings of that site, Django set up. As in `small_round`, two sites must have the same outcome.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from accounts.models import User
from bench.tables import make_tables_of_models
from competitions.models import Competition
from competitions.services import import_competition
from formats.transfer.tournaments.player_builds import build
from tests.journeys.small_round import start_round, submit
from tests.platform.formats.transfer.tournaments.conftest import ADD, BRIGHTNESS, content, write_repository
from tests.platform.submissions.pipeline.conftest import push_files

PLAYERS = 3
SAMPLES = 4
DATE = "2026-01-01T12:00:00Z"


def begin() -> None:
    """Make the tables, the competition, six teams with a submission each, and the round."""
    make_tables_of_models()  # `test_demo` migrates
    document = content()
    document["rules"]["batch_images"] = 2
    document["tracks"]["attack"]["baselines"] = []
    document["sample_sets"][2]["name"] = "test-1"
    competition = import_competition(document)
    Competition.objects.filter(pk=competition.pk).update(seed_salt="0123456789abcdef")
    os.environ |= {"GIT_AUTHOR_DATE": DATE, "GIT_COMMITTER_DATE": DATE}  # equal content gives an equal commit
    for number in range(PLAYERS):
        enter(competition, f"adds-{number}", "attack", ADD.replace("+ int(epsilon)", f"+ int(epsilon) - {number}"))
        enter(competition, f"sees-{number}", "defence", BRIGHTNESS.replace("// 4", f"// {4 + number}"))
    start_round(competition, User.objects.create_superuser("olga", "", "a long enough password"), samples=SAMPLES)


def enter(competition: Competition, team: str, track: str, script: str) -> None:
    """A team of one with a script as its submission, which is ready."""

    def push(bare: Path) -> str:
        with tempfile.TemporaryDirectory() as folder:
            write_repository(Path(folder), track, script)
            return push_files(Path(folder), bare, "submission-1")

    submit(competition, team, track, push, build)


if __name__ == "__main__":
    begin()
