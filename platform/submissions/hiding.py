"""Hiding submissions whose texts or images must not be public, and showing them again.

Hiding sets the title aside: the column `title`, which every page, feed, file and answer reads, holds a neutral label
until the submission is shown again. So no reader needs a condition for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from django.db import transaction
from django.db.models import F, Q

from accounts.models import User
from competitions.models import Competition
from competitions.permissions import require
from core import clock, event_log
from core.errors import Refusal
from core.roles import Right
from repositories.public_copies import drop_copies
from submissions.models import HIDDEN_TITLE, Player, Submission


def hide(*, submission: Submission, by: User, reason: str) -> None:
    """Hide the title, the page and the code of a submission from everybody but its team. Organisers only.

    Its scores stay. Also in an archived competition: what must not be public does not stay so.
    """
    require(by, submission.repository.entry.competition, Right.JUDGE, archived=True)
    if not reason.strip():
        raise Refusal("hiding a submission needs a reason; the team sees it", fix="enter a reason")
    hidden = {
        "hidden_at": clock.database_now(), "hidden_for": reason.strip(), "given_title": F("title"),
        "title": HIDDEN_TITLE,
    }  # fmt: skip
    with transaction.atomic():
        _change(submission, Q(hidden_at=None), hidden, f"submission {submission.pk} is already hidden")
        event_log.record("hide", submission, by=by, reason=reason)
        transaction.on_commit(partial(drop_copies, submission.repository, but={}))
    submission.refresh_from_db()


def show_again(*, submission: Submission, by: User, reason: str) -> None:
    """Show a hidden submission as before. Organisers only."""
    require(by, submission.repository.entry.competition, Right.JUDGE, archived=True)
    shown = {"hidden_at": None, "hidden_for": "", "title": F("given_title"), "given_title": ""}
    with transaction.atomic():
        _change(submission, Q(hidden_at__isnull=False), shown, f"submission {submission.pk} is not hidden")
        event_log.record("show_again", submission, by=by, reason=reason)
    submission.refresh_from_db()


def label_player(player: int) -> None:
    """Give a player the neutral label while one of its submissions is hidden, otherwise its own title.

    In a transaction that holds the lock of the competition: other submissions with equal content share the player.
    Baselines keep their titles, also where a team submitted a copy.
    """
    players = Player.objects.filter(pk=player, baseline="")
    if Submission.objects.filter(player=player, hidden_at__isnull=False).exists():
        players.filter(given_title="").update(given_title=F("title"), title=HIDDEN_TITLE)
    else:
        players.exclude(given_title="").update(title=F("given_title"), given_title="")


def _change(submission: Submission, before: Q, changes: Mapping[str, object], problem: str) -> None:
    """Change a submission that is as it was `before`, and the label of its player; refuse with `problem` otherwise."""
    # also held where a build makes the submission a player, whose label follows
    Competition.objects.select_for_update(no_key=True).get(pk=submission.repository.track.competition_id)
    if not Submission.objects.filter(before, pk=submission.pk).update(**changes):
        raise Refusal(problem, fix="no action needed")
    player = Submission.objects.values_list("player", flat=True).get(pk=submission.pk)
    if player is not None:
        label_player(player)
