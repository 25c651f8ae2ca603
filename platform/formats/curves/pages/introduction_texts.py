"""What the home page and the documentation say of the curves format."""

from __future__ import annotations

from django.conf import settings

from formats.curves.tracks import MODEL
from pages.competition.citation import Origin
from pages.formats import Guide, HomeTexts

_BIBTEX = r"""@inproceedings{dong2020benchmarking,
  title     = {Benchmarking Adversarial Robustness on Image Classification},
  author    = {Dong, Yinpeng and Fu, Qi-An and Yang, Xiao and Pang, Tianyu and Su, Hang and Xiao, Zihao and Zhu, Jun},
  booktitle = {{IEEE/CVF} Conference on Computer Vision and Pattern Recognition},
  year      = {2020}
}"""


def home() -> HomeTexts:
    """Return what the home page says."""
    return HomeTexts(
        lead=(
            f"Push a git repository with a model. {settings.SITE_NAME} builds it, runs a fixed set of "
            "attacks against it, and shows how its accuracy falls."
        ),
        match=(
            "An attack asks the model for labels of images that it makes, and looks for the smallest change that "
            "fools it. Every model meets the same attacks with the same number of queries."
        ),
        scoring=(
            "The result is a curve: the accuracy by the size of the change. Leaderboards compare the accuracy at one "
            "budget, for each threat model."
        ),
        track=MODEL,
        example="model",
        drawing="formats/curves/parts/drawing.html",
    )


def guide() -> Guide:
    """Return what the documentation says."""
    return Guide(
        title="Curves format",
        tracks=(MODEL,),
        evaluated="in the curves format by every attack of the rules",
        tracks_template="formats/curves/docs/tracks.html",
        submission_template="formats/curves/docs/submission.html",
        evaluation_template="formats/curves/docs/evaluation.html",
        scores_template="formats/curves/docs/scores.html",
        tutorials=("first-model", "templates", "reading"),
    )


def origin() -> Origin:
    """Return the benchmark whose threat models and curves the format follows."""
    return Origin("They follow the robustness benchmark of Dong et al.:", _BIBTEX)
