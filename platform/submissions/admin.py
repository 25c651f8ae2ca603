"""Submissions, quota slots, builds, logs and players in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse

from accounts.admin import PersonAdmin
from competitions.admin import CompetitionAdmin
from core.administration.admin_base_classes import ReadOnlyAdmin
from core.administration.confirmed_actions import AdminAction, confirmed_action, counted
from core.administration.link_columns import labelled, linked
from core.administration.list_filters import SeenRelatedFilter
from core.roles import Right
from repositories.admin import RepositoryAdmin
from submissions import hiding, services
from submissions.extension_points import published_titles
from submissions.models import Build, LogChunk, Player, QuotaSlot, Submission
from submissions.quota_ledger import awaiting_organiser
from submissions.submission_history import history_of

PersonAdmin.add_counts("submissions")
CompetitionAdmin.add_counts("players")
RepositoryAdmin.add_counts("submissions", "quota_slots")

STATE_COLOURS = {
    "received": "info",
    "building": "warning",
    "checking": "warning",
    "ready": "success",
    "rejected": "danger",
}
IN_A_COMPETITION = ("repository__track__competition", SeenRelatedFilter)
REPOSITORY = ("repository__entry__team", "repository__track__competition")


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    """Submissions, newest first."""

    viewing = Right.SEE
    counts = ("builds",)
    list_display = (
        "__str__",
        labelled("state", STATE_COLOURS),
        linked("repository"),
        "title",
        "submitted_by",
        "received_at",
        "cause",
        "reason",
        "disqualified_at",
    )
    list_filter = (
        "state",
        IN_A_COMPETITION,
        "repository__track__name",
        "cause",
        "reason",
        ("disqualified_at", admin.EmptyFieldListFilter),
        ("baseline_at", admin.EmptyFieldListFilter),
        ("hidden_at", admin.EmptyFieldListFilter),
    )
    list_select_related = ("submitted_by", *REPOSITORY)
    search_fields = ("=pk", "commit", "title", "given_title", "repository__entry__team__slug", "submitted_by__username")
    date_hierarchy = "received_at"
    actions = (
        *("retry", "refund", "disqualify", "reinstate", "make_baseline", "end_baseline"),
        *("hide", "show_again"),
    )
    actions_detail = actions
    change_form_outer_before_template = "admin/submissions/history.html"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show why it failed, its attempts and its events above its columns."""
        shown = self.get_object(request, object_id)
        extra = {"history": history_of(shown)} if shown else {}
        response: HttpResponse = super().change_view(request, object_id, form_url, (extra_context or {}) | extra)
        return response

    def get_fields(self, request: HttpRequest, obj: Submission | None = None) -> list[Any]:
        """Leave out what is empty: most submissions are never rejected, disqualified, baselines or hidden."""
        fields = super().get_fields(request, obj)
        return [name for name in fields if not isinstance(name, str) or getattr(obj, name, True) not in (None, "")]

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Return the actions that its state allows."""
        shown = self.get_object(request, object_id)
        hidden: set[str] = set()
        if shown is not None:
            hidden = {
                "reinstate" if shown.disqualified_at is None else "disqualify",
                "end_baseline" if shown.baseline_at is None else "make_baseline",
                "show_again" if shown.hidden_at is None else "hide",
            }
            if shown.state != Submission.State.REJECTED:
                hidden.add("retry")
            if not awaiting_organiser().filter(submission=shown).exists():
                hidden.add("refund")
        every = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        return [each for each in every if each.action_name.removeprefix("submissions_submission_") not in hidden]

    retry = confirmed_action(
        AdminAction(
            "Retry",
            "Each rejected submission is built and checked again. The team's quota does not change.",
            "queued for a new build",
            lambda row, by, reason: services.retry(submission=row, by=by, reason=reason),
            needs=Right.ANSWER,
            costs=lambda rows: f"worker time for {counted(len(rows), 'build')} with smoke test.",
        )
    )
    refund = confirmed_action(
        AdminAction(
            "Refund slot",
            "Refunds the slot of each submission that failed by a platform error and waits for an organiser.",
            "refunded",
            lambda row, by, reason: services.refund_fault(submission=row, by=by, reason=reason),
            needs=Right.ANSWER,
            costs=lambda rows: f"{counted(len(rows), 'slot')}, free again for the teams in the 24 hours of each.",
        )
    )
    disqualify = confirmed_action(
        AdminAction(
            "Disqualify",
            "Each submission is removed from the leaderboard. Its team sees the reason. You can reinstate it later.",
            "disqualified",
            lambda row, by, reason: services.disqualify(submission=row, by=by, reason=reason),
            needs=Right.JUDGE,
        )
    )
    reinstate = confirmed_action(
        AdminAction(
            "Reinstate",
            "Removes the disqualification of each submission. It counts on the leaderboard again.",
            "reinstated",
            lambda row, by, reason: services.reinstate(submission=row, by=by, reason=reason),
            needs=Right.JUDGE,
        )
    )
    make_baseline = confirmed_action(
        AdminAction(
            "Make baseline",
            "Each submission is listed as a baseline, with its team, and is an opponent as other baselines are. "
            "It no longer counts for its team: the newest other one does. Rounds that are frozen keep it as an "
            "entry, and in later ones it takes part without prizes. Its team sees the reason. You can end this later.",
            "made baselines",
            lambda row, by, reason: services.make_baseline(submission=row, by=by, reason=reason),
            needs=Right.JUDGE,
        )
    )
    end_baseline = confirmed_action(
        AdminAction(
            "End baseline",
            "Each submission is an ordinary one again, and may count for its team.",
            "no longer baselines",
            lambda row, by, reason: services.end_baseline(submission=row, by=by, reason=reason),
            needs=Right.JUDGE,
        )
    )
    hide = confirmed_action(
        AdminAction(
            "Hide",
            "Each submission is called “Hidden submission” everywhere, and its page, its code and the images that it "
            "made are no longer public. Its scores and ranks stay. While it is hidden, the code of its whole "
            "repository cannot be cloned, as the history may hold the same files. Its team sees the reason. You can "
            "show it again later.",
            "hidden",
            lambda row, by, reason: hiding.hide(submission=row, by=by, reason=reason),
            needs=Right.JUDGE,
            notes=lambda row: [note for notes in published_titles.answers(row) for note in notes],
        )
    )
    show_again = confirmed_action(
        AdminAction(
            "Show again",
            "Each hidden submission has its title, its page and its public code again.",
            "shown again",
            lambda row, by, reason: hiding.show_again(submission=row, by=by, reason=reason),
            needs=Right.JUDGE,
        )
    )


@admin.register(QuotaSlot)
class QuotaSlotAdmin(ReadOnlyAdmin):
    """The quota ledger."""

    viewing = Right.SEE
    list_display = (
        "pk",
        labelled("state", {"reserved": "warning", "used": "info", "refunded": "success"}),
        linked("repository"),
        "reserved_by",
        "reserved_at",
        "settled_at",
        "reason",
        linked("submission"),
    )
    list_filter = ("state", "reason", IN_A_COMPETITION)
    list_select_related = ("reserved_by", "submission", *REPOSITORY)
    search_fields = ("commit", "tag", "repository__entry__team__slug")
    date_hierarchy = "reserved_at"


@admin.register(Build)
class BuildAdmin(ReadOnlyAdmin):
    """Build attempts of submissions."""

    viewing = Right.SEE
    counts = ("log_chunks",)
    list_display = (
        "__str__",
        linked("submission"),
        "attempt",
        "worker",
        "started_at",
        "lease_until",
        "finished_at",
        "outcome",
    )
    list_filter = ("outcome", "worker", ("submission__repository__track__competition", SeenRelatedFilter))
    list_select_related = ("submission",)
    search_fields = ("=submission__pk", "worker")
    date_hierarchy = "started_at"


@admin.register(LogChunk)
class LogChunkAdmin(ReadOnlyAdmin):
    """Build logs: output of builds and of smoke tests on public samples, never of a match."""

    viewing = Right.SEE
    list_display = ("__str__", linked("build"), "stage", "first_line", "lines", "at")
    list_filter = ("stage",)
    list_select_related = ("build__submission",)
    ordering = ("-build_id", "first_line")  # by an index, and not all first lines of all builds first
    search_fields = ("=build__submission__pk",)
    show_full_result_count = False


@admin.register(Player)
class PlayerAdmin(ReadOnlyAdmin):
    """Players, by digest."""

    viewing = Right.SEE
    counts = ("submissions",)
    list_display = (
        "__str__",
        "track_name",
        linked("competition"),
        linked("repository"),
        "baseline",
        "gpu",
        "created_at",
    )
    list_filter = (
        ("competition", SeenRelatedFilter),
        "track_name",
        "gpu",
        ("baseline", admin.EmptyFieldListFilter),
    )
    list_select_related = ("competition", *REPOSITORY)
    search_fields = ("title", "digest", "baseline", "commit", "repository__entry__team__slug")
    date_hierarchy = "created_at"
