"""Queries of pools, evaluations and leaderboards.

What counts and what is still to be measured is in `leaderboards.evaluation_basis`, who sees what in
`leaderboards.visibility`, and what a rejudging changes in `leaderboards.rejudging_changes`.
"""

from __future__ import annotations

from leaderboards.board_rows import BoardRow
from leaderboards.board_views import BoardView, view_of
from leaderboards.evaluation_basis import (
    COUNTED,
    opposing_pool,
    opposing_pool_keys,
    ranking_basis,
)
from leaderboards.history import TrackHistory, history_of, scores_of, shown
from leaderboards.selection_effect import luck_of, luck_on
from leaderboards.visibility import (
    BoardFreeze,
    BoardPage,
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
    "COUNTED",
    "BoardFreeze",
    "BoardPage",
    "BoardRow",
    "BoardView",
    "TrackHistory",
    "board",
    "evaluation_of",
    "evaluations_of",
    "frozen_since",
    "history_of",
    "known_until",
    "luck_of",
    "luck_on",
    "opposing_pool",
    "opposing_pool_keys",
    "public_evaluation_of",
    "ranking_basis",
    "row_of",
    "rows_now",
    "rows_of",
    "scores_of",
    "seen_live",
    "sees_live",
    "shown",
    "tops",
    "view_of",
    "whole_board",
]
