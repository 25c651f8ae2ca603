"""Confirmed actions on admin rows: show what would happen, ask for a reason, then call a service.

The confirmation page rehearses the action: it calls the service for each row, and undoes what that did. So it names the
rows that would change, and those that the service refuses, with its words. A row that changed between the page and the
confirmation is refused.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.forms import CharField, Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminTextareaWidget

from core import platform_error_report
from core.errors import Fault, Refusal
from core.roles import Right

log = logging.getLogger(__name__)

CHANGED_NOTHING = (
    "Nothing was changed, because your roles do not allow this. A role may have been taken away while the page was "
    "open. Ask an owner of the competition."
)

_REHEARSAL = "a rehearsal"
"""The reason of a rehearsal. It is undone, so nobody reads it."""

MAX_ROWS = 200
"""Maximum number of rows of one action: as many as a person can check."""


class ReasonForm(Form):
    """Reason for an action, saved in the event log. Actions with more fields subclass this form.

    Subclasses use widgets of `unfold.widgets`. Their fields are shown above the reason.
    """

    reason = CharField(max_length=1000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.order_fields([name for name in self.fields if name != "reason"])


@dataclass(frozen=True)
class AdminAction:
    """Definition of an action on the selected rows.

    `call(row, by, reason, **fields)` calls a service, which may raise `Refusal`. `fields` are the other cleaned values
    of `form`, the same for all rows. With `together`, one call handles all selected rows, completely or not at all:
    `call(rows, by, reason, **fields)`.
    """

    title: str
    """Title, e.g. "Retry"."""
    effect: str
    """Effect on each row, as a sentence."""
    done: str
    """Past participle for the success message, e.g. "retried"."""
    call: Callable[..., object]
    form: type[ReasonForm] = ReasonForm
    choices: Callable[[Sequence[Any]], Mapping[str, Sequence[tuple[str, str]]]] | None = None
    """The choices that the confirmation page offers for the selected rows, by field of `form`."""
    needs: Right = Right.RUN
    """What a person needs in the competition of the rows."""
    together: bool = False
    notes: Callable[[Any], Sequence[str]] = lambda row: ()
    """Notes about a row on the confirmation page, as sentences."""
    costs: Callable[[Sequence[Any]], str] | None = None
    """What the action costs for the rows that it changes, as a sentence."""
    rehearsed: bool = True
    """False if the service does more than the transaction can undo, such as an e-mail. With fields beside the reason,
    nothing is rehearsed, since their values come with the confirmation."""
    digest: Callable[[Any], str] | None = None
    """Digest of what the confirmation page shows about a row. `call` gets the digest that the person saw as `seen` (""
    if there is none) and raises `Refusal` if it has changed. Not for actions with `together`."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, for what an action costs: "1 build", "2,000 builds"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def confirmed_action(definition: AdminAction) -> Callable[..., HttpResponse | None]:
    """Return the action for a list (selected rows) and a detail page (its row), with a confirmation page."""

    def action(
        page: ModelAdmin[Any],
        request: HttpRequest,
        queryset: QuerySet[Any] | None = None,
        object_id: str | None = None,
    ) -> HttpResponse | None:
        _check_permission(page, request, definition.needs, object_id)
        rows = _selected(page, request, definition.needs, queryset, object_id)
        if not rows:
            return None
        if len(rows) > MAX_ROWS:
            messages.error(request, f"Select at most {MAX_ROWS} rows.")
            return None
        form = definition.form(request.POST if "confirmed" in request.POST else None)
        if not form.is_valid():
            return _confirmation_page(page, request, definition, _previews(definition, rows, request.user), form)
        _run(request, definition, rows, form.cleaned_data)
        if object_id is None:
            return None
        deleted = not page.model._default_manager.filter(pk=object_id).exists()
        return HttpResponseRedirect("../../" if deleted else "../change/")

    attributes = {"short_description": definition.title, "allowed_permissions": [definition.needs]}
    vars(action).update(attributes, attrs={}, variant=ActionVariant.DEFAULT)
    return action


def _check_permission(page: Any, request: HttpRequest, needs: Right, object_id: str | None) -> None:
    if not page.may(needs, request, object_id):
        raise PermissionDenied(CHANGED_NOTHING)


def _selected(
    page: Any, request: HttpRequest, needs: Right, queryset: QuerySet[Any] | None, object_id: str | None
) -> list[Any]:
    if queryset is not None:
        allowed = page.rows_with(needs, request, queryset)
        if (others := queryset.count() - allowed.count()) > 0:
            messages.error(request, f"Your role does not allow this in the competition of {others} of the rows.")
        queryset = allowed
        related = page.list_select_related if isinstance(page.list_select_related, list | tuple) else ()
        return list(queryset.select_related(*related)[: MAX_ROWS + 1])
    row = page.get_object(request, object_id or "")
    if row is None:
        raise Http404
    return [row]


def _confirmation_page(
    page: ModelAdmin[Any], request: HttpRequest, definition: AdminAction, previews: list[_Preview], form: Form
) -> HttpResponse:
    meta = page.model._meta
    rows = [each for each in previews if not each.refusal]
    for name, choices in (definition.choices([each.row for each in rows]) if definition.choices else {}).items():
        form.fields[name].choices = choices  # type: ignore[attr-defined]
    context = {
        **page.admin_site.each_context(request),
        "title": definition.title,
        "opts": meta,
        "definition": definition,
        "rows": rows,
        "refused": [each for each in previews if each.refusal],
        "costs": definition.costs([each.row for each in rows]) if definition.costs and rows else "",
        "model_name": meta.verbose_name if len(rows) == 1 else meta.verbose_name_plural,
        "form": form,
        "media": page.media + form.media,
        "action": request.POST.get("action", ""),
        "checkbox": ACTION_CHECKBOX_NAME,
        "back": request.get_full_path() if request.POST.get("action") else "../change/",
    }
    return TemplateResponse(request, "admin/confirm_action.html", context)


class _Preview(NamedTuple):
    """A row on the confirmation page. `refusal` says why nothing would happen to it, "" if something would."""

    row: Any
    state: str
    digest: str
    notes: Sequence[str]
    refusal: str


def _previews(definition: AdminAction, rows: list[Any], by: Any) -> list[_Preview]:
    refusals = {
        row.pk: refusal for batch in _batches(definition, rows) for row, refusal in _rehearse(definition, batch, by)
    }
    previews = []
    for row in rows:
        # the digest first: after a change in between the notes are newer than the digest, and the call is rejected
        digest = definition.digest(row) if definition.digest else ""
        previews.append(_Preview(row, _state_of(row), digest, definition.notes(row), refusals[row.pk]))
    return previews


def _batches(definition: AdminAction, rows: list[Any]) -> list[list[Any]]:
    return [rows] if definition.together else [[row] for row in rows]


def _rehearse(definition: AdminAction, batch: list[Any], by: Any) -> list[tuple[Any, str]]:
    """Return the rows of a batch with the refusal of the service, "" if it would act."""
    refusal = ""
    if definition.rehearsed and definition.form is ReasonForm:
        fields = {"seen": definition.digest(batch[0])} if definition.digest else {}
        rows = deepcopy(batch)  # a service changes the rows that it gets
        try:
            with transaction.atomic():
                definition.call(rows if definition.together else rows[0], by, _REHEARSAL, **fields)
                transaction.set_rollback(True)
        except Refusal as error:
            refusal = _in_words(error)
        except Fault as fault:
            refusal = f"platform error: {fault}"
    return [(row, refusal) for row in batch]


def _state_of(row: Any) -> str:
    """Return a digest of the columns of a row."""
    values = [(field.attname, field.value_from_object(row)) for field in row._meta.concrete_fields]
    return hashlib.sha256(repr(values).encode()).hexdigest()


def _in_words(refusal: Refusal) -> str:
    return f"{refusal.problem} (fix: {refusal.fix})" if refusal.fix else refusal.problem


def _require_unchanged(request: HttpRequest, batch: list[Any]) -> None:
    """Raise `Refusal` if a row has other columns than on the confirmation page, which sends what it showed."""
    for row in batch:
        if request.POST.get(f"state-{row.pk}", _state_of(row)) != _state_of(row):
            raise Refusal(f"{row} has changed since you looked at it, so nothing was done", fix="look at it again")


def _run(request: HttpRequest, definition: AdminAction, rows: list[Any], values: dict[str, Any]) -> None:
    done = 0
    reason = values["reason"]
    fields = {name: value for name, value in values.items() if name != "reason"}
    for batch in _batches(definition, rows):
        label = definition.title if definition.together else batch[0]
        try:
            _require_unchanged(request, batch)
            if definition.digest:
                fields["seen"] = request.POST.get(f"seen-{batch[0].pk}", "")
            definition.call(batch if definition.together else batch[0], request.user, reason, **fields)
        except Refusal as refusal:
            messages.error(request, f"{label}: {_in_words(refusal)}")
        except Fault as fault:
            platform_error_report.report(log, fault, "%s failed at %s", definition.title, label)
            messages.error(request, f"{label}: platform error: {fault}")
        else:
            done += len(batch)
    if done:
        messages.success(request, f"{done} of {len(rows)} {definition.done}.")
