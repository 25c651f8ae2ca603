"""Maximum size of a round: its result bundle must be small enough to be written, read and verified."""

from __future__ import annotations

from evaluation.bundle.size_check import check_bytes, check_lines
from evaluation.domain.errors import Refusal
from evaluation.domain.players import TrackName
from evaluation.formats.query.bundle.reader import MOST_PLAYERS, MOST_ROWS, MOST_TRIPLES
from evaluation.formats.query.tournament.round_state import RoundFacts, ceiling, most_pairs, piece_ends

_HEAD_BYTES = 100_000
_SAMPLE_BYTES = 160
_PLAYER_BYTES = 8_000
"""Its entrant, its decisions in all stages and its place, with the titles and teams of identical submissions."""
_PAIR_BYTES = 400
_AUDIT_BYTES = 220
_PIECE_BYTES, _ROW_BYTES = 36, 13
"""In columns: the end and the digest of a piece; outcome, distance and queries of a sample."""

_MOST_QUERIES = 2**32 - 1
"""The largest number of queries in a column."""

_LINES_OF_PLAYER = 25
"""An entrant, a place, five warnings, and a decision in each stage that it may reach, of both brackets."""

_OTHER_LINES = 200
"""The head, the signature and the stages."""

_FIX = "choose the panel ladder, fewer samples, or fewer entries"


def check_size(facts: RoundFacts, *, query_budget: int, piece_samples: int) -> None:
    """Raise `Refusal` if the bundle of a round that begins with `facts` could exceed the limits of the reader.

    This is the worst case: every pair that the schedule may request is played, and its audit fails.
    """
    models, untargeted, targeted = (sum(each.track is track for each in facts.entrants) for track in TrackName)
    attacks, samples = max(untargeted, targeted), facts.samples
    if max(models, attacks) > MOST_PLAYERS:
        raise Refusal(
            f"the round would have {max(models, attacks):,} players of one track, and at most {MOST_PLAYERS:,} can be "
            "verified",
            fix="split the competition, or withdraw entries",
        )
    if models * attacks * samples > MOST_TRIPLES:
        raise Refusal(
            f"{models:,} models, {attacks:,} attacks and {samples:,} samples are more than the {MOST_TRIPLES:,} "
            "results that can be verified",
            fix="draw fewer samples",
        )
    if query_budget > _MOST_QUERIES:
        raise Refusal(f"a query budget of {query_budget:,} is above {_MOST_QUERIES:,}", fix="allow fewer queries")
    if not models or not untargeted:
        return
    triples = ceiling(facts)
    if triples > MOST_ROWS:
        raise Refusal(f"the round could have {triples:,} results, and at most {MOST_ROWS:,} can be verified", fix=_FIX)
    pairs = most_pairs(facts)
    players = len(facts.entrants)
    lines = _OTHER_LINES + samples + 2 * pairs + _LINES_OF_PLAYER * players
    check_lines(lines, f"could have {lines:,} lines for its {pairs:,} pairs", fix=_FIX)
    pieces = triples // piece_samples + pairs * len(piece_ends(facts.schedule, samples, facts.guard))
    text = _HEAD_BYTES + _SAMPLE_BYTES * samples + _PLAYER_BYTES * players + (_PAIR_BYTES + _AUDIT_BYTES) * pairs
    check_bytes(text, _PIECE_BYTES * pieces + _ROW_BYTES * triples, fix=_FIX)
