"""The pages of the transfer format."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.http import HttpRequest
from django.urls import URLPattern, path, reverse

from competitions.models import Competition, Track
from evaluation.charts.line_chart import LineChart
from evaluation.formats.transfer.rules import FIRST_LABEL
from formats.transfer.pages import pair_views
from formats.transfer.pages.board_page_data import (
    board_content,
    board_table,
    cards,
    public_scores,
    shared_rows,
    shared_winner,
)
from formats.transfer.pages.introduction_texts import guide, home
from formats.transfer.pages.matrix_page_data import matrix_content
from formats.transfer.pages.origin_citation import origin
from formats.transfer.pages.paper_figures import history_chart, history_content, round_figures
from formats.transfer.pages.queue_and_incidents import incidents, last_score_at, queue, rows_to_fix, stuck_work
from formats.transfer.pages.round_gallery_data import gallery_content
from formats.transfer.pages.round_page_data import progress_of, round_content
from formats.transfer.pages.rules_table import rules_rows
from formats.transfer.pages.submission_page_data import submission_content
from formats.transfer.pages.team_page_data import team_content
from formats.transfer.tournaments.selectors import held_by_workers
from formats.transfer.tracks import ATTACK, ATTACK_TRACKS, DEFENCE, TARGETED_ATTACK
from pages.formats import (
    ClassNumbers,
    Content,
    MissingPageError,
    Overview,
    RoundFigures,
    RoundTexts,
    WithoutHistory,
)
from rounds.models import Round


class TransferPages(WithoutHistory):
    """See `pages.formats.PageFormat`; most parts are functions of the modules of this package."""

    attack_tracks: Collection[str] = ATTACK_TRACKS
    colours: Mapping[str, str] = {
        DEFENCE: "#00696b",
        ATTACK: "#b33c11",
        TARGETED_ATTACK: "#a8236c",
    }
    round_texts = RoundTexts(
        published="formats/transfer/parts/round_published.html",
        in_short="formats/transfer/parts/schedule_in_short.html",
        in_full="formats/transfer/parts/schedule_in_full.html",
    )

    def urls(self) -> Sequence[URLPattern]:
        """Return the addresses of pairs, and of the pictures of what attacks made."""
        pair, of_round = "pairs/<key:attack>/<key:defence>", "competitions/<slug:slug>/rounds/<int:number>"
        image = f"{of_round}/images/<key:attack>/<key:sample>/<slug:name>.png"
        return [
            path(f"competitions/<slug:slug>/{pair}", pair_views.pair, name="transfer_pair"),
            path(f"{of_round}/{pair}", pair_views.round_pair, name="round_pair"),
            path(image, pair_views.round_image, name="round_image"),
        ]

    board = staticmethod(board_content)
    board_table = staticmethod(board_table)
    cards = staticmethod(cards)
    shared_rows = staticmethod(shared_rows)
    public_scores = staticmethod(public_scores)
    shared_winner = staticmethod(shared_winner)
    matrix = staticmethod(matrix_content)
    gallery = staticmethod(gallery_content)
    history = staticmethod(history_content)
    home = staticmethod(home)
    guide = staticmethod(guide)
    origin = staticmethod(origin)
    rules = staticmethod(rules_rows)
    team = staticmethod(team_content)
    submission = staticmethod(submission_content)
    round_progress = staticmethod(progress_of)
    round_results = staticmethod(round_content)
    queue = staticmethod(queue)
    held_by_workers = staticmethod(held_by_workers)
    stuck_work = staticmethod(stuck_work)
    incidents = staticmethod(incidents)
    rows_to_fix = staticmethod(rows_to_fix)
    last_score_at = staticmethod(last_score_at)

    def curves(self, request: HttpRequest, track: Track) -> Content:
        """Raise `MissingPageError`: a share has no curve."""
        raise MissingPageError("In this format there are no distances, so there are no curves.")

    def history_chart(self, request: HttpRequest, track: Track, name: str) -> LineChart | None:
        """Return one of the charts of the best scores over the published rounds."""
        return history_chart(track, name)

    def overview(self, competition: Competition) -> Overview:
        """Return that there are no pools, and a link to the matrix."""
        return Overview(
            links=[(reverse("pages:matrix", args=[competition.slug, ATTACK]), "Matrix of attacks and defences")],
            opponents=Content(template="formats/transfer/parts/opponents.html"),
        )

    def class_numbers(self) -> ClassNumbers:
        """Return that classes are counted from 1 in files."""
        return ClassNumbers("Label in files", FIRST_LABEL)

    def match_address(self, shown: Round, key: str) -> str:
        """Return the address of the page of a pair in the round."""
        return reverse("pages:round_pair", args=[shown.competition.slug, shown.number, *key.split("/")])

    def round_figures(self, request: HttpRequest, shown: Round, tracks: Sequence[Track]) -> RoundFigures:
        """Return all scores by place with the baselines."""
        return round_figures(shown, tracks)
