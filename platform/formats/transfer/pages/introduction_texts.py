"""What the home page and the documentation say of the transfer format."""

from __future__ import annotations

from django.conf import settings

from formats.transfer.tracks import ATTACK, DEFENCE, TARGETED_ATTACK
from pages.formats import Guide, HomeTexts


def home() -> HomeTexts:
    """Return what the home page says."""
    return HomeTexts(
        lead=(
            f"Push a git repository. {settings.SITE_NAME} builds it, plays it against every opponent, and shows its "
            "score on a public leaderboard."
        ),
        match=(
            "An attack gets a batch of images and epsilon, and writes images that differ by at most epsilon "
            "in every value. Each defence labels them. Nobody asks anybody, so an attack must transfer to "
            "networks that it has never seen."
        ),
        scoring=(
            "Every attack meets every defence on secret images. The score of an attack is the share of images"
            " that fool the defences, that of a defence the share of right labels."
        ),
        track=ATTACK,
        example="attack",
        drawing="formats/transfer/parts/drawing.html",
    )


def guide() -> Guide:
    """Return what the documentation says."""
    return Guide(
        title="Transfer format",
        tracks=(ATTACK, TARGETED_ATTACK, DEFENCE),
        evaluated="in the transfer format against every opponent of the other side",
        tracks_template="formats/transfer/docs/tracks.html",
        submission_template="formats/transfer/docs/submission.html",
        evaluation_template="formats/transfer/docs/evaluation.html",
        scores_template="formats/transfer/docs/scores.html",
        tutorials=("first-defence", "templates", "reading"),
    )
