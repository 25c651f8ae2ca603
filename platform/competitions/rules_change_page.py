"""The page of the admin on which an organiser changes the rules: a form, a preview with a reason, and the change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from competitions.formats import competition_formats
from competitions.models import Competition
from competitions.rules_changes import change_rules, require_version
from competitions.rules_form import RulesForm
from core.administration.confirmed_actions import ReasonForm
from core.errors import Refusal

if TYPE_CHECKING:
    from accounts.models import User


class RulesReasonForm(ReasonForm):
    """Why the rules change."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].help_text = "Everyone reads it on the page of the rules. Markdown."


def change_rules_page(
    request: HttpRequest, by: User, competition: Competition, context: dict[str, Any]
) -> HttpResponse:
    """Answer with the form, with the preview of what is entered, or with the change of a confirmed one."""
    newest = competition.rules_versions.order_by("-version").first()
    if newest is None:
        raise Http404
    form = RulesForm(newest, request.POST if request.method == "POST" else None)
    reason = RulesReasonForm(request.POST if "confirmed" in request.POST else None)
    context |= {"title": f"Change the rules of {competition}", "rules": newest, "form": form, "reason": reason}
    try:
        if request.method == "POST" and not form.is_valid():
            require_version(newest, form.cleaned_data.get("seen") or 0)
        elif request.method == "POST":
            require_version(newest, form.cleaned_data["seen"])
            if not (changes := form.changes()):
                form.add_error(None, f"These are the rules of version {newest.version}. Change at least one value.")
            elif "confirmed" in request.POST and reason.is_valid():
                made = change_rules(
                    competition=competition,
                    values=form.values,
                    seen=form.cleaned_data["seen"],
                    by=by,
                    reason=reason.cleaned_data["reason"],
                )
                messages.success(request, f"Version {made.version} of the rules is in force.")
                return redirect("admin:competitions_competition_change", competition.pk)
            elif "edit" not in request.POST:
                context |= {"changes": changes, "work": competition_formats.of(competition).repeated_work(competition)}
    except Refusal as refusal:
        messages.error(request, f"{refusal.problem} (fix: {refusal.fix})")
        return redirect(request.path)
    return TemplateResponse(request, "admin/competitions/change_rules.html", context)
