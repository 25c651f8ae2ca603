"""Actions of organisers on rounds, each behind a confirmation page that describes the effect and asks for a reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from core.administration.confirmed_actions import AdminAction
from core.errors import Refusal, refuse_all
from core.roles import Right
from rounds.formats import format_of
from rounds.forms import PartsForm, PublishForm
from rounds.models import Release, Round
from rounds.objections.closing import answer
from rounds.objections.selectors import objection_title
from rounds.planning.freeze import freeze
from rounds.publishing.licence_review import confirm_licence, refuse_licence
from rounds.publishing.preview import pool_sentences, preview_digest, warnings
from rounds.publishing.publication import publish
from rounds.release import released_parts as releasing
from rounds.running import lifecycle

State = Round.State


FREEZE = AdminAction(
    "Freeze",
    "For each team and track, the submission that counted when the window began is frozen for the round, "
    "with the current rules. The site also does this automatically when the window begins.",
    "frozen",
    lambda row, by, reason: freeze(round_=row, by=by, reason=reason),
)
START = AdminAction(
    "Start",
    "The round starts to play on free workers, until it is scored. You can pause it.",
    "started",
    lambda row, by, reason: lifecycle.start(round_=row, by=by, reason=reason),
)
PAUSE = AdminAction(
    "Pause",
    "Nothing new starts; what is running finishes and is kept. You can resume the round.",
    "paused",
    lambda row, by, reason: lifecycle.pause(round_=row, by=by, reason=reason),
)
RESUME = AdminAction(
    "Resume",
    "The round continues where it was.",
    "resumed",
    lambda row, by, reason: lifecycle.resume(round_=row, by=by, reason=reason),
)
CANCEL = AdminAction(
    "Cancel",
    "The round ends permanently, without a result. What was played is kept but does not count, and samples that were "
    "played are never used again. Its freeze window is cancelled, or ends now.",
    "cancelled",
    lambda row, by, reason: lifecycle.cancel(round_=row, by=by, reason=reason),
)


def _before_publishing(row: Round) -> list[str]:
    round_format = format_of(row)
    if row.state != State.SCORED:
        return [round_format.publication_effect]
    views = round_format.preview(row)
    return [round_format.publication_effect, *pool_sentences(views), *warnings(views)]


def _preview_digest(row: Round) -> str:
    return preview_digest(row, format_of(row).preview(row)) if row.state == State.SCORED else ""


PUBLISH = AdminAction(
    "Publish",
    "The result becomes public as the preview shows it, and does not change afterwards. If the competition is so "
    "configured, a new validation set is drawn from further images of its split. If the list below changes before you "
    "confirm, nothing is published.",
    "published",
    lambda row, by, reason, seen, ends_window: publish(
        round_=row, by=by, reason=reason, previewed=seen, ends_window=ends_window
    ),
    form=PublishForm,
    notes=_before_publishing,
    rehearsed=False,  # it draws a validation set, and has a preview of its own
    digest=_preview_digest,
)


Choices = Mapping[str, Sequence[tuple[str, str]]]


def _parts_to_release(rows: Sequence[Round]) -> Choices:
    possible = {part for row in rows for part, refused in releasing.refused_parts(row).items() if not refused}
    return _choices(possible)


def _public_parts(rows: Sequence[Round]) -> Choices:
    return _choices({part for row in rows for part in releasing.released(row)})


def _choices(parts: Collection[str]) -> Choices:
    return {"part": [(part.value, part.label) for part in Release.Part if part in parts]}


def _not_now(row: Round) -> list[str]:
    """Return why parts of a round are not offered, in sentences."""
    return [f"{part.label.capitalize()}: {why}." for part, why in releasing.refused_parts(row).items() if why]


def _of_each(act: Callable[[str], object], parts: Sequence[str]) -> None:
    """Do an act with each part; raise `Refusal` with what was refused once all are tried."""
    refused = []
    for part in parts:
        try:
            act(part)
        except Refusal as refusal:
            refused.append(refusal)
    if refused:
        refuse_all(refused)


RELEASE = AdminAction(
    "Release",
    "The parts become public on the round's page. You can withdraw them, but existing copies remain.",
    "released in part",
    lambda row, by, reason, part: _of_each(
        lambda each: releasing.release(round_=row, part=each, by=by, reason=reason), part
    ),
    form=PartsForm,
    choices=_parts_to_release,
    notes=_not_now,
)


WITHDRAW = AdminAction(
    "Withdraw",
    f"The parts are no longer served. {releasing.COPIES_REMAIN}",
    "withdrawn in part",
    lambda row, by, reason, part: _of_each(
        lambda each: releasing.withdraw_part(round_=row, part=each, by=by, reason=reason), part
    ),
    form=PartsForm,
    choices=_public_parts,
)
CONFIRM_LICENCE = AdminAction(
    "Confirm licence",
    "Each entry may win prizes: you confirm that its licence is open source.",
    "confirmed",
    lambda rows, by, reason: confirm_licence(entries=rows, by=by, reason=reason),
    needs=Right.JUDGE,
    together=True,
)
REFUSE_LICENCE = AdminAction(
    "Refuse licence",
    "Each entry is ranked but cannot win a prize, because of its licence. The reason is public.",
    "refused prizes",
    lambda rows, by, reason: refuse_licence(entries=rows, by=by, reason=reason),
    needs=Right.JUDGE,
    together=True,
)
UPHOLD = AdminAction(
    "Uphold",
    "The organisers agree with the objection. The reason is the answer, public and permanent. The result does not "
    "change by it: write what follows, such as a rejudging, a disqualification or a new round.",
    "upheld",
    lambda row, by, reason: answer(objection=row, upheld=True, by=by, reason=reason),
    needs=Right.JUDGE,
    notes=lambda row: [f"To {objection_title(row)}:", row.text],
)
REJECT = AdminAction(
    "Reject",
    "The organisers do not agree with the objection. The reason is the answer, public and permanent.",
    "rejected",
    lambda row, by, reason: answer(objection=row, upheld=False, by=by, reason=reason),
    needs=Right.JUDGE,
    notes=lambda row: [f"To {objection_title(row)}:", row.text],
)
