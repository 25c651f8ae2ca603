"""The standings of a published round of the transfer format, and their verification."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from competitions.pseudonyms import public_name
from core.data_difference import Difference
from core.errors import Fault
from core.rank_interval_text import rank_range
from formats.transfer.rounds.engine_adapter import body_of, places_of, record_of, version_of
from formats.transfer.rounds.round_advancement import frozen_tournament, result_of
from formats.transfer.tournaments import tournament_verification
from formats.transfer.tournaments.models import Entrant
from rounds import selectors
from rounds.models import Round
from rounds.planning.entries import frozen
from rounds.running.transitions import locked
from rounds.selectors import StandingRow


@dataclass(frozen=True)
class TransferPlace:
    """A row of the standings of a round. `worst` is the score against its worst opponent, `raw` counts points."""

    of: StandingRow
    worst: float | None
    raw: int | None
    coverage: float | None

    @property
    def fits(self) -> str:
        """The rank interval in words, "" if there is none."""
        return rank_range(self.of.rank_low, self.of.rank_high)


def standings(played: Round) -> dict[str, list[TransferPlace]]:
    """Return the standings of a published round by the name of the track, best first, in two queries."""
    columns = ("submission", "worst", "raw", "coverage")
    entrants = Entrant.objects.filter(tournament__round=played, submission__isnull=False)
    found = {submission: values for submission, *values in entrants.values_list(*columns)}
    nothing = (None, None, None)
    return {
        name: [TransferPlace(row, *found.get(row.submission, nothing)) for row in rows]
        for name, rows in selectors.standings(played).items()
    }


def differing(played: Round) -> Iterator[Difference]:
    """Compare the outcome, the places and the scores of a scored round with what its labels give."""
    tournament = frozen_tournament(played)
    yield from tournament_verification.differing(tournament)
    with transaction.atomic():
        played = locked(played)  # a licence review changes the entries and the outcome together
        entries = frozen(played)
    try:
        record = record_of(played, entries, tournament, version_of(played))
        outcome, placed = hashlib.sha256(body_of(played, record)).hexdigest(), places_of(record)
    except Fault as fault:
        yield Difference(str(played), f"its places cannot be computed: {fault}")
        return
    if played.outcome != outcome:
        yield Difference(str(played), f"its outcome is {played.outcome or 'missing'} and should be {outcome}")
    by_name = {(str(each.standing.track), each.standing.name): each for each in placed}
    for entry in entries:
        each = by_name[entry.track.name, public_name(played.competition, entry.player.digest)]
        expected = result_of(each)
        changes = [
            f"{name} is {getattr(entry, name)} and should be {value}"
            for name, value in expected.items()
            if getattr(entry, name) != value
        ]
        if changes:
            yield Difference(f"{entry}", "; ".join(changes))
