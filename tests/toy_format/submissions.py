"""The rules, the track and the submissions of the toy format."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from competitions.formats import RepeatedWork, TrackSide, TrackSpec, WithoutBaselines, WithoutOpponent
from competitions.models import Competition, RulesVersion
from competitions.rules import LEAST_ACCURACY
from competitions.rules_reader import RulesReader
from core.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.domain.players import Program
from evaluation.domain.smoke_test_result import SmokeCheck, SmokeTestResult
from repositories.git_reader import GitReader, TreeFile
from rounds.season_costs import CostsOfBuilds
from submissions.checked_commit import CheckedCommit
from submissions.models import Player, Submission
from submissions.player_builds import LogLine, checkout_of, first_checkout, row_of_commit
from submissions.smoke_test import SmokeTest
from tests.toy_format import NAME

FILE = "guess.txt"


@dataclass(frozen=True)
class ToyRules:
    name: str = "guess"
    version: int = 1
    format: str = NAME
    shape: ImageShape = ImageShape(64, 64, 3)
    classes: int = 10
    as_dict = asdict


class ToyCompetition(WithoutOpponent, WithoutBaselines, CostsOfBuilds):
    title = "toy: submissions name a class"
    tracks = (TrackSpec("solver", "solver", TrackSide.DEFENCE),)
    rules: RulesReader[ToyRules] = RulesReader(ToyRules, site_values={LEAST_ACCURACY: 0.0})
    without_baselines = "Its leaderboard is empty until a submission is ready."

    def repeated_work(self, competition: Competition) -> RepeatedWork:
        return RepeatedWork(0, None)  # a guess is of no version of the rules


def check_commit(track_name: str, commit: str, files: Sequence[TreeFile], reader: GitReader) -> CheckedCommit:
    content = next((reader.content(f.object, 9).decode(errors="replace").strip() for f in files if f.path == FILE), "")
    if not content.isdecimal():
        raise Refusal(f"{FILE} holds no number", fix=f"write a class into it: echo 3 > {FILE}")
    return CheckedCommit(title=f"Always {content}", licence="MIT", plan=f"{FILE} is read")


def build(submission: Submission, on_log: LogLine) -> Player:
    folder = first_checkout(submission)
    digest = f"sha256:{hashlib.sha256((folder / FILE).read_bytes()).hexdigest()}"
    return row_of_commit(submission, Program(submission.title, ("cat", FILE), digest, folder), digest)


def guess_of(submission: Submission) -> int:
    return int((checkout_of(submission.repository, submission.commit) / FILE).read_text())


class ToySmokeTest(SmokeTest[ToyRules]):
    @staticmethod
    def rules_of(version: RulesVersion) -> ToyRules:
        return ToyCompetition.rules.read(version.values, version.version)

    def player_seconds(self) -> float:
        return 1.0

    def check(self, player: Player, on_log: LogLine, on_piece: Callable[[], None]) -> SmokeTestResult:
        guess, classes = int(player.title.removeprefix("Always ")), self.rules.classes
        seen = f"{guess} of {classes} classes"
        return SmokeTestResult((SmokeCheck("class", guess < classes, seen, fix="name a smaller number"),), "")
