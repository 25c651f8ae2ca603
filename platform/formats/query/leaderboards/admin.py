"""Admin of pools, evaluations, rejudgings and standings, and the actions on a competition's leaderboards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from django.contrib import admin
from django.utils.html import format_html, format_html_join

from accounts.models import User
from competitions.admin import CompetitionAdmin, EntryAdmin, RulesVersionAdmin, SampleSetAdmin, TrackAdmin
from competitions.board_freezes import frozen_since
from competitions.models import Competition, FrozenLeaderboards
from core.administration.admin_base_classes import ReadOnlyAdmin
from core.administration.confirmed_actions import AdminAction, confirmed_action
from core.administration.link_columns import labelled, link_to, linked
from core.administration.list_filters import SeenRelatedFilter
from formats.query.leaderboards import services, snapshots_and_freezes
from formats.query.leaderboards.evaluation_basis import basis_in_force
from formats.query.leaderboards.models import (
    Evaluation,
    Pool,
    PoolPlace,
    Rejudging,
    Resamples,
    Snapshot,
    Standing,
    SubmissionChoice,
)
from formats.query.leaderboards.rejudging import begin_rejudging, discard_rejudging, publish_rejudging, replay_rejudging
from formats.query.leaderboards.rejudging_changes import RejudgedSubmission, comparison, scored_again
from formats.query.matches.admin import MatchAdmin
from formats.query.matches.models import Match
from repositories.admin import RepositoryAdmin
from submissions.admin import PlayerAdmin, SubmissionAdmin
from submissions.models import Submission

CHANGES = ("Submission", "Team", "Score", "New score", "Rank", "New rank", "Changed samples", "Problem")
"""Columns of the table on a rejudging's page."""

TrackAdmin.add_counts("pools", "standings")
EntryAdmin.add_counts("standings")
RulesVersionAdmin.add_counts("evaluations")
SampleSetAdmin.add_counts("evaluations")
SubmissionAdmin.add_counts("evaluations", "submission_choices")
RepositoryAdmin.add_counts("submission_choices")
MatchAdmin.add_counts("evaluations")
PlayerAdmin.add_counts("pool_places")

# the competitions app does not know leaderboards: its page gets these actions from here
admin.site.unregister(Competition)


@admin.register(Competition)
class CompetitionWithBoardsAdmin(CompetitionAdmin):
    """Competitions, with the actions on their leaderboards."""

    readonly_fields = ("frozen_since",)
    actions = ("freeze_leaderboards", "unfreeze_leaderboards")
    actions_detail = (*CompetitionAdmin.actions_detail, *actions)

    @admin.display(description="Leaderboards frozen since")
    def frozen_since(self, competition: Competition) -> datetime | None:
        """Return the time of the freeze; None if the leaderboards are live."""
        return frozen_since(competition)

    freeze_leaderboards = confirmed_action(
        AdminAction(
            "Freeze leaderboards",
            "Everyone sees the leaderboards as they are now, with your reason, until you unfreeze them. Later scores "
            "are visible only to the submitting team and to organisers.",
            "frozen",
            lambda row, by, reason: snapshots_and_freezes.freeze_leaderboards(competition=row, by=by, reason=reason),
        )
    )
    unfreeze_leaderboards = confirmed_action(
        AdminAction(
            "Unfreeze leaderboards",
            "Everyone sees the current leaderboards and all scores.",
            "unfrozen",
            lambda row, by, reason: snapshots_and_freezes.unfreeze_leaderboards(competition=row, by=by, reason=reason),
        )
    )


@admin.register(Pool)
class PoolAdmin(ReadOnlyAdmin):
    """Frozen lists of opponents."""

    counts = ("places", "evaluations")
    list_display = ("__str__", linked("track"), "number", "made_at", "reason")
    list_filter = (("track__competition", SeenRelatedFilter), "track__name")
    list_select_related = ("track__competition",)
    search_fields = ("reason",)
    date_hierarchy = "made_at"
    fields = ("track", "number", "made_at", "reason")


@admin.register(PoolPlace)
class PoolPlaceAdmin(ReadOnlyAdmin):
    """Members of the pools."""

    list_display = ("__str__", linked("pool"), "place", linked("player"))
    list_filter = (("pool__track__competition", SeenRelatedFilter), "pool__track__name")
    list_select_related = ("pool__track__competition", "player")
    search_fields = ("player__title", "player__digest")


def _matches_at_most(submissions: Sequence[Submission]) -> str:
    """Return how many matches new evaluations have; those that were played before are reused."""
    tracks = Counter(submission.repository.track for submission in submissions)
    bases = {track: basis_in_force(track) for track in tracks}
    opponents = {track: basis.pool.places.count() if basis else 0 for track, basis in bases.items()}
    return f"at most {_matches(sum(opponents[track] * number for track, number in tracks.items()))}."


def _matches(number: int) -> str:
    return f"{number:,} match{'' if number == 1 else 'es'}"


RE_EVALUATED = (
    "The submission is measured again, against the current pool. Failed matches are replayed, all others are reused, "
    "and earlier evaluations are kept."
)
SubmissionAdmin.add_action(
    "re_evaluate",
    AdminAction(
        "Re-evaluate",
        RE_EVALUATED,
        "started again",
        lambda row, by, reason: services.re_evaluate(submission=row, by=by, reason=reason),
        costs=_matches_at_most,
    ),
)


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnlyAdmin):
    """Submissions measured against pools."""

    counts = ("matches", "standings")
    list_display = (
        "__str__",
        labelled("state", {"playing": "warning", "scored": "success", "void": "danger"}),
        linked("submission"),
        linked("pool"),
        linked("sample_set"),
        linked("rules"),
        "value",
        "failures",
        "created_at",
        "finished_at",
        "reason",
        "counts",
        linked("rejudging"),
    )
    list_filter = (
        "state",
        "counts",
        ("sample_set__competition", SeenRelatedFilter),
        "pool__track__name",
        "reason",
    )
    list_select_related = (
        "submission__repository__entry__competition",
        "rejudging",
        "pool__track__competition",
        "sample_set__competition",
        "rules__competition",
    )
    search_fields = ("=pk", "=submission__pk", "submission__repository__entry__team__slug")
    date_hierarchy = "created_at"
    actions = ("re_evaluate", "rejudge")
    actions_detail = ("re_evaluate", "rejudge")

    re_evaluate = confirmed_action(
        AdminAction(
            "Re-evaluate",
            RE_EVALUATED,
            "started again",
            lambda row, by, reason: services.re_evaluate(submission=row.submission, by=by, reason=reason),
            costs=lambda rows: _matches_at_most([row.submission for row in rows]),
        )
    )
    rejudge = confirmed_action(
        AdminAction(
            "Rejudge",
            "Their submissions become one set: every match of their counting evaluations is replayed under the same "
            "conditions. Nothing changes until you compare the set and publish it as a whole.",
            "sent to rejudging",
            lambda rows, by, reason: _rejudge(rows, by, reason),
            together=True,
            costs=lambda rows: f"{_matches(Match.objects.filter(evaluations__in=rows).distinct().count())}.",
        )
    )


def _rejudge(rows: list[Evaluation], by: User, reason: str) -> Rejudging:
    submissions = [row.submission for row in rows]
    competition = submissions[0].repository.entry.competition
    return begin_rejudging(competition=competition, submissions=submissions, reason=reason, by=by)


@admin.register(Resamples)
class ResamplesAdmin(ReadOnlyAdmin):
    """Scores that have the resamples of their rank intervals."""

    list_display = ("__str__", linked("evaluation"))
    list_select_related = ("evaluation",)
    search_fields = ("=evaluation__pk",)
    fields = ("evaluation",)


@admin.register(Rejudging)
class RejudgingAdmin(ReadOnlyAdmin):
    """Submissions evaluated again as a set, started from the list of evaluations."""

    counts = ("evaluations",)
    list_display = (
        "__str__",
        labelled("state", {"playing": "warning", "compared": "info", "published": "success", "discarded": "danger"}),
        linked("competition"),
        "reason",
        "made_at",
        "settled_at",
    )
    list_filter = ("state", ("competition", SeenRelatedFilter))
    list_select_related = ("competition",)
    search_fields = ("=pk", "reason")
    date_hierarchy = "made_at"
    fields = ("competition", "state", "reason", "made_at", "settled_at", "changes")
    readonly_fields = ("changes",)
    actions = ("publish", "discard", "replay")
    actions_detail = ("publish", "discard", "replay")

    publish = confirmed_action(
        AdminAction(
            "Publish",
            "All new scores of the set count from now on, and the leaderboards update. The old results are kept.",
            "published",
            lambda row, by, reason: publish_rejudging(rejudging=row, by=by, reason=reason),
        )
    )
    discard = confirmed_action(
        AdminAction(
            "Discard",
            "No score and no leaderboard changes. Played matches are kept, and open ones are cancelled.",
            "discarded",
            lambda row, by, reason: discard_rejudging(rejudging=row, by=by, reason=reason),
        )
    )
    replay = confirmed_action(
        AdminAction(
            "Replay",
            "The matches of the set that failed by a platform error are replayed.",
            "queued again",
            lambda row, by, reason: replay_rejudging(rejudging=row, by=by, reason=reason),
        )
    )

    def changes(self, row: Rejudging) -> str:
        """Return each submission without and with the set, and the others that are scored again with it."""
        compared, others = _compared_once(row)
        lines = (
            (
                link_to(each.submission),
                each.team,
                *_pair(each.value_before, each.value_after),
                *_pair(each.rank_before, each.rank_after),
                each.changed,
                each.problem,
            )
            for each in compared
        )
        also = format_html_join(", ", "{}", ((link_to(each),) for each in others))
        return format_html(
            '<table class="w-full"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}',
            format_html_join("", '<th class="px-2 text-left">{}</th>', ((title,) for title in CHANGES)),
            format_html_join("", "<tr>" + '<td class="px-2">{}</td>' * len(CHANGES) + "</tr>", lines),
            format_html('<p class="px-2">Scored again as well, by the new matches: {}</p>', also) if also else "",
        )


def _compared_once(row: Rejudging) -> tuple[list[RejudgedSubmission], list[Submission]]:
    """Compute once: the template reads a column several times."""
    known = vars(row)
    if "_compared" not in known:
        known["_compared"] = comparison(row), scored_again(row)
    compared: tuple[list[RejudgedSubmission], list[Submission]] = known["_compared"]
    return compared


def _pair(before: float | None, after: float | None) -> tuple[str, str]:
    """Format two numbers."""
    written = ["none" if each is None else f"{each:g}" for each in (before, after)]
    return written[0], written[1]


@admin.register(FrozenLeaderboards)
class FrozenLeaderboardsAdmin(ReadOnlyAdmin):
    """Competitions whose public leaderboards are frozen."""

    list_display = ("__str__", linked("competition"), "since")
    list_select_related = ("competition",)


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    """Stored copies of leaderboards, never changed."""

    list_display = ("__str__", linked("track"), "made_at", "reason")
    list_filter = (("track__competition", SeenRelatedFilter), "track__name")
    list_select_related = ("track__competition",)
    search_fields = ("reason",)
    date_hierarchy = "made_at"
    fields = ("track", "made_at", "reason", "rows")


@admin.register(Standing)
class StandingAdmin(ReadOnlyAdmin):
    """The rows of the leaderboards."""

    list_display = (
        "place",
        "rank",
        "rank_low",
        "rank_high",
        "separated",
        "previous_rank",
        "chosen",
        linked("track"),
        linked("entry"),
        linked("evaluation"),
    )
    list_display_links = ("place",)
    list_filter = (("track__competition", SeenRelatedFilter), "track__name")
    list_select_related = ("track__competition", "entry__team", "entry__competition", "evaluation")
    search_fields = ("entry__team__slug", "entry__team__name")


@admin.register(SubmissionChoice)
class SubmissionChoiceAdmin(ReadOnlyAdmin):
    """Submissions that teams chose to count; the newest choice for a repository is in force."""

    list_display = ("__str__", linked("repository"), linked("submission"), linked("made_by"), "made_at")
    list_filter = (("repository__track__competition", SeenRelatedFilter), "repository__track__name")
    list_select_related = ("repository__entry__team", "repository__track__competition", "submission", "made_by")
    search_fields = ("=submission__pk", "repository__entry__team__slug", "made_by__username")
    date_hierarchy = "made_at"
