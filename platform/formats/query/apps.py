"""The Django app of the query format."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.apps import AppConfig

from config.admin_theme import AdminPage


class QueryConfig(AppConfig):
    """The query format."""

    name = "formats.query"
    label = "query_format"
    verbose_name = "Query format"
    lock_order: ClassVar = {
        "competitions.Competition": ("leaderboards.Rejudging",),
        "rounds.SigningKey": (
            "matches.Piece",
            "matches.Match",
            "leaderboards.Evaluation",
            "leaderboards.Resamples",
            "leaderboards.Standing",
            "query_rounds.RoundMatch",
        ),
    }
    admin_pages: ClassVar = {
        "Matches": (
            AdminPage("Matches", "sports_kabaddi", "matches_match"),
            AdminPage("Pieces", "extension", "matches_piece"),
            AdminPage("Sample results", "analytics", "matches_sampleresult"),
            AdminPage("Challenges", "swords", "challenges_challenge"),
        ),
        "Leaderboards": (
            AdminPage("Standings", "leaderboard", "leaderboards_standing"),
            AdminPage("Submission choices", "check_circle", "leaderboards_submissionchoice"),
            AdminPage("Evaluations", "scoreboard", "leaderboards_evaluation"),
            AdminPage("Resamples", "shuffle", "leaderboards_resamples"),
            AdminPage("Rejudgings", "balance", "leaderboards_rejudging"),
            AdminPage("Snapshots", "photo_camera", "leaderboards_snapshot"),
            AdminPage("Pools", "pool", "leaderboards_pool"),
            AdminPage("Pool places", "format_list_numbered", "leaderboards_poolplace"),
        ),
        "Rounds": (
            AdminPage("Stages", "stairs", "query_rounds_roundstage"),
            AdminPage("Decision log", "rule", "query_rounds_decision"),
            AdminPage("Round matches", "join_inner", "query_rounds_roundmatch"),
            AdminPage("Warnings", "warning", "query_rounds_roundwarning"),
        ),
    }

    def ready(self) -> None:
        """Register the format."""
        import_module("formats.query.format")
