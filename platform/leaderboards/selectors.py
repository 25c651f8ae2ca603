"""Reading pools, evaluations and leaderboards.

What counts and is to be measured is in `leaderboards.evaluation_basis`, what is shown to whom in
`leaderboards.visibility`, and what a rejudging changes in `leaderboards.rejudging_changes`.
"""

from __future__ import annotations

from leaderboards.evaluation_basis import (
    AT_ONCE,
    COUNTED,
    NEWEST,
    OWN_OPPONENTS,
    TERMS,
    Terms,
    counted_at,
    counting,
    key_in_force,
    opposing_pool,
    over,
    places_at,
    pool_in_force,
    ranked_under,
    scored_rows,
    terms_in_force,
    unmeasured,
    unrefined,
    unresolved,
)
from leaderboards.initial_pool import first_players
from leaderboards.rejudging_changes import Compared, comparison, scored_again
from leaderboards.selection_effect import BoardLuck, TrackLuck, luck_of, luck_on
from leaderboards.visibility import (
    PAGE_ROWS,
    BoardPage,
    BoardRow,
    Stillness,
    best,
    board,
    evaluation_of,
    public_evaluation_of,
    rows_now,
    rows_of,
    sees_live,
)

__all__ = [
    "AT_ONCE",
    "COUNTED",
    "NEWEST",
    "OWN_OPPONENTS",
    "PAGE_ROWS",
    "TERMS",
    "BoardLuck",
    "BoardPage",
    "BoardRow",
    "Compared",
    "Stillness",
    "Terms",
    "TrackLuck",
    "best",
    "board",
    "comparison",
    "counted_at",
    "counting",
    "evaluation_of",
    "first_players",
    "key_in_force",
    "luck_of",
    "luck_on",
    "opposing_pool",
    "over",
    "places_at",
    "pool_in_force",
    "public_evaluation_of",
    "ranked_under",
    "rows_now",
    "rows_of",
    "scored_again",
    "scored_rows",
    "sees_live",
    "terms_in_force",
    "unmeasured",
    "unrefined",
    "unresolved",
]
