"""Acts on rows in the admin: each first says what it will do, asks for a reason, and then calls a service."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import CharField, Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminTextareaWidget

from core import faults
from core.errors import Fault, Refusal

log = logging.getLogger(__name__)

MOST_ROWS = 200
"""How many rows an act takes at once: as many as a person can look over."""


class ReasonForm(Form):
    """Why it is done. Kept in the event log. An act that must know more has a form of its own, derived from this one.

    Such a form's widgets are those of `unfold.widgets`. Its fields stand above the reason.
    """

    reason = CharField(max_length=1000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.order_fields([name for name in self.fields if name != "reason"])


@dataclass(frozen=True)
class AdminAction:
    """What is done to each chosen row.

    `call(row, by, reason, **fields)` leads to a service, which may raise `Refusal`. `fields` are the cleaned values of
    what `form` asks beyond the reason, the same for all rows. An act that is `together` is one for all chosen rows:
    `call(rows, by, reason, **fields)`, done as a whole or not at all.
    """

    title: str
    """What the person chooses, e.g. "Retry"."""
    effect: str
    """What will happen to each row, in a sentence."""
    done: str
    """What has happened to the rows, e.g. "retried"."""
    call: Callable[..., object]
    form: type[ReasonForm] = ReasonForm
    together: bool = False
    notes: Callable[[Any], Sequence[str]] = lambda row: ()
    """What must be known of a row before it is done, in sentences."""
    digest: Callable[[Any], str] | None = None
    """A digest of what the page that asks promises of a row. `call` gets the one that the person saw as `seen`, empty
    where there is none, and refuses where it differs by then. Not for an act that is `together`."""


def confirmed_action(act: AdminAction) -> Callable[..., HttpResponse | None]:
    """The act as an action of a list (on the chosen rows) and of a page (on its row), behind a page that asks."""

    def action(
        page: ModelAdmin[Any],
        request: HttpRequest,
        queryset: QuerySet[Any] | None = None,
        object_id: str | None = None,
    ) -> HttpResponse | None:
        _check_permission(page, request)
        rows = _chosen(page, request, queryset, object_id)
        if len(rows) > MOST_ROWS:
            messages.error(request, f"Choose at most {MOST_ROWS} rows at once.")
            return None
        form = act.form(request.POST if "confirmed" in request.POST else None)
        if not form.is_valid():
            return _ask(page, request, act, rows, form)
        _do(request, act, rows, form.cleaned_data)
        return HttpResponseRedirect("../change/") if object_id else None

    described = {"short_description": act.title, "allowed_permissions": ["action"]}
    vars(action).update(described, attrs={}, variant=ActionVariant.DEFAULT)
    return action


def _check_permission(page: Any, request: HttpRequest) -> None:
    if not page.has_action_permission(request):
        raise PermissionDenied


def _chosen(
    page: ModelAdmin[Any], request: HttpRequest, queryset: QuerySet[Any] | None, object_id: str | None
) -> list[Any]:
    if queryset is not None:
        related = page.list_select_related if isinstance(page.list_select_related, list | tuple) else ()
        return list(queryset.select_related(*related)[: MOST_ROWS + 1])
    row = page.get_object(request, object_id or "")
    if row is None:
        raise Http404
    return [row]


def _ask(page: ModelAdmin[Any], request: HttpRequest, act: AdminAction, rows: list[Any], form: Form) -> HttpResponse:
    meta = page.model._meta
    context = {
        **page.admin_site.each_context(request),
        "title": act.title,
        "opts": meta,
        "act": act,
        "rows": [_asked(act, row) for row in rows],
        "kind": meta.verbose_name if len(rows) == 1 else meta.verbose_name_plural,
        "form": form,
        "media": page.media + form.media,
        "action": request.POST.get("action", ""),
        "checkbox": ACTION_CHECKBOX_NAME,
        "back": request.get_full_path() if request.POST.get("action") else "../change/",
    }
    return TemplateResponse(request, "admin/confirm_act.html", context)


def _asked(act: AdminAction, row: Any) -> tuple[Any, str, Sequence[str]]:
    # the digest first: should something change in between, the notes are newer, and what they say is refused
    digest = act.digest(row) if act.digest else ""
    return row, digest, act.notes(row)


def _do(request: HttpRequest, act: AdminAction, rows: list[Any], given: dict[str, Any]) -> None:
    done = 0
    reason = given["reason"]
    fields = {name: value for name, value in given.items() if name != "reason"}
    for chosen in [rows] if act.together else [[row] for row in rows]:
        named = act.title if act.together else chosen[0]
        try:
            if act.digest:
                fields["seen"] = request.POST.get(f"seen-{chosen[0].pk}", "")
            act.call(chosen if act.together else chosen[0], request.user, reason, **fields)
        except Refusal as refusal:
            messages.error(request, f"{named}: {refusal.problem}" + (f" (fix: {refusal.fix})" if refusal.fix else ""))
        except Fault as fault:
            faults.report(log, fault, "%s failed at %s", act.title, named)
            messages.error(request, f"{named}: our side failed: {fault}")
        else:
            done += len(chosen)
    if done:
        messages.success(request, f"{done} of {len(rows)} {act.done}.")
