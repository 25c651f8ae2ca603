"""What pages show of challenges: the list on the page of a submission, and the form of its members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

from core.errors import Refusal
from formats.query.challenges.models import Challenge
from formats.query.challenges.opponents import ChallengeOpponent, opponents_of
from formats.query.challenges.selectors import challenges_by
from formats.query.challenges.services import challenges_left, check_left, check_open, check_ready
from formats.query.tracks import TRACKS
from pages.access import in_team
from pages.formats import Content
from pages.player_names import PlayerName
from submissions.models import Submission


@dataclass(frozen=True)
class ChallengeForm:
    """Whom a member may challenge, by track, how many challenges are left of `limit`, or why none is accepted now."""

    opponents: Sequence[tuple[str, Sequence[ChallengeOpponent]]]
    left: int
    limit: int
    closed: Refusal | None


@dataclass(frozen=True)
class ListedChallenge:
    """A challenge, and the name of its opponent."""

    row: Challenge
    opponent: PlayerName


def challenges_of(request: HttpRequest, shown: Submission) -> Content | None:
    """Return the challenges of a submission, for its team and the organisers; None where there is nothing to show.

    Whom it may challenge is on the page of the form: most views of this page do not need it.
    """
    listed = [ListedChallenge(row, opponent_name(row)) for row in challenges_by(shown)]
    can_challenge = shown.state == Submission.State.READY and in_team(request, shown.repository.entry)
    if not can_challenge and not listed:
        return None
    context = {"can_challenge": can_challenge, "challenges": listed}
    return Content(template="formats/query/parts/challenges.html", context=context)


def challenge_form(shown: Submission) -> ChallengeForm:
    """Return whom members of its team may challenge with a submission, or why they may not."""
    entry = shown.repository.entry
    possible = opponents_of(shown)
    by_track = [(track, [each for each in possible if each.track_name == track.name]) for track in TRACKS]
    opponents = [(track.title.capitalize(), each) for track, each in by_track if each]
    left = challenges_left(entry)
    return ChallengeForm(opponents, left, settings.TEAM_CHALLENGES, _closed(shown, left))


def opponent_name(row: Challenge) -> PlayerName:
    """Return the name of the opponent, with its submission if it is one."""
    if row.opponent is None:
        return PlayerName(row.baseline)
    return PlayerName(row.opponent.title, row.opponent.repository.entry.team.name, row.opponent.pk)


def _closed(shown: Submission, left: int) -> Refusal | None:
    """Return why no challenge is accepted now, None if one is."""
    try:
        check_open(shown.repository.entry.competition)
        check_ready(shown)
        if not left:
            check_left(shown.repository.entry)
    except Refusal as refusal:
        return refusal
    return None
