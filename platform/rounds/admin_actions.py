"""What organisers do with rounds in the admin, each behind a page that says what it will do and asks why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.administration.actions import AdminAction
from core.errors import Refusal
from rounds import release as releasing
from rounds import services
from rounds.forms import PartForm
from rounds.models import Release, Round
from rounds.preview import pools_in_words, preview, preview_digest, unfit

if TYPE_CHECKING:
    from accounts.models import User

State = Round.State

OF_STATE: Mapping[str, tuple[str, ...]] = {
    State.PLANNED: ("freeze", "cancel"),
    State.FROZEN: ("start", "cancel"),
    State.PLAYING: ("pause", "cancel"),
    State.PAUSED: ("resume", "cancel"),
    State.SCORED: ("apply", "cancel"),
    State.PUBLISHED: ("release", "withdraw"),
    State.CANCELLED: (),
}
"""What the page of a round offers. The list offers everything, and the services say what cannot be."""

FREEZE = AdminAction(
    "Freeze",
    "Of each team and track the newest submission that was ready when the window began is frozen for the round, with "
    "the rules in force. The site does this by itself when the window begins.",
    "frozen",
    lambda row, by, reason: services.freeze(round_=row, by=by, reason=reason),
)
START = AdminAction(
    "Start",
    "The round begins to play as workers are free, until it is scored. It can be paused.",
    "started",
    lambda row, by, reason: services.start(round_=row, by=by, reason=reason),
)
PAUSE = AdminAction(
    "Pause",
    "Nobody takes up more pieces of the round; those in hand are finished and kept. It can be resumed.",
    "paused",
    lambda row, by, reason: services.pause(round_=row, by=by, reason=reason),
)
RESUME = AdminAction(
    "Resume",
    "The round plays on where it was.",
    "resumed",
    lambda row, by, reason: services.resume(round_=row, by=by, reason=reason),
)
CANCEL = AdminAction(
    "Cancel",
    "The round ends for good, without a result. What was played of it is kept and counts for nothing, and samples of "
    "which anything was played are never used again. Its freeze window is called off, or ends now.",
    "cancelled",
    lambda row, by, reason: services.cancel(round_=row, by=by, reason=reason),
)


def _before_apply(row: Round) -> list[str]:
    views = preview(row) if row.state == State.SCORED else []
    return [*pools_in_words(views), *unfit(views)]


def _previewed(row: Round) -> str:
    return preview_digest(row, preview(row)) if row.state == State.SCORED else ""


APPLY = AdminAction(
    "Apply",
    "The result becomes public as the preview shows it and never changes any more; the best of each track become its "
    "pool, and everybody is measured anew against the new pools. Where the competition says so, a new validation set "
    "is drawn from further images of its split. Should what is listed here change before you confirm, nothing is "
    "applied.",
    "applied",
    lambda row, by, reason, seen: services.publish(round_=row, by=by, reason=reason, previewed=seen),
    notes=_before_apply,
    digest=_previewed,
)
RELEASE = AdminAction(
    "Release",
    "The part becomes public on the round's page at once. It can be withdrawn, but copies that were made remain.",
    "released in part",
    lambda row, by, reason, part: releasing.release(round_=row, part=part, by=by, reason=reason),
    form=PartForm,
)


def _withdraw(row: Round, by: User, reason: str, part: str) -> None:
    there = releasing.released(row).get(part)
    if there is None:
        raise Refusal(f"the {Release.Part(part).label} is not released", fix="there is nothing to withdraw")
    releasing.withdraw(release=there, by=by, reason=reason)


WITHDRAW = AdminAction(
    "Withdraw",
    f"The part is served no more. {releasing.COPIES_REMAIN}",
    "withdrawn in part",
    _withdraw,
    form=PartForm,
)
KEEP = AdminAction(
    "Keep",
    "The model plays on although its audits did not pass. If it was eliminated already, the stages from there on are "
    "decided again, and what is missing is played. Everybody reads the reason once the round is published.",
    "kept",
    lambda row, by, reason: services.keep(entry=row, by=by, reason=reason),
)
CONFIRM_LICENCE = AdminAction(
    "Confirm licence",
    "Each entry may win prizes: you have seen that its licence is open source.",
    "confirmed",
    lambda rows, by, reason: services.confirm_licence(entries=rows, by=by, reason=reason),
    together=True,
)
REFUSE_LICENCE = AdminAction(
    "Refuse licence",
    "Each entry is ranked and wins no prize, because of its licence. Everybody reads the reason.",
    "refused prizes",
    lambda rows, by, reason: services.refuse_licence(entries=rows, by=by, reason=reason),
    together=True,
)
