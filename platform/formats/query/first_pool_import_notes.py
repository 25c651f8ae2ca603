"""Warnings about the first pool of an imported competition of the query format."""

from __future__ import annotations

from collections.abc import Iterator

from competitions.baseline_files import own_baseline
from competitions.bundled_baselines import clean_accuracy
from competitions.models import Competition
from competitions.sample_set_selectors import development_set
from competitions.selectors import rules_in_force
from evaluation.formats.query.rules import QueryRules
from formats.query.tracks import MODEL


def first_pool_notes(competition: Competition) -> Iterator[str]:
    """Yield a warning if the models of the first pool, by their measured accuracies, cannot separate attacks.

    A wrong label of a clean image counts as the distance 0, and the score of an attack is a median: with more than
    half of them wrong it is 0, whatever the attack does.
    """
    track = competition.tracks.get(name=MODEL)
    names = track.baselines[: rules_in_force(competition).rules_as(QueryRules).opponents]
    if own := [name for name in names if own_baseline(track, name)]:
        yield (
            f"Note: how often {', '.join(own)} labels clean images right is not known here. With more than half of the "
            "labels of the first pool wrong, every untargeted attack has the score 0: measure it with `gauntlet play`."
        )
        return
    source = development_set(competition).source
    known = {name: share for name in names if (share := clean_accuracy(MODEL, name, source)) is not None}
    if known and len(known) == len(names) and (mean := sum(known.values()) / len(known)) <= 0.5:
        each = ", ".join(f"{name} {share:.1%}" for name, share in known.items())
        yield (
            f"Warning: the first pool cannot separate untargeted attacks: its models label {mean:.1%} of the images "
            f"right on average ({each}). With more than half of the labels wrong, every attack has the score 0. List "
            "only models that are right more often."
        )
