"""Estimate of the maximal cost of a round in triples, hours and disk, at recently measured speed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core import clock
from formats.query.matches.measured_time_and_disk import measured_speed, stored_bytes_per_sample
from formats.query.matches.models import Piece
from formats.query.rounds.round_as_engine_values import ceiling, field_of
from formats.query.tracks import MODEL, UNTARGETED
from rounds.models import Round
from rounds.planning.entries import eligible_entries, frozen
from workers.selectors import live_workers


@dataclass(frozen=True)
class CostEstimate:
    """Maximal cost of a round, from its start.

    `triples_most` is never exceeded, and is 0 if a side is missing. `hours` is for the workers that are live now; None
    if nothing was measured yet or no worker is live. `disk_bytes` covers images and traces; None if nothing was
    measured.
    """

    triples_most: int
    hours: float | None
    disk_bytes: int | None
    workers: int


def estimate(round_: Round) -> CostEstimate:
    """Return the maximal cost of the round; before its freeze, as if it were frozen now."""
    entries = eligible_entries(round_, clock.now()) if round_.state == Round.State.PLANNED else frozen(round_)
    tracks = {entry.track.name for entry in entries}
    playable = {MODEL, UNTARGETED} <= tracks
    triples = ceiling(field_of(round_, entries)) if playable else 0
    workers = live_workers().count()
    everything = Piece.objects.all()
    speed, size = measured_speed(everything), stored_bytes_per_sample(everything)
    return CostEstimate(
        triples_most=triples,
        hours=triples * speed.seconds_per_sample / workers / 3600 if workers and speed is not None else None,
        disk_bytes=math.ceil(triples * size) if size is not None else None,
        workers=workers,
    )
