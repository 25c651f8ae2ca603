"""A match over a whole sample set."""

from __future__ import annotations

from datetime import timedelta

from competitions.models import RulesVersion, SampleSet
from formats.query.matches.match_requests import request_matches
from formats.query.matches.models import Match
from submissions.models import Player


def ensure_match(
    *, rules: RulesVersion, sample_set: SampleSet, model: Player, attack: Player, delay: timedelta = timedelta(0)
) -> Match:
    """Return the match of `attack` against `model`; create it if it was never requested."""
    (match,) = request_matches(
        rules=rules, sample_set=sample_set, pairs=[(model, attack)], upto=sample_set.count, delay=delay
    )
    return match
