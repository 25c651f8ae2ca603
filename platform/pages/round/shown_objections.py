"""Objections to the result of a round, as its page shows them, and who finds the way to make one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from accounts.models import User
from pages.access import own_teams
from pages.formats import page_formats
from rounds.models import Objection, Round
from rounds.objections.period import ResultState, result_state
from rounds.objections.selectors import ShownObjection, objecting_team, shown_objections


@dataclass(frozen=True)
class ListedObjection:
    """An objection, the address of what it concerns, "" for none, and whether the reader may withdraw it."""

    shown: ShownObjection
    address: str
    may_withdraw: bool


@dataclass(frozen=True)
class RoundObjections:
    """The state of the result, the objections that the reader sees, and where the reader may make one; "" for nobody.

    `upheld` is the number of objections that the organisers upheld.
    """

    state: ResultState
    listed: Sequence[ListedObjection]
    address: str

    @property
    def upheld(self) -> int:
        return sum(each.shown.row.state == Objection.State.UPHELD for each in self.listed)


def round_objections(request: HttpRequest, shown: Round) -> RoundObjections | None:
    """Return the objections to a published round, None where it has no period for them."""
    state = result_state(shown)
    if state is None:
        return None
    own = {team.pk for team in own_teams(request)}
    listed = [
        ListedObjection(
            each,
            _address(shown, each),
            each.row.state == Objection.State.OPEN and each.row.team_id in own,
        )
        for each in shown_objections(shown, request.user)
    ]
    return RoundObjections(state, listed, objection_address(request, shown))


def _address(shown: Round, objection: ShownObjection) -> str:
    if objection.match:
        return page_formats.of(shown.competition).match_address(shown, objection.match)
    entry = objection.row.entry
    return reverse("pages:submission", args=[entry.submission_id]) if entry else ""


def objection_address(request: HttpRequest, shown: Round, match: str = "") -> str:
    """Return where the reader may object to the result of a round, or to a match of it; "" where they may not."""
    if not isinstance(request.user, User):
        return ""
    state = result_state(shown)
    if state is None or state.over or objecting_team(request.user, shown) is None:
        return ""
    address = reverse("pages:objection_new", args=[shown.competition.slug, shown.number])
    return f"{address}?{urlencode({'match': match})}" if match else address
