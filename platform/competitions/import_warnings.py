"""What organisers should know of a competition that was imported. Part of the selectors."""

from __future__ import annotations

from collections.abc import Iterator

from competitions.bundled_baselines import knows_digits_only
from competitions.models import Competition
from competitions.selectors import imported_sets, overlapping
from competitions.smoke_opponents import DIGITS, development_set, made_opponent, opponent_name
from core.errors import Refusal

FEW = 10
"""On fewer samples the smoke test says little of an attack."""


def remarks(competition: Competition) -> list[str]:
    """What will happen, and what may go wrong, in sentences. Reads the development images."""
    return [*_about_pools(competition), *_about_the_smoke_test(competition), *_about_secrecy(competition)]


def _about_pools(competition: Competition) -> Iterator[str]:
    digits = development_set(competition).source == DIGITS
    for track in competition.tracks.all():
        useless = [] if digits else [name for name in track.baselines if knows_digits_only(name)]
        if not track.baselines:
            yield f"Track {track.name} has no baselines: its first pool is made of the first ready submissions."
        elif useless:
            yield f"Warning: baselines of track {track.name} that know digits only: {', '.join(useless)}. Remove them."


def _about_the_smoke_test(competition: Competition) -> Iterator[str]:
    if name := opponent_name(competition):
        yield f"In the smoke test attacks meet the model {name}."
        if not competition.smoke_opponent_digest and development_set(competition).source != DIGITS:
            yield f"Warning: {name} knows digits only. Remove smoke_opponent, or name a model of your own."
        return
    try:
        right = len(made_opponent(competition).samples)
    except Refusal as refusal:
        yield f"Warning: no attack can pass the smoke test: {refusal.problem}. To do: {refusal.fix}."
        return
    yield f"In the smoke test attacks meet a nearest-mean model of the development images; it gets {right} right."
    if right < FEW:
        yield (
            f"Warning: attacks are tried on {right} images only. Give more development images, or name a model that "
            "knows them as smoke_opponent below [competition]."
        )


def _about_secrecy(competition: Competition) -> Iterator[str]:
    public = development_set(competition)
    secret = [row for row in imported_sets(competition).order_by("pk") if row.secret]
    for row in secret:
        if overlapping(row, [public]):
            yield (
                f"Warning: {row.name} shares images with {public.name}, which is public. Take them from different "
                "splits, or let one of them skip those of the other."
            )
