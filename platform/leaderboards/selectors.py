"""Queries of pools, evaluations and leaderboards.

What counts and what is still to be measured is in `leaderboards.evaluation_basis`, who sees what in
`leaderboards.visibility`, and what a rejudging changes in `leaderboards.rejudging_changes`.
"""

from __future__ import annotations

from leaderboards.board_rows import BoardRow
from leaderboards.board_views import PAGE_ROWS, BoardFreeze, BoardPage, BoardView, view_of
from leaderboards.evaluation_basis import (
    AT_ONCE,
    BASIS,
    COUNTED,
    NEWEST,
    OWN_OPPONENTS,
    EvaluationBasis,
    basis_in_force,
    counted_at,
    counting,
    finished_evaluations,
    key_in_force,
    keys_in_force,
    opposing_pool,
    opposing_pool_keys,
    places_at,
    pool_in_force,
    ranking_basis,
    scored_rows,
    unevaluated,
    unrefined,
    unresolved,
)
from leaderboards.history import TrackHistory, history_of, scores_of, shown
from leaderboards.initial_pool import first_players
from leaderboards.rejudging_changes import Compared, comparison, scored_again
from leaderboards.selection_effect import BoardLuck, TrackLuck, luck_of, luck_on
from leaderboards.visibility import (
    board,
    evaluation_of,
    evaluations_of,
    frozen_since,
    known_until,
    public_evaluation_of,
    row_of,
    rows_now,
    rows_of,
    seen_live,
    sees_live,
    tops,
    whole_board,
)

__all__ = [
    "AT_ONCE",
    "BASIS",
    "COUNTED",
    "NEWEST",
    "OWN_OPPONENTS",
    "PAGE_ROWS",
    "BoardFreeze",
    "BoardLuck",
    "BoardPage",
    "BoardRow",
    "BoardView",
    "Compared",
    "EvaluationBasis",
    "TrackHistory",
    "TrackLuck",
    "basis_in_force",
    "board",
    "comparison",
    "counted_at",
    "counting",
    "evaluation_of",
    "evaluations_of",
    "finished_evaluations",
    "first_players",
    "frozen_since",
    "history_of",
    "key_in_force",
    "keys_in_force",
    "known_until",
    "luck_of",
    "luck_on",
    "opposing_pool",
    "opposing_pool_keys",
    "places_at",
    "pool_in_force",
    "public_evaluation_of",
    "ranking_basis",
    "row_of",
    "rows_now",
    "rows_of",
    "scored_again",
    "scored_rows",
    "scores_of",
    "seen_live",
    "sees_live",
    "shown",
    "tops",
    "unevaluated",
    "unrefined",
    "unresolved",
    "view_of",
    "whole_board",
]
