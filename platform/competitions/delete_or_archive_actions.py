"""Actions of owners that delete or archive a competition, and take it back from the archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.forms import CharField
from unfold.widgets import UnfoldAdminTextInputWidget

from competitions.delete_or_archive import end_competition, end_of, kept_records, unarchive
from competitions.models import Competition
from core.administration.confirmed_actions import AdminAction, ReasonForm, counted
from core.roles import Right


class ShortNameForm(ReasonForm):
    """The competition's slug, typed by the person, and a reason."""

    slug = CharField(
        max_length=60,
        label="Short name",
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="To confirm, type the short name of the competition, as its addresses have it.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].help_text = "For the log of events."


def _what_happens(row: Competition) -> Sequence[str]:
    """Return what ending the competition does, and its short name."""
    kept = [counted(each.number, each.noun) for each in kept_records(row)]
    if kept:
        return [f"It is archived, because it has {', '.join(kept)}. Its short name: {row.slug}"]
    teams = f", with {counted(entered, 'team')}" if (entered := row.entries.count()) else ""
    return [f"It is deleted for good{teams}, because nobody pushed anything. Its short name: {row.slug}"]


END = AdminAction(
    "Delete or archive",
    "A competition to which nobody has submitted or pushed anything, and whose rounds were never frozen, is deleted "
    "with its settings, pages and roles. Any other one is archived: its pages and leaderboards stay readable, lists "
    "leave it out, pushes are rejected, and no round or evaluation begins. What workers hold is finished. An owner can "
    "take it back from the archive.",
    "deleted or archived",
    lambda row, by, reason, slug, seen: end_competition(competition=row, slug=slug, seen=seen, by=by, reason=reason),
    form=ShortNameForm,
    needs=Right.ARCHIVE,
    notes=_what_happens,
    digest=end_of,
)
UNARCHIVE = AdminAction(
    "Unarchive",
    "The competition is in the lists again, accepts pushes within its dates, and what waits in it is played.",
    "taken back from the archive",
    lambda row, by, reason: unarchive(competition=row, by=by, reason=reason),
    needs=Right.ARCHIVE,
)
