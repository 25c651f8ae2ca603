"""The parts of the toy format."""

from __future__ import annotations

from api.plain_api import PlainApi
from competitions.extension_points import sets_in_use
from competitions.models import SampleSet
from core import notify
from formats.base import Format, register
from submissions.extension_points import players_in_use
from submissions.formats import SubmissionFormat
from submissions.models import Player, Submission
from tests.toy_format import NAME
from tests.toy_format.board import GuessWork, ToyBoard, ToyPages
from tests.toy_format.rounds import ToyRounds
from tests.toy_format.submissions import ToyCompetition, ToySmokeTest, build, check_commit
from workers.work import kinds


def follow(submission: Submission) -> None:
    notify.notify("toy.sweep")


submissions = SubmissionFormat(check_commit, build, ToySmokeTest.of, ready=follow, eligibility_changed=follow)
register(Format(NAME, ToyCompetition(), submissions, ToyRounds(), ToyPages(), PlainApi(ToyBoard())))
kinds.append(GuessWork())
sets_in_use.add(lambda: SampleSet.objects.filter(guesses__fence__gt=0))
players_in_use.add(lambda: Player.objects.filter(submissions__guesses__share=None))
