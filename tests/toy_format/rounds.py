"""The rounds of the toy format."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from competitions.models import Competition, RulesVersion, SampleSet
from competitions.sample_store import samples_of
from core import object_store
from core.difference import Difference, Verified
from core.errors import Refusal
from rounds.engine_adapter import commitment_of, encode
from rounds.formats import Counting, LeaderboardsContinue, PlayedWhileRunning, WithoutPerturbedImages
from rounds.models import Round, RoundEntry
from rounds.planning.entries import frozen
from rounds.publishing.preview import Moved, Preview, gone_of, ranked_entries
from rounds.running.dashboard_tables import DashboardPart, places
from rounds.running.transitions import locked, move
from tests.toy_format.board import ready
from tests.toy_format.models import Guess
from workers.models import Priority


class ToyRounds(LeaderboardsContinue, PlayedWhileRunning, WithoutPerturbedImages):
    bundle_format = 1
    publication_effect = "The leaderboard continues."

    def ever_played(self, source: SampleSet) -> bool:
        return Guess.objects.filter(sample_set__in=[source, *source.draws.all()], fence__gt=0).exists()

    def counting(self, competition: Competition, at: datetime) -> Counting:
        return Counting(ready())

    def check_field(self, round_: Round, entries: Sequence[RoundEntry], rules: RulesVersion) -> None:
        pass

    def check_sides(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        if not entries:
            raise Refusal("no submission is ready", fix="wait for one")

    def freeze(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        common = {"round": round_, "sample_set": round_.sample_set, "priority": Priority.ROUND}
        Guess.objects.bulk_create(Guess(submission=entry.submission, **common) for entry in entries)

    def commitment_to_field(self, round_: Round, entries: Sequence[RoundEntry], salt: str) -> str:
        return commitment_of([salt, *(entry.submission.commit for entry in entries)])

    def advance(self, round_: Round) -> None:
        with transaction.atomic():
            current = locked(round_)
            if current.state != Round.State.PLAYING or current.guesses.filter(share=None).exists():
                return
            entries = frozen(current)
            for entry, place, share in _ranked(current, entries):
                entry.place, entry.value = place, share
            RoundEntry.objects.bulk_update(entries, ["place", "value"])
            current.outcome = object_store.put(self.outcome(current, entries))
            move(current, "score", by=None, reason="", outcome=current.outcome)

    def outcome(self, round_: Round, entries: Sequence[RoundEntry]) -> bytes:
        labels = [int(sample.label) for sample in samples_of(round_.sample_set)]
        head = {"kind": "round", "samples": round_.commitment, "field": round_.field_commitment, "labels": labels}
        rows = [
            {"kind": "guess", "commit": entry.submission.commit, "place": place, "share": share}
            for entry, place, share in _ranked(round_, entries)
        ]
        return encode([head, *rows])

    def dashboard_part(self, round_: Round, views: Sequence[Preview]) -> DashboardPart:
        return DashboardPart(changes=places(views))

    def playing_workers(self) -> Collection[str]:
        return set(Guess.objects.filter(state=Guess.State.CLAIMED).values_list("worker", flat=True))

    def preview(self, round_: Round) -> list[Preview]:
        rows = [
            Moved(
                each.submission.repository.entry.team.name, each.submission.title, None, each.place, "", gone_of(each)
            )
            for each in ranked_entries(round_)
        ]
        return [Preview(track, rows) for track in round_.competition.tracks.all()]

    def being_played(self, sets: QuerySet[SampleSet]) -> QuerySet[SampleSet]:
        return sets.filter(guesses__state__in=[Guess.State.WAITING, Guess.State.CLAIMED])

    def verify(self, competitions: QuerySet[Competition], *, repair: bool) -> Verified:
        scored = list(Round.objects.filter(competition__in=competitions).exclude(outcome=""))
        wrong = [
            Difference(f"{each}", "it does not follow from its guesses") for each in scored if self._is_wrong(each)
        ]
        return Verified(ranked=len(scored), differences=tuple(wrong))

    def _is_wrong(self, scored: Round) -> bool:
        entries = frozen(scored)
        moved = any((entry.place, entry.value) != (place, share) for entry, place, share in _ranked(scored, entries))
        return moved or object_store.get(scored.outcome) != self.outcome(scored, entries)


def _ranked(round_: Round, entries: Sequence[RoundEntry]) -> list[tuple[RoundEntry, int, float]]:
    """Return entries, the best first, with place and share; equal shares share a place."""
    share = dict(round_.guesses.values_list("submission", "share"))
    rows = [(each, 1 + sum(one > share[each.submission_id] for one in share.values())) for each in entries]
    return sorted(((each, place, share[each.submission_id]) for each, place in rows), key=lambda row: row[1])
