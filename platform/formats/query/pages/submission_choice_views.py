"""Let a team choose which of its submissions counts."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from accounts.selectors import signed_in_user
from core.errors import Refusal
from formats.query.leaderboards import choose_submission
from pages import flash_messages
from pages.access import own_entry_of, sign_in_required
from pages.submission.views import change
from repositories.models import Repository


@require_POST
@sign_in_required
def choose(request: HttpRequest, number: int) -> HttpResponse:
    """Make a submission count for its team."""
    done = f"Submission {number} counts now."
    return change(request, number, lambda shown, by: choose_submission.choose(submission=shown, by=by), done)


@require_POST
@sign_in_required
def choose_newest(request: HttpRequest, slug: str, track_name: str) -> HttpResponse:
    """Let the newest submission of a team count again."""
    entry = own_entry_of(request, slug)
    repository = get_object_or_404(Repository, entry=entry, track__name=track_name)
    try:
        choose_submission.choose_newest(repository=repository, by=signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        flash_messages.show_success(request, "The newest submission counts now.")
    return redirect("pages:team", slug)
