"""The standings of a published round of the transfer format, and their verification."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from competitions.pseudonyms import public_name
from core.data_difference import Difference
from core.errors import Fault
from core.rank_interval_text import rank_range
from formats.transfer.rounds.round_advancement import frozen_tournament, result_of
from formats.transfer.rounds.round_as_engine_values import body_of, places_of, record_of, version_of
from formats.transfer.tournaments import tournament_verification
from formats.transfer.tournaments.models import Entrant
from rounds import selectors
from rounds.models import Round
from rounds.planning.entries import frozen
from rounds.running.transitions import locked
from rounds.selectors import StandingRow

_MEASURED = ("worst", "raw", "coverage", "median_seconds")


@dataclass(frozen=True)
class TransferPlace:
    """A row of the standings of a round. `worst` is the score against its worst opponent, `raw` counts points.

    `median_seconds`: of a batch, on the reference machine.
    """

    of: StandingRow
    worst: float | None
    raw: int | None
    coverage: float | None
    median_seconds: float | None

    @property
    def fits(self) -> str:
        """The rank interval in words, "" if there is none."""
        return rank_range(self.of.rank_low, self.of.rank_high)


def standings(played: Round) -> dict[str, list[TransferPlace]]:
    """Return the standings of a published round by the name of the track, best first, in two queries."""
    columns = ("submission", *_MEASURED)
    entrants = Entrant.objects.filter(tournament__round=played, submission__isnull=False)
    found = {submission: values for submission, *values in entrants.values_list(*columns)}
    nothing = (None,) * len(_MEASURED)
    return {
        name: [TransferPlace(row, *found.get(row.submission, nothing)) for row in rows]
        for name, rows in selectors.standings(played).items()
    }


@dataclass(frozen=True)
class BaselinePlace:
    """A baseline in a round: `place` is the one that it would have if it were a team's."""

    name: str
    place: int
    score: float
    worst: float | None
    raw: int | None
    coverage: float | None
    median_seconds: float | None


def baselines(played: Round, found: Mapping[str, Sequence[TransferPlace]]) -> dict[str, list[BaselinePlace]]:
    """Return the baselines with a score of a published round by the name of the track, best first, in one query.

    `found`: its standings.
    """
    entrants = Entrant.objects.filter(tournament__round=played, submission=None, score__isnull=False)
    rows = entrants.order_by("-score", "pk").values_list("track__name", "player__baseline", "score", *_MEASURED)
    places: dict[str, list[BaselinePlace]] = {name: [] for name in found}
    for track, name, score, *measured in rows:
        # teams that submitted the same content share a place
        better = {each.of.player for each in found[track] if each.of.value is not None and each.of.value > score}
        places[track].append(BaselinePlace(name, len(better) + 1, score, *measured))
    return places


def differing(played: Round) -> Iterator[Difference]:
    """Compare the outcome, the places and the scores of a scored round with what its labels give."""
    tournament = frozen_tournament(played)
    yield from tournament_verification.differing(tournament)
    with transaction.atomic():
        played = locked(played)  # a licence review changes the entries and the outcome together
        entries = frozen(played)
    try:
        record = record_of(played, entries, tournament, version_of(played))
        with body_of(played, record) as file:
            outcome, placed = hashlib.file_digest(file, "sha256").hexdigest(), places_of(record)  # type: ignore[arg-type]
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
