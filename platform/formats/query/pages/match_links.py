"""Links from scores to the matches that they are made of. Each takes one query, however many rows there are."""

from __future__ import annotations

from collections.abc import Mapping

from formats.query.leaderboards.models import Evaluation
from formats.query.matches.models import Match
from rounds.models import Round


def by_opponent(evaluation: Evaluation) -> Mapping[int, int]:
    """Return the match of an evaluation against each opponent, both by key."""
    own = evaluation.submission.player_id
    pairs = evaluation.matches.values_list("pk", "model", "attack")
    return {attack if model == own else model: match for match, model, attack in pairs}


def pairs_of(round_: Round) -> Mapping[tuple[int, int], int]:
    """Return the matches that the outcome of a round uses, by the two players, in both orders."""
    pairs = Match.objects.filter(round_match__round=round_, round_match__samples__gt=0)
    found = list(pairs.values_list("model", "attack", "pk"))
    return {key: match for model, attack, match in found for key in ((model, attack), (attack, model))}
