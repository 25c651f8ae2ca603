"""Admin of what rounds of the query format have: their matches, stages, decisions and warnings."""

from __future__ import annotations

from django.contrib import admin

from core.administration.admin_base_classes import ReadOnlyAdmin
from core.administration.confirmed_actions import AdminAction
from core.administration.link_columns import linked
from core.administration.list_filters import SeenRelatedFilter
from core.roles import Right
from formats.query.rounds.audit_overrides import override_audit
from formats.query.rounds.decision_text import why
from formats.query.rounds.models import Decision, RoundMatch, RoundStage, RoundWarning
from rounds.admin import IN_A_COMPETITION, OF_ROUND, RoundAdmin, RoundEntryAdmin, RoundFilter

RoundAdmin.add_counts("stages", "round_matches", "warnings")
RoundEntryAdmin.add_action(
    "override_audit",
    AdminAction(
        "Override audit",
        "The model stays in the round although its audits failed. If it was eliminated already, the later stages are "
        "decided again, and missing matches are played. The reason becomes public with the result.",
        "overridden",
        lambda row, by, reason: override_audit(entry=row, by=by, reason=reason),
        needs=Right.JUDGE,
    ),
)


@admin.register(RoundMatch)
class RoundMatchAdmin(ReadOnlyAdmin):
    """Matches of rounds."""

    list_display = ("__str__", linked("round"), linked("match"))
    list_filter = (IN_A_COMPETITION, OF_ROUND, "match__state")
    list_select_related = ("round__competition", "match")
    search_fields = ("=match__pk", "match__model__title", "match__attack__title")
    show_full_result_count = False


@admin.register(RoundStage)
class RoundStageAdmin(ReadOnlyAdmin):
    """Finished stages with their samples, panels and counted players."""

    counts = ("decisions",)
    list_display = ("__str__", linked("round"), "bracket", "number", "samples", "ordered_by", "loop", "renewed")
    list_filter = (IN_A_COMPETITION, OF_ROUND, "bracket", "number", "renewed")
    list_select_related = ("round__competition",)
    search_fields = ("round__title",)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    """The decision log: who was kept or cut in which stage, by which value against which threshold."""

    list_display = ("says", linked("player"), linked("track"), linked("stage"), "spared")
    list_filter = (
        ("stage__round__competition", SeenRelatedFilter),
        ("stage__round", RoundFilter),
        "stage__bracket",
        "stage__number",
        "track__name",
        "kept",
        "spared",
        "inconsistent",
    )
    list_select_related = ("stage__round", "track__competition", "player")
    search_fields = (
        "player__title",
        "player__digest",
        "player__round_entries__submission__repository__entry__team__slug",
        "player__round_entries__submission__repository__entry__team__name",
    )

    @admin.display(description="decision", ordering="place")
    def says(self, line: Decision) -> str:
        """Return the decision as a sentence."""
        return why(line.stage, line)


@admin.register(RoundWarning)
class RoundWarningAdmin(ReadOnlyAdmin):
    """Attacks that do not count but would have broken a winning model."""

    list_display = ("__str__", linked("round"), linked("model"), linked("attack"), "nearer", "samples", "median")
    list_filter = (IN_A_COMPETITION, OF_ROUND)
    list_select_related = ("round__competition", "model", "attack")
    search_fields = ("model__title", "attack__title", "model__digest", "attack__digest")
