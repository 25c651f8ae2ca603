"""What the page of a team shows in the query format: ranks and scores, its choices, and what is better by luck."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.http import HttpRequest

from competitions.board_freezes import frozen_since, sees_live
from competitions.models import Entry
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.score_visibility import evaluations_of, rows_of
from formats.query.leaderboards.selection_effect import luck_of
from formats.query.pages.submission_choice_display import choices_of_team, choosing_is_allowed
from formats.query.pages.submission_page_data import state_of
from pages.formats import Content, StandingContent, SubmissionInList, TeamContent
from submissions.models import Submission
from submissions.selectors import tracks_with_baselines


def team_content(
    request: HttpRequest, entry: Entry, submissions: Collection[Submission], *, inside: bool
) -> TeamContent:
    """Return the standings of a team and the scores of `submissions`, as far as the user sees them."""
    competition = entry.competition
    frozen = not sees_live(request.user, competition)
    teams_choose = choosing_is_allowed(competition)
    rows = {track.pk: row for track, row in rows_of(entry, frozen=frozen)}
    choices = choices_of_team(entry) if inside and teams_choose else {}
    evaluations = evaluations_of(submissions, competition, inside=inside)
    tracks = list(competition.tracks.all())
    baselines = tracks_with_baselines(entry) if len(rows) < len(tracks) else set()
    return TeamContent(
        which_counts="On each track the newest scored submission counts, unless the team chooses another one."
        if teams_choose
        else "On each track the newest scored submission counts.",
        standings={
            track.pk: _standing(
                {
                    "track": track,
                    "row": rows.get(track.pk),
                    "choice": choices.get(track.pk),
                    "teams_choose": teams_choose,
                    "baseline": track.pk in baselines,
                }
            )
            for track in tracks
        },
        submissions={each.pk: _in_list(each, evaluations.get(each.pk)) for each in submissions},
        frozen=Content(
            template="formats/query/parts/team_frozen.html", context={"frozen_since": frozen_since(competition)}
        )
        if frozen
        else None,
        below=Content(
            template="formats/query/parts/progress.html",
            context={"luck": luck_of(entry, inside=inside), "teams_choose": teams_choose},
        ),
    )


def _standing(context: Mapping[str, Any]) -> StandingContent:
    row = context["row"]
    return StandingContent(
        template="formats/query/parts/standing.html", context=context, submission=row.submission if row else None
    )


def _in_list(submission: Submission, evaluation: Evaluation | None) -> SubmissionInList:
    scored = evaluation is not None and evaluation.state == Evaluation.State.SCORED
    return SubmissionInList(
        state_of(submission, evaluation),
        Content(template="formats/query/parts/score_cell.html", context={"evaluation": evaluation}) if scored else None,
    )
