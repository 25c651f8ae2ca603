"""The pages of the curves format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import URLPattern, path

from competitions.models import Track
from formats.curves.benchmark_work import benchmarks
from formats.curves.models import Benchmark, Proof
from formats.curves.pages import best_known_views
from formats.curves.pages.board_page_data import board_content, board_table
from formats.curves.pages.comparison_page_data import comparison_content, comparison_table
from formats.curves.pages.history_charts import history_chart, history_content, team_history
from formats.curves.pages.introduction_texts import guide, home, origin
from formats.curves.pages.proof_queue import (
    DOUBTFUL_PROOFS,
    doubtful_proofs,
    held_with_proofs,
    stuck_proofs,
    with_proofs,
)
from formats.curves.pages.round_page_data import round_content
from formats.curves.pages.rules_table import rules_rows
from formats.curves.pages.submission_page_data import submission_content
from formats.curves.threat_model_boards import CurvesBoard
from formats.curves.tracks import MODEL
from pages.column_leaderboard_pages import PlainPages
from pages.formats import RoundContent, RoundTexts, WorkQueue
from pages.status.incident_types import DOUBTFUL, RETRY, RowsToFix, Urgency
from rounds.models import Release, Round
from workers.selectors import of_drained_hosts


class CurvesPages(PlainPages):
    """See `pages.formats.PageFormat`."""

    board_of: ClassVar = CurvesBoard()
    items = Benchmark
    title = "Curves"
    about = "formats/curves/docs/evaluation.html"
    tracks = (MODEL,)
    colours: Mapping[str, str] = {MODEL: "#00696b"}

    def urls(self) -> Sequence[URLPattern]:
        """Return the addresses of what is best known of released models."""
        model = "competitions/<slug:slug>/rounds/<int:number>/models/<key:model>"
        return [
            path(model, best_known_views.show, name="best_known"),
            path(f"{model}/best-known.csv", best_known_views.history_csv, name="best_known_csv"),
            path(f"{model}/proofs", best_known_views.upload_proof, name="proof_upload"),
            path(f"{model}/proofs/<key:proof>.npz", best_known_views.images, name="proof_images"),
        ]

    board = staticmethod(board_content)
    board_table = staticmethod(board_table)
    curves = staticmethod(comparison_content)
    curves_table = staticmethod(comparison_table)
    history = staticmethod(history_content)
    history_chart = staticmethod(history_chart)
    team_history = staticmethod(team_history)
    submission = staticmethod(submission_content)
    rules = staticmethod(rules_rows)
    home = staticmethod(home)
    guide = staticmethod(guide)
    origin = staticmethod(origin)

    def round_results(
        self, request: HttpRequest, shown: Round, tracks: Sequence[Track], public: Mapping[str, Release]
    ) -> RoundContent:
        return round_content(shown, super().round_results(request, shown, tracks, public))

    @property
    def round_texts(self) -> RoundTexts:
        parts = "formats/curves/parts"
        return RoundTexts(
            published=f"{parts}/round_published.html",
            in_short=f"{parts}/schedule_in_short.html",
            in_full=f"{parts}/schedule_in_full.html",
        )

    def queue(self) -> WorkQueue:
        return with_proofs(super().queue())

    def held_by_workers(self) -> Mapping[str, int]:
        return held_with_proofs(super().held_by_workers())

    def stuck_work(self) -> int:
        return super().stuck_work() + stuck_proofs().count()

    def rows_to_fix(self) -> Sequence[RowsToFix]:
        failed = Benchmark.objects.filter(state=Benchmark.State.FAILED)
        failed = failed.exclude(pk__in=benchmarks.needless().values("pk"))
        failed_proofs = Proof.objects.filter(state=Proof.State.FAILED)
        text = "Platform errors on several hosts ended them. Correct the cause, then put them back into the queue."
        return [
            RowsToFix(Urgency.FAILED, "Benchmarks given up", failed, text),
            RowsToFix(Urgency.WAITS, "Benchmarks that wait after platform errors", self._stuck(), RETRY),
            RowsToFix(Urgency.UNSCORED, "Benchmarks on drained hosts", self._doubtful(), DOUBTFUL),
            RowsToFix(Urgency.UNSCORED, "Proofs that drained hosts verified", doubtful_proofs(), DOUBTFUL_PROOFS),
            RowsToFix(Urgency.FAILED, "Verifications of proofs given up", failed_proofs, text),
            RowsToFix(Urgency.WAITS, "Proofs that wait after platform errors", stuck_proofs(), RETRY),
        ]

    def _doubtful(self) -> QuerySet[Benchmark]:
        """Return what hosts claimed before they were drained, and played, for leaderboards in force and open rounds."""
        played = Benchmark.objects.filter(of_drained_hosts("worker"), state=Benchmark.State.PLAYED)
        counting = played.filter(Q(round=None) | Q(round__state__in=Round.UNDER_WAY))
        return counting.exclude(pk__in=benchmarks.needless().values("pk"))

    def _waiting(self) -> QuerySet[Benchmark]:
        """Return those that a worker may claim, now or when a pause after a fault ends."""
        return benchmarks.playable().filter(state=Benchmark.State.WAITING)
