"""Ranks from scores.

Equal scores share the better rank, and the ranks that they use up are left out (1, 2, 2, 4), so a tie is neither an
advantage nor a disadvantage. Within a tie players are listed by name. Intervals do not affect ranks.
"""

from __future__ import annotations

from collections.abc import Mapping

from evaluation.domain.players import Side


def ranking(values: Mapping[str, float], side: Side) -> tuple[tuple[int, str], ...]:
    """Return (rank, name) of every player, best first: the largest score for models, the smallest for attacks."""
    sign = -1 if side is Side.MODEL else 1
    ordered = sorted(values, key=lambda name: (sign * values[name], name))
    ranked: list[tuple[int, str]] = []
    for place, name in enumerate(ordered, start=1):
        tied = place > 1 and values[name] == values[ordered[place - 2]]
        ranked.append((ranked[-1][0] if tied else place, name))
    return tuple(ranked)
