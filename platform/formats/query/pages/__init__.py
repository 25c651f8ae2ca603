"""The pages of the query format."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.http import HttpRequest
from django.urls import URLPattern, path, reverse

from competitions.models import Track
from formats.query.challenges.selectors import stuck_challenges
from formats.query.matches.selectors import stuck_pieces
from formats.query.pages import bracket_csv, challenge_views, match_views, submission_choice_views
from formats.query.pages.board_page_data import (
    board_content,
    board_table,
    cards,
    public_scores,
    shared_rows,
    shared_winner,
)
from formats.query.pages.comparison_curves import curves_content, curves_table
from formats.query.pages.history_charts import history_chart, history_content, team_history
from formats.query.pages.introduction_texts import guide, home
from formats.query.pages.matrix_page_data import matrix_content
from formats.query.pages.origin_citation import origin
from formats.query.pages.overview_page_data import overview
from formats.query.pages.paper_figures import round_figures
from formats.query.pages.queue_and_incidents import held_by_workers, incidents, last_score_at, queue, rows_to_fix
from formats.query.pages.round_gallery_data import gallery_content
from formats.query.pages.round_page_data import progress_of, round_content
from formats.query.pages.rules_table import rules_rows
from formats.query.pages.submission_page_data import submission_content
from formats.query.pages.team_page_data import team_content
from formats.query.tracks import ATTACK_TRACKS, MODEL, TARGETED, UNTARGETED
from pages.formats import ClassNumbers, RoundFigures, RoundTexts
from rounds.models import Round


class QueryPages:
    """See `pages.formats.PageFormat`; most parts are functions of the modules of this package."""

    attack_tracks: Collection[str] = ATTACK_TRACKS
    colours: Mapping[str, str] = {
        MODEL: "#00696b",
        UNTARGETED: "#b33c11",
        TARGETED: "#a8236c",
    }
    round_texts = RoundTexts(
        published="formats/query/parts/round_published.html",
        in_short="formats/query/parts/schedule_in_short.html",
        in_full="formats/query/parts/schedule_in_full.html",
    )

    def urls(self) -> Sequence[URLPattern]:
        """Return the addresses of matches, their curves, challenges, choices of teams, and brackets."""
        curves_of_matches = "competitions/<slug:slug>/match-curves"
        return [
            path(curves_of_matches, match_views.compare, name="match_curves"),
            path(f"{curves_of_matches}/<slug:name>.csv", match_views.compare_csv, name="match_curves_csv"),
            path("matches/<int:number>", match_views.show, name="match"),
            path("matches/<int:number>/samples/<int:sample>/<slug:name>.png", match_views.image, name="match_image"),
            path("matches/<int:number>/<slug:name>.csv", match_views.table, name="match_table"),
            path("submissions/<int:number>/challenge", challenge_views.request_challenge, name="challenge_request"),
            path("submissions/<int:number>/challenge/new", challenge_views.challenge_new, name="challenge_new"),
            path("challenges/<int:number>", challenge_views.show, name="challenge"),
            path(
                "challenges/<int:number>/samples/<int:sample>/<slug:name>.png",
                challenge_views.image,
                name="challenge_image",
            ),
            path("submissions/<int:number>/choose", submission_choice_views.choose, name="choose"),
            path(
                "teams/<slug:slug>/repositories/<slug:track_name>/choose-newest",
                submission_choice_views.choose_newest,
                name="choose_newest",
            ),
            path(
                "competitions/<slug:slug>/rounds/<int:number>/bracket/<slug:track_name>.csv",
                bracket_csv.bracket_csv,
                name="round_bracket",
            ),
        ]

    board = staticmethod(board_content)
    board_table = staticmethod(board_table)
    cards = staticmethod(cards)
    shared_rows = staticmethod(shared_rows)
    public_scores = staticmethod(public_scores)
    shared_winner = staticmethod(shared_winner)
    matrix = staticmethod(matrix_content)
    gallery = staticmethod(gallery_content)
    curves = staticmethod(curves_content)
    curves_table = staticmethod(curves_table)
    history = staticmethod(history_content)
    history_chart = staticmethod(history_chart)
    team_history = staticmethod(team_history)
    home = staticmethod(home)
    guide = staticmethod(guide)
    origin = staticmethod(origin)
    overview = staticmethod(overview)
    rules = staticmethod(rules_rows)
    team = staticmethod(team_content)
    submission = staticmethod(submission_content)
    round_progress = staticmethod(progress_of)
    round_results = staticmethod(round_content)
    queue = staticmethod(queue)
    held_by_workers = staticmethod(held_by_workers)
    incidents = staticmethod(incidents)
    rows_to_fix = staticmethod(rows_to_fix)
    last_score_at = staticmethod(last_score_at)

    def class_numbers(self) -> ClassNumbers:
        """Return that classes are counted from 0."""
        return ClassNumbers("Number", 0)

    def match_address(self, shown: Round, key: str) -> str:
        """Return the address of the page of a match."""
        return reverse("pages:match", args=[key])

    def round_figures(self, request: HttpRequest, shown: Round, tracks: Sequence[Track]) -> RoundFigures:
        """Return the robustness of the models against the first pool, and against the attacks that count."""
        return round_figures(request, shown)

    def stuck_work(self) -> int:
        """Return how many pieces and challenges wait after faults."""
        return stuck_pieces().count() + stuck_challenges().count()
