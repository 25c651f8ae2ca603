"""The pages of a submission."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.html import format_html
from django.views.decorators.http import require_POST, require_safe

from competitions.pseudonyms import public_name
from core.errors import Refusal
from leaderboards.models import Evaluation
from pages import flash_messages, polling
from pages.access import belongs, person, sees_inside, submission_of
from pages.chart_axis import axis_to
from pages.progress_steps import state_of, way
from pages.rounds import entries_shown
from pages.rules_table import scale
from pages.selectors import SubmissionStatus, status_of
from submissions import services
from submissions.models import Build, Submission
from submissions.selectors import LOG_PAGE, log_lines, whole_log

STATE_EVERY = 1
PLAYING_EVERY = 10
"""Seconds between looks at a submission that is on its way, and at one whose matches are played."""


@require_safe
def submission(request: HttpRequest, number: int) -> HttpResponse:
    """A submission: score and opponents for everyone, and all the rest for its team and the organisers."""
    shown = submission_of(request, number)
    inside = sees_inside(request, shown.repository.entry)
    stand = status_of(shown, inside=inside)
    builds = list(shown.builds.all())
    build = _build(request, builds) if inside else None
    context: dict[str, Any] = {
        "submission": shown,
        "team": shown.repository.entry.team,
        "track": shown.repository.track,
        "competition": shown.repository.entry.competition,
        "inside": inside,
        "stand": stand,
        "evaluation": stand.evaluation,
        "axis": axis_to(stand.evaluation.high or 0) if stand.evaluation else None,
        "scale": scale(stand.evaluation.rules) if stand.evaluation else "",
        "state": state_of(shown, stand.evaluation),
        "way": way(shown, stand.evaluation, builds),
        "build": build,
    }
    known = {"state": context["state"].label, "build": _build_key(builds) if inside else ""}
    framed = polling.part(request, "pages/parts/stand.html", context, every=_every(shown, stand), known=known)
    if polling.asked(request):
        return _follow(request, framed, known)
    context |= {
        "live_stand": framed.html,
        "builds": builds,
        "in_rounds": entries_shown(inside=inside).filter(submission=shown),
    }
    context["may_withdraw"] = belongs(request, shown.repository.entry) and shown.state not in {
        Submission.State.REFUSED,
        Submission.State.WITHDRAWN,
    }
    if inside and shown.player is not None:
        context["public_name"] = public_name(context["competition"], shown.player.digest)
    if build is not None:
        context |= _log(request, build)
    return render(request, "pages/submission.html", context)


def _every(shown: Submission, stand: SubmissionStatus) -> int | None:
    over = shown.state in {Submission.State.REFUSED, Submission.State.WITHDRAWN}
    if over or (stand.evaluation is not None and stand.evaluation.state != Evaluation.State.PLAYING):
        return None
    return PLAYING_EVERY if shown.state == Submission.State.READY else STATE_EVERY


def _follow(request: HttpRequest, framed: polling.Part, known: dict[str, str]) -> HttpResponse:
    """The live part; a page whose log has another beginning or end now is loaded again as a whole."""
    if request.GET.get("build", "") != known["build"]:
        return HttpResponse(headers={"HX-Refresh": "true"})
    if request.GET.get("state") != known["state"]:
        said = format_html('<div hx-swap-oob="innerHTML:#said">The submission is {}.</div>', known["state"])
        return polling.answer(request, framed, said)
    return polling.answer(request, framed)


def _build_key(builds: list[Build]) -> str:
    """What the page shows of the newest build beside its log: it changes when that begins, is checked, and ends."""
    if not builds:
        return "none"
    newest = builds[-1]
    return f"{newest.attempt}.{len(newest.checks)}.{int(newest.finished_at is not None)}"


def _build(request: HttpRequest, builds: list[Build]) -> Build | None:
    wanted = request.GET.get("attempt")
    if not builds or wanted is None:
        return builds[-1] if builds else None
    found = next((build for build in builds if str(build.attempt) == wanted), None)
    if found is None:
        raise Http404("no such attempt")
    return found


def _after(request: HttpRequest) -> int:
    text = request.GET.get("after", "0")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _log(request: HttpRequest, build: Build) -> dict[str, Any]:
    """What the log's template shows: a page of lines, and where a line's link leads whatever page shows it."""
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


def _inner_build(request: HttpRequest, number: int) -> Build:
    shown = submission_of(request, number)
    if not sees_inside(request, shown.repository.entry):
        raise PermissionDenied
    build = _build(request, list(shown.builds.all()))
    if build is None:
        raise Http404("no build yet")
    return build


@require_safe
def log_after(request: HttpRequest, number: int) -> HttpResponse:
    """The lines of a log after the last one that a page shows, for htmx."""
    build = _inner_build(request, number)
    context = _log(request, build)
    if not context["lines"] and not context["over"]:
        return HttpResponse(status=polling.NOTHING_NEW)
    return render(request, "pages/parts/log_lines.html", context)


@require_safe
def log_file(request: HttpRequest, number: int) -> StreamingHttpResponse:
    """The whole log as a text file."""
    build = _inner_build(request, number)
    name = f"submission-{number}-build-{build.attempt}.log"
    return StreamingHttpResponse(
        whole_log(build),
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@require_POST
@login_required
def withdraw(request: HttpRequest, number: int) -> HttpResponse:
    """Take a submission back."""
    shown = submission_of(request, number)
    if not belongs(request, shown.repository.entry):
        raise PermissionDenied
    try:
        services.withdraw(submission=shown, by=person(request))
    except Refusal as refusal:
        flash_messages.refused(request, refusal)
    else:
        flash_messages.done(request, f"Submission {number} is withdrawn.")
    return redirect("pages:submission", number)
