"""Pages of a submission: state, score and build log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.html import format_html
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.selectors import member_keys, signed_in_user
from competitions.board_freezes import sees_scores_of
from competitions.permissions import may, sees_everything_of
from competitions.pseudonyms import public_name
from core import clock
from core.errors import Refusal
from core.picture_answers import picture_answer
from core.roles import Right
from pages import flash_messages, polling
from pages.access import in_team, sign_in_required, submission_of
from pages.formats import SubmissionContent, page_formats
from pages.round.visible_entries import entries_shown
from pages.submission.smoke_test_pictures import shown_pictures
from submissions import services, smoke_test_pictures
from submissions.build_order import place_of
from submissions.models import Build, Submission
from submissions.removed_images import has_to_be_pushed_again
from submissions.selectors import LOG_PAGE, faults_of, log_lines, whole_log

STATE_EVERY = 1
PLAYING_EVERY = 10
"""Seconds between polls of a submission that is being built, and of one whose matches are running."""


@require_safe
def submission(request: HttpRequest, number: int) -> HttpResponse:
    """Show score and opponents to everyone, and log and details to the team and the organisers."""
    shown = submission_of(request, number)
    entry = shown.repository.entry
    inside = sees_everything_of(request.user, entry)
    builds = list(shown.builds.all())
    scores = sees_scores_of(request.user, entry, inside=inside)
    content = page_formats.of(entry.competition).submission(request, shown, builds, inside=scores)
    context: dict[str, Any] = {
        "submission": shown,
        "team": entry.team,
        "track": shown.repository.track,
        "competition": entry.competition,
        "ended": entry.competition.ends_at <= clock.now(),
        "inside": inside,
        "state": content.state,
        "steps": content.steps,
        "build_place": place_of(shown) if shown.state == Submission.State.RECEIVED else None,
        "image_removed": inside and has_to_be_pushed_again(shown),
        "build": _build(request, builds) if inside else None,
        "builds": builds,
        "aside": content.aside,
        "below": content.below,
        "why": content.why,
        **content.context,
    }
    if shown.cause == Submission.Cause.PLATFORM and may(request.user, entry.competition, Right.SEE):
        context["faults"] = faults_of(shown)
    known = {"state": str(content.state.label), "build": _build_key(builds) if inside else ""}
    framed = polling.live_part(request, content.template, context, every=_every(shown, content), known=known)
    return _page(request, shown, framed, context, known)


def _page(
    request: HttpRequest, shown: Submission, framed: polling.LivePart, context: dict[str, Any], known: dict[str, str]
) -> HttpResponse:
    """Return the page with its live part, or for a poll only that."""
    if polling.is_poll(request):
        return _poll_answer(request, framed, known)
    inside, build = context["inside"], context["build"]
    context |= {
        "live_status": framed.html,
        "in_rounds": entries_shown(inside=inside).filter(submission=shown),
    }
    context["members_of_team"] = members = member_keys(shown.repository.entry.team)
    context["member"] = request.user.is_active and request.user.pk in members
    context["may_withdraw"] = context["member"] and shown.state not in {
        Submission.State.REJECTED,
        Submission.State.WITHDRAWN,
    }
    if inside and shown.player is not None:
        context["public_name"] = public_name(context["competition"], shown.player.digest)
    if build is not None:
        context |= _log(request, build) | {"pictures": shown_pictures(shown, build)}
    return render(request, "pages/submission/submission.html", context)


def _every(shown: Submission, content: SubmissionContent) -> int | None:
    if content.final or shown.state in {Submission.State.REJECTED, Submission.State.WITHDRAWN}:
        return None
    return PLAYING_EVERY if shown.state == Submission.State.READY else STATE_EVERY


def _poll_answer(request: HttpRequest, framed: polling.LivePart, known: dict[str, str]) -> HttpResponse:
    """Return the live part, or tell the browser to reload the page if the build changed."""
    if request.GET.get("build", "") != known["build"]:
        return HttpResponse(headers={"HX-Refresh": "true"})
    if request.GET.get("state") != known["state"]:
        announcement = format_html(
            '<div hx-swap-oob="innerHTML:#announcement">{}</div>',
            f"The submission is {known['state']}.",
        )
        return polling.answer(request, framed, announcement)
    return polling.answer(request, framed)


def _build_key(builds: list[Build]) -> str:
    """Return a key of the newest build that changes when the build starts, gets checks, and ends."""
    if not builds:
        return "none"
    newest = builds[-1]
    return f"{newest.attempt}.{len(newest.checks)}.{int(newest.finished_at is not None)}"


def _build(request: HttpRequest, builds: list[Build]) -> Build | None:
    attempt = request.GET.get("attempt")
    if not builds or attempt is None:
        return builds[-1] if builds else None
    found = next((build for build in builds if str(build.attempt) == attempt), None)
    if found is None:
        raise Http404("no such attempt")
    return found


def _after(request: HttpRequest) -> int:
    text = request.GET.get("after", "0")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _log(request: HttpRequest, build: Build) -> dict[str, Any]:
    """Return the context of the log template: a page of lines, each with the offset for its permanent link."""
    after = _after(request)
    page = log_lines(build, after)
    lines = [(line, (line.number - 1) // LOG_PAGE * LOG_PAGE) for line in page.lines]
    return {
        "build": build,
        "lines": lines,
        "after": after,
        "next": page.last,
        "over": page.over,
        "more": len(page.lines) == LOG_PAGE and not page.over,
        "finished": build.finished_at is not None,
        "stage": request.GET.get("stage", ""),
    }


def _private_build(request: HttpRequest, number: int) -> Build:
    shown = submission_of(request, number)
    if not sees_everything_of(request.user, shown.repository.entry):
        raise PermissionDenied
    build = _build(request, list(shown.builds.all()))
    if build is None:
        raise Http404("no build yet")
    return build


@require_safe
def log_after(request: HttpRequest, number: int) -> HttpResponse:
    """Return the next lines of a log, for htmx."""
    build = _private_build(request, number)
    context = _log(request, build)
    if not context["lines"] and not context["over"]:
        return HttpResponse(status=polling.NOTHING_NEW)
    return render(request, "pages/submission/log_lines.html", context)


@require_safe
def log_file(request: HttpRequest, number: int) -> StreamingHttpResponse:
    """Return the whole log as a text file."""
    build = _private_build(request, number)
    name = f"submission-{number}-build-{build.attempt}.log"
    return StreamingHttpResponse(
        whole_log(build),
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@require_safe
def smoke_picture(request: HttpRequest, number: int, attempt: int, sample: int, name: str) -> HttpResponse:
    """Return a picture of a smoke test as PNG, for those who see its log."""
    shown = submission_of(request, number)
    if not sees_everything_of(request.user, shown.repository.entry):
        raise PermissionDenied
    build = get_object_or_404(shown.builds, attempt=attempt)
    return picture_answer(lambda: smoke_test_pictures.picture(build, sample, name))


@require_POST
@sign_in_required
def withdraw(request: HttpRequest, number: int) -> HttpResponse:
    """Withdraw a submission."""
    done = f"Submission {number} is withdrawn."
    return change(request, number, lambda shown, by: services.withdraw(submission=shown, by=by), done)


def change(request: HttpRequest, number: int, how: Callable[[Submission, User], object], done: str) -> HttpResponse:
    """Let a member of its team change a submission; say that it is `done`, or why not."""
    shown = submission_of(request, number)
    if not in_team(request, shown.repository.entry):
        raise PermissionDenied
    try:
        how(shown, signed_in_user(request))
    except Refusal as refusal:
        flash_messages.show_refusal(request, refusal)
    else:
        flash_messages.show_success(request, done)
    return redirect("pages:submission", number)
