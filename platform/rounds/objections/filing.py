"""What teams do: object to the result of a round, and withdraw an objection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from accounts.models import Team
from accounts.selectors import is_member
from core import clock, event_log
from core.errors import Refusal
from core.time_format import in_words
from rounds.models import Objection, Round, RoundEntry
from rounds.objections.closing import close
from rounds.objections.period import period_end
from rounds.objections.selectors import match_seen, objecting_team
from rounds.running.transitions import locked

if TYPE_CHECKING:
    from accounts.models import User

MOST_TEXT = 5_000
"""Characters of an objection."""

MOST_UNANSWERED = 20
"""Objections of a team to one round without an answer. Withdrawn ones count: nobody files and withdraws without end."""

ASK = "write to the organisers"


def file_objection(*, round_: Round, by: User, text: str, entry: int | None = None, match: str = "") -> Objection:
    """Object to an entry of a published round (its key), to a match (as its format names it), or to the whole result.

    Raise `Refusal` where `by` is in no team of the round, outside of the period for objections, for what is not in the
    round or not visible to `by`, for a text that is empty or too long, and while an objection of the team to the same
    is open.
    """
    team = objecting_team(by, round_)
    if team is None:
        raise Refusal(
            f"only members of a team that took part in {round_.title} can object to its result",
            fix="ask a member of such a team",
        )
    text = _checked_text(text)
    with transaction.atomic():
        current = locked(round_)
        require_period(current)
        _check_subject(current, by, entry, match)
        _check_open(current, team, entry, match)
        made = Objection.objects.create(
            round=current,
            team=team,
            entry_id=entry,
            match=match,
            outcome=current.outcome,
            text=text,
            made_at=clock.database_now(),
            made_by=by,
        )
        event_log.record("file", made, by=by, round=current.pk, team=team.slug, entry=entry, match=match)
    return made


def withdraw_objection(*, objection: Objection, by: User) -> None:
    """Withdraw an open objection, as a member of its team. Raise `Refusal`."""
    if not is_member(by, objection.team):
        raise Refusal(f"only members of {objection.team.name} can withdraw its objection", fix="ask one of them")
    with transaction.atomic():
        close(objection, Objection.State.WITHDRAWN, by)
        event_log.record("withdraw", objection, by=by, round=objection.round_id)


def require_period(current: Round) -> None:
    """Raise `Refusal` where nobody can object to the result of a round now."""
    if current.state != Round.State.PUBLISHED:
        raise Refusal(f"{current.title} has no published result", fix="wait for its publication")
    until = period_end(current)
    if until is None:
        raise Refusal(f"the result of {current.title} has no period for objections", fix=ASK)
    if clock.database_now() >= until:
        raise Refusal(f"objections to {current.title} were accepted until {in_words(until)}", fix=ASK)


def _checked_text(text: str) -> str:
    text = text.replace("\r\n", "\n").strip()
    if not text or "\0" in text:
        raise Refusal("an objection needs a text", fix="say what is wrong, and how you know")
    if len(text) > MOST_TEXT:
        raise Refusal(
            f"the text has {len(text):,} characters, and an objection has at most {MOST_TEXT:,}",
            fix="shorten it, and name the address of what is longer",
        )
    return text


def _check_subject(current: Round, by: User, entry: int | None, match: str) -> None:
    if entry is not None and match:
        raise Refusal("an objection concerns an entry or a match, not both", fix="make two of it")
    if entry is not None and not RoundEntry.objects.filter(round=current, pk=entry).exists():
        raise Refusal(f"{current.title} has no such entry", fix="choose one of its entries")
    if match and match_seen(current, match, by) is None:
        raise Refusal(f"{current.title} has no such match", fix="begin at the page of the match")


def _check_open(current: Round, team: Team, entry: int | None, match: str) -> None:
    waiting = Objection.objects.filter(round=current, team=team, state=Objection.State.OPEN)
    if same := waiting.filter(entry=entry, match=match).first():
        raise Refusal(
            f"objection {same.pk} of {team.name} to the same is open", fix="wait for its answer, or withdraw it first"
        )
    unanswered = Objection.objects.filter(round=current, team=team).exclude(state__in=Objection.ANSWERED)
    if unanswered.count() >= MOST_UNANSWERED:
        raise Refusal(
            f"{team.name} has made {MOST_UNANSWERED} objections to {current.title} that wait or were withdrawn",
            fix="wait for an answer",
        )
