"""A round of the transfer format: two attacks against two defences.

As in `small_round`, two sites must have the same outcome.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from accounts.models import User
from competitions.models import Competition
from competitions.services import import_competition
from formats.transfer.tournaments.player_builds import build
from tests.journeys.small_round import start_round, submit
from tests.platform.formats.transfer.tournaments.conftest import ADD, content, write_repository
from tests.platform.submissions.pipeline.conftest import push_files

PLAYERS = 2
SAMPLES = 4
DATE = "2026-01-01T12:00:00Z"

BRIGHTNESS = """
exec python3 - "$@" <<'END'
import sys
from pathlib import Path
from PIL import Image
source, result = sys.argv[1:]
levels = {file.name: Image.open(file).tobytes() for file in sorted(Path(source).glob("*.png"))}
rows = [f"{name},{sum(each) // len(each) // 4 % 10 + 1}" for name, each in levels.items()]
Path(result).write_text("\\n".join(rows))
END"""
"""A defence whose labels follow from the brightness."""


def begin(by: User) -> None:
    """Make the competition, four teams with a submission each, and the round."""
    document = content()
    document["rules"]["batch_images"] = 2
    document["tracks"]["attack"]["baselines"] = []
    document["sample_sets"][2] |= {"name": "test-1", "split": "test-2"}  # other images than those of the other round
    competition = import_competition(document)
    Competition.objects.filter(pk=competition.pk).update(seed_salt="0123456789abcdef")
    os.environ |= {"GIT_AUTHOR_DATE": DATE, "GIT_COMMITTER_DATE": DATE}  # equal content gives an equal commit
    for number in range(PLAYERS):
        enter(competition, f"adds-{number}", "attack", ADD.replace("+ int(epsilon)", f"+ int(epsilon) - {number}"))
        enter(competition, f"sees-{number}", "defence", BRIGHTNESS.replace("// 4", f"// {4 + number}"))
    start_round(competition, by, samples=SAMPLES)


def enter(competition: Competition, team: str, track: str, script: str) -> None:
    """A team of one with a script as its submission, which is ready."""

    def push(bare: Path) -> str:
        with tempfile.TemporaryDirectory() as folder:
            write_repository(Path(folder), track, script)
            return push_files(Path(folder), bare, "submission-1")

    submit(competition, team, track, push, build)
