"""Reading pools, evaluations and leaderboards.

What counts and is to be measured is in `leaderboards.terms`, what is shown to whom in `leaderboards.shown`, and what a
rejudging changes in `leaderboards.comparing`, all reached through here.
"""

from __future__ import annotations

from leaderboards.comparing import Compared, comparison, scored_again
from leaderboards.first_pool import first_players
from leaderboards.luck import BoardLuck, TrackLuck, luck_of, luck_on
from leaderboards.shown import (
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
from leaderboards.terms import (
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
