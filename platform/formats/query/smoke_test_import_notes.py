"""Notes about the smoke test of an imported competition of the query format."""

from __future__ import annotations

from collections.abc import Iterator

from competitions.bundled_baselines import works_only_on
from competitions.models import Competition
from competitions.sample_set_selectors import development_set
from core.errors import Refusal
from formats.query.smoke_test_opponents import made_opponent, opponent_name
from formats.query.tracks import MODEL

MIN_SMOKE_SAMPLES = 10
"""Number of samples below which the smoke test says little about an attack."""


def smoke_test_notes(competition: Competition) -> Iterator[str]:
    """Yield which model attacks are run against, and a warning where it says little about them."""
    if name := opponent_name(competition):
        yield f"The smoke test runs attacks against the model {name}."
        bundled = not competition.smoke_opponent_digest
        if bundled and (made_for := works_only_on(MODEL, name, development_set(competition).source)):
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
