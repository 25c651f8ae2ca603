"""What the home page and the documentation say of the query format."""

from __future__ import annotations

from django.conf import settings

from formats.query.tracks import MODEL, TARGETED, UNTARGETED
from pages.formats import Guide, HomeTexts


def home() -> HomeTexts:
    """Return what the home page says."""
    return HomeTexts(
        lead=(
            f"Push a git repository. {settings.SITE_NAME} builds it, plays it against the best opponents, and shows "
            "its score on a public leaderboard."
        ),
        match=(
            "An attack changes images step by step and asks the model for labels. Each image has a query "
            "budget. The referee forwards and counts every query, and measures the smallest change that fools"
            " the model."
        ),
        scoring=(
            "The score is the median of these distances over secret images and the best opponents. Every "
            "score has a 95 % interval, the number of failed attacks, and the version of the rules."
        ),
        track=UNTARGETED,
        example="attack",
        drawing="formats/query/parts/drawing.html",
    )


def guide() -> Guide:
    """Return what the documentation says."""
    return Guide(
        title="Query format",
        tracks=(MODEL, UNTARGETED, TARGETED),
        evaluated="in the query format against every opponent in the pool of the other side",
        tracks_template="formats/query/docs/tracks.html",
        submission_template="formats/query/docs/submission.html",
        evaluation_template="formats/query/docs/evaluation.html",
        scores_template="formats/query/docs/scores.html",
        tutorials=("first-model", "first-attack", "templates", "reading"),
    )
