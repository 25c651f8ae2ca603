"""The work, the leaderboard and the pages of the toy format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from celery import shared_task
from django.db.models import Q, QuerySet

from api.column_leaderboard_api import PlainApi
from competitions.models import Competition, SampleSet, Track
from competitions.sample_set_selectors import sample_set_for
from competitions.sample_store import samples_of
from core import worker_notifications
from pages.column_leaderboard_pages import PlainPages
from pages.competition.citation import Origin
from rounds.models import Round
from submissions.column_leaderboard import Column, PlainBoard, ScoredSubmission
from submissions.selectors import ready_submissions
from tests.toy_format import NAME
from tests.toy_format.models import Guess
from tests.toy_format.submissions import guess_of
from workers.sandboxes import Sandbox
from workers.single_item_work import RowWork


class GuessWork(RowWork[Guess]):
    name = "guesses"
    tables = (Guess,)

    def playable(self) -> QuerySet[Guess]:
        running = Guess.objects.filter(Q(round=None) | Q(round__state=Round.State.PLAYING))
        return running.select_related("sample_set", "submission__repository")

    def longest(self, claim: Guess) -> timedelta:
        return timedelta(minutes=1)

    def play(self, item: Guess, sandbox: Sandbox) -> Mapping[str, float]:
        guess, samples = guess_of(item.submission), samples_of(item.sample_set)
        return {"share": 100.0 * sum(int(sample.label) == guess for sample in samples) / len(samples)}


class ToyBoard(PlainBoard):
    columns = (Column("share", "Share", "%"),)

    def scored(self, track: Track) -> Sequence[ScoredSubmission]:
        samples = sample_set_for(track.competition, SampleSet.Purpose.VALIDATION)
        played = Guess.objects.filter(sample_set=samples, submission__repository__track=track, share__isnull=False)
        counting = played.filter(submission__in=ready_submissions()).order_by("submission_id")
        found = counting.select_related("submission__repository__entry__team")
        newest = {each.submission.repository_id: each for each in found}
        return [ScoredSubmission(each.submission, each.queued_at, [each.share or 0.0]) for each in newest.values()]


class ToyPages(PlainPages):
    board_of, items, title, about, tracks = ToyBoard(), Guess, "Toy", "formats/toy/about.html", ("solver",)
    colours = {"solver": "#00696b"}

    def origin(self) -> Origin:
        return Origin("They follow a test.", "@misc{test}")


class ToyApi(PlainApi):
    board = ToyBoard()


@shared_task(name="toy.sweep")  # type: ignore[untyped-decorator]
def sweep() -> None:
    for competition in Competition.objects.filter(format=NAME):
        samples = sample_set_for(competition, SampleSet.Purpose.VALIDATION)
        ready = ready_submissions().filter(repository__track__competition=competition)
        for each in ready.exclude(guesses__sample_set=samples):
            Guess.objects.get_or_create(submission=each, sample_set=samples, defaults={"entry": each.repository.entry})
            worker_notifications.notify("workers.play")
