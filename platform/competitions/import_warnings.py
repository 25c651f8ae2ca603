"""Notes and warnings about an imported competition, for organisers."""

from __future__ import annotations

from collections.abc import Iterator

from competitions.bundled_baselines import works_only_on
from competitions.models import Competition, Track
from competitions.selectors import imported_sets, overlapping
from competitions.smoke_opponents import development_set, made_opponent, opponent_name
from core.errors import Refusal

MIN_SMOKE_SAMPLES = 10
"""Number of samples below which the smoke test says little about an attack."""


def import_notes(competition: Competition) -> list[str]:
    """Return notes and warnings, in sentences. Reads the development images."""
    return [*_about_baselines(competition), *_about_the_smoke_test(competition), *_about_secrecy(competition)]


def _about_baselines(competition: Competition) -> Iterator[str]:
    source = development_set(competition).source
    pools = competition.format == Competition.Format.QUERY
    without = (
        "Its first pool is built from the first ready submissions."
        if pools
        else "Its leaderboard is empty until a submission is ready."
    )
    for track in competition.tracks.all():
        unusable = {name: found for name in track.baselines if (found := works_only_on(track.name, name, source))}
        if not track.baselines:
            yield f"Track {track.name} has no baselines. {without}"
        elif unusable:
            made_for = " and ".join(sorted(set(unusable.values())))
            yield (
                f"Warning: some baselines of track {track.name} work only on {made_for}: {', '.join(unusable)}. "
                "Remove them."
            )


def _about_the_smoke_test(competition: Competition) -> Iterator[str]:
    if competition.format != Competition.Format.QUERY:  # nobody is asked, so there is no opponent
        return
    if name := opponent_name(competition):
        yield f"The smoke test runs attacks against the model {name}."
        bundled = not competition.smoke_opponent_digest
        if bundled and (made_for := works_only_on(Track.Name.MODEL, name, development_set(competition).source)):
            yield f"Warning: {name} works only on {made_for}. Remove smoke_opponent, or set it to your own model."
        return
    try:
        right = len(made_opponent(competition).samples)
    except Refusal as refusal:
        yield f"Warning: no attack can pass the smoke test: {refusal.problem} (fix: {refusal.fix})."
        return
    yield f"The smoke test runs attacks against a nearest-mean model of the development images ({right} correct)."
    if right < MIN_SMOKE_SAMPLES:
        yield (
            f"Warning: the smoke test uses only {right} images. Add development images, or set smoke_opponent in "
            "[competition] to a model that classifies them."
        )


def _about_secrecy(competition: Competition) -> Iterator[str]:
    public = development_set(competition)
    secret = [row for row in imported_sets(competition).order_by("pk") if row.secret]
    for row in secret:
        if overlapping(row, [public]):
            yield (
                f"Warning: {row.name} shares images with {public.name}, which is public. Use different splits, or set "
                "skip so that the sets do not overlap."
            )
