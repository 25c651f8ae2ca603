"""The rounds of the toy format, and its registration."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from io import BytesIO
from typing import IO

from django.db import transaction
from django.db.models import QuerySet

from competitions.extension_points import sets_in_use
from competitions.models import Competition, SampleSet
from competitions.sample_store import samples_of
from core import object_store, worker_notifications
from core.data_difference import Difference, Verified
from formats.base import Format, register
from rounds.formats import Counting, LeaderboardsContinue, PlayedAlone, PlayedWhileRunning, WithoutPerturbedImages
from rounds.models import Round, RoundEntry
from rounds.planning.entries import frozen
from rounds.publishing.preview import Preview, moved, places_of
from rounds.running.dashboard_tables import DashboardPart, places
from rounds.running.transitions import locked, move
from rounds.shared_bundle_values import commitment_of, encode
from submissions.extension_points import players_in_use
from submissions.formats import SubmissionFormat
from submissions.models import Player, Submission
from submissions.selectors import ready_submissions
from tests.toy_format import NAME
from tests.toy_format.leaderboard import GuessWork
from tests.toy_format.models import Guess
from tests.toy_format.submissions import ToyCompetition, ToySmokeTest, build, check_commit
from workers.models import Priority
from workers.work_kind_interface import kinds


class ToyRounds(LeaderboardsContinue, PlayedAlone, PlayedWhileRunning, WithoutPerturbedImages):
    bundle_format = 1
    publication_effect = "The leaderboard continues."

    def ever_played(self, source: SampleSet) -> bool:
        return Guess.objects.filter(sample_set__in=[source, *source.draws.all()], fence__gt=0).exists()

    def counting(self, competition: Competition, at: datetime) -> Counting:
        return Counting(ready_submissions())

    def freeze(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        common = {"round": round_, "sample_set": round_.sample_set, "priority": Priority.ROUND}
        Guess.objects.bulk_create(Guess(submission=entry.submission, **common) for entry in entries)

    def commitment_to_field(self, round_: Round, entries: Sequence[RoundEntry], salt: str) -> str:
        return commitment_of([salt, *(entry.submission.commit for entry in entries)])

    def advance(self, round_: Round) -> None:
        with transaction.atomic():
            current = locked(round_)
            if current.state == Round.State.PLAYING and not current.guesses.filter(share=None).exists():
                entries = frozen(current)
                current.outcome = object_store.put_open(self.outcome(current, entries))
                RoundEntry.objects.bulk_update(entries, ["place", "value"])
                move(current, "score", by=None, reason="", outcome=current.outcome)

    def outcome(self, round_: Round, entries: Sequence[RoundEntry]) -> IO[bytes]:
        share = {each.submission_id: each.share or 0.0 for each in round_.guesses.all()}
        for each in entries:
            each.value = share[each.submission_id]
            each.place = 1 + sum(other > each.value for other in share.values())
        labels = [int(sample.label) for sample in samples_of(round_.sample_set)]
        head = {"kind": "round", "samples": round_.commitment, "field": round_.field_commitment, "labels": labels}
        rows = [{"kind": "guess", "commit": each.submission.commit, "place": each.place} for each in entries]
        return BytesIO(encode([head, *rows]))

    def dashboard_part(self, round_: Round, views: Sequence[Preview]) -> DashboardPart:
        return DashboardPart(changes=places(views))

    def playing_workers(self) -> Collection[str]:
        return set(Guess.objects.filter(state=Guess.State.CLAIMED).values_list("worker", flat=True))

    def preview(self, round_: Round) -> list[Preview]:
        return places_of(round_, moved)

    def being_played(self, sets: QuerySet[SampleSet]) -> QuerySet[SampleSet]:
        return sets.filter(guesses__in=Guess.objects.filter(share=None))

    def verify(self, competitions: QuerySet[Competition], *, repair: bool) -> Verified:
        rounds = list(Round.objects.filter(competition__in=competitions).exclude(outcome=""))
        wrong = [Difference(f"{each}", "it does not follow from its guesses") for each in rounds if self._wrong(each)]
        return Verified(ranked=len(rounds), differences=tuple(wrong))

    def _wrong(self, scored: Round) -> bool:
        entries = frozen(scored)
        stored = [(each.place, each.value) for each in entries]
        follows = self.outcome(scored, entries).read() == object_store.get(scored.outcome)
        return not follows or stored != [(each.place, each.value) for each in entries]


def follow(submission: Submission) -> None:
    worker_notifications.notify("toy.sweep")


submissions = SubmissionFormat(check_commit, build, ToySmokeTest.of, ready=follow, eligibility_changed=follow)
_pages, _api = "tests.toy_format.leaderboard.ToyPages", "tests.toy_format.leaderboard.ToyApi"
register(Format(NAME, ToyCompetition(), submissions, ToyRounds(), _pages, _api))
kinds.append(GuessWork())
sets_in_use.add(lambda: SampleSet.objects.filter(guesses__fence__gt=0))
players_in_use.add(lambda: Player.objects.filter(submissions__guesses__share=None))
