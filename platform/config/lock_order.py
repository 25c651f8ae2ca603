"""The order in which a transaction locks rows with SELECT ... FOR UPDATE: two that keep to it never deadlock.

Of one table, rows are locked in the order of their keys. The site's tests check every transaction on PostgreSQL.
"""

from __future__ import annotations

LOCK_ORDER = (
    "workers.Worker",
    "accounts.AccountRequest",
    "accounts.SignUpLink",
    "accounts.Team",
    "accounts.User",
    "accounts.Invitation",
    "leaderboards.Rejudging",
    "competitions.Competition",
    "rounds.Round",
    "competitions.SampleSet",
    "repositories.Repository",
    "submissions.Submission",
    "submissions.QuotaSlot",
    "submissions.Build",
    "competitions.Track",
    "tournaments.Tournament",
    "tournaments.AttackRun",
    "tournaments.DefenceRun",
    "tournaments.RepeatRun",
    "tournaments.PairTotal",
    "tournaments.Entrant",
    "matches.Piece",
    "matches.Match",
    "leaderboards.Evaluation",
    "leaderboards.Resamples",
    "leaderboards.Standing",
    "query_rounds.RoundMatch",
    "rounds.SigningKey",
)
"""Models, first to last. A transaction that holds rows of one locks no rows of an earlier one for the first time."""
