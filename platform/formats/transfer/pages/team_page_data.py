"""What a team sees in the transfer format: its rows on the leaderboards, and whether submissions of 2017 run."""

from __future__ import annotations

from collections.abc import Collection

from django.http import HttpRequest

from competitions.board_freezes import frozen_since, sees_live
from competitions.models import Entry
from core.errors import Fault
from formats.transfer.tournaments.boards import rows_of_entry
from formats.transfer.tournaments.player_builds import has_legacy_environment
from pages.formats import Content, StandingContent, SubmissionInList, TeamContent
from submissions.models import Submission
from submissions.selectors import tried_by_track


def team_content(
    request: HttpRequest, entry: Entry, submissions: Collection[Submission], *, inside: bool
) -> TeamContent:
    """Return the standings of a team and the scores of those of `submissions` that count.

    While the leaderboards are frozen, only the team and the organisers see them, and only organisers the ranks.
    """
    frozen = not sees_live(request.user, entry.competition)
    rows = {} if frozen and not inside else rows_of_entry(entry)
    counting = {row.submission: row for row in rows.values()}
    tried = tried_by_track(entry)
    return TeamContent(
        which_counts="On each track the newest submission counts once it has met every opponent.",
        standings={
            track.pk: StandingContent(
                template="formats/transfer/parts/standing.html",
                context={"row": (row := rows.get(track.name)), "ranked": not frozen, "tried": tried.get(track.pk, 0)},
                submission=row.submission if row else None,
            )
            for track in entry.competition.tracks.all()
        },
        submissions={
            each.pk: SubmissionInList(
                Submission.State(each.state),
                Content(template="formats/transfer/parts/score_cell.html", context={"row": counting[each.pk]})
                if each.pk in counting
                else None,
            )
            for each in submissions
        },
        frozen=Content(
            template="formats/transfer/parts/team_frozen.html",
            context={"frozen_since": frozen_since(entry.competition)},
        )
        if frozen
        else None,
        submit_note=Content(template="formats/transfer/parts/submit_note.html", context={"runs_2017": _runs_2017()})
        if inside
        else None,
    )


def _runs_2017() -> bool:
    """Return whether the site runs submissions of 2017."""
    try:
        return has_legacy_environment()
    except Fault:  # a push reports it
        return False
