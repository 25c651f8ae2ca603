"""Page of a round, its released files, and the signing keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from competitions.models import Competition
from competitions.permissions import may
from core.errors import Refusal
from core.roles import Right
from core.time_format import for_programs
from pages import polling
from pages.access import own_teams, round_of
from pages.archive_download import archive_download
from pages.csv_and_svg_downloads import csv_file, svg_download
from pages.formats import RoundFigures, page_formats
from pages.round.released_files import files
from pages.round.shown_objections import round_objections
from pages.shared_pages import shared
from rounds.formats import schedule_title
from rounds.models import Release, Round
from rounds.release.released_parts import open_part, released, released_entries
from rounds.release.signing_keys import all_keys, key_id, public_key

PLANNED_EVERY = 60
PLAYING_EVERY = 5
"""Seconds between polls of a planned round, and of a running one."""

_ENDED = {Round.State.PUBLISHED, Round.State.CANCELLED}
_SHOWS_PROGRESS = {Round.State.PLAYING, Round.State.PAUSED}


@require_safe
@shared
def show(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show the plan and the state of a round, and standings, bracket and files after it is published."""
    shown = round_of(request, slug, number)
    competition = shown.competition
    of_format = page_formats.of(competition)
    context: dict[str, Any] = {
        "competition": competition,
        "round": shown,
        "schedule_title": schedule_title(shown),
        "texts": of_format.round_texts,
        "objections": round_objections(request, shown),
        "progress": of_format.round_progress(shown) if shown.state in _SHOWS_PROGRESS else None,
    }
    framed = polling.live_part(
        request, "pages/round/round_state.html", context, every=_every(shown), known={"state": shown.state}
    )
    if polling.is_poll(request):
        if request.GET.get("state") != shown.state:
            return HttpResponse(headers={"HX-Refresh": "true"})
        return polling.answer(request, framed)
    tracks = list(competition.tracks.all())
    context |= {"live_state": framed.html, "tracks": tracks, "admin_url": _admin_url(request, competition, shown)}
    if shown.state == Round.State.PUBLISHED:
        public = released(shown)
        context |= _releases(request, shown, public)
        content = of_format.round_results(request, shown, tracks, public)
        context |= {"content": content, "figures": content.figures}
    return render(request, "pages/round/round.html", context)


def _every(shown: Round) -> int | None:
    if shown.state in _ENDED:
        return None
    return PLANNED_EVERY if shown.state == Round.State.PLANNED else PLAYING_EVERY


def _releases(request: HttpRequest, shown: Round, public: Mapping[str, Release]) -> dict[str, Any]:
    return {
        "own": {team.slug for team in own_teams(request)},
        "releases": public,
        "files": files(public.values()),
        "code": released_entries(shown) if Release.Part.CODE in public else (),
        "public_key": (public[Release.Part.BUNDLE].key or public_key()) if Release.Part.BUNDLE in public else "",
        "site_url": f"{request.scheme}://{request.get_host()}",
    }


def _admin_url(request: HttpRequest, competition: Competition, shown: Round) -> str:
    """Return the admin URL of the round for organisers, "" for others."""
    if not may(request.user, competition, Right.SEE_SECRETS):
        return ""
    return reverse("admin:rounds_round_change", args=[shown.pk])


@require_safe
def figure_svg(request: HttpRequest, slug: str, number: int, name: str) -> HttpResponse:
    """Return a figure of a published round as an SVG file."""
    chart = _figures(request, slug, number).chart(name)
    if chart is None:
        raise Http404("no such figure")
    return svg_download(chart, f"{slug}-round-{number}-{name}")


@require_safe
def figure_csv(request: HttpRequest, slug: str, number: int, name: str) -> HttpResponse:
    """Return the numbers of a figure of a published round, or a table of it, as a CSV file."""
    table = _figures(request, slug, number).table(name)
    if table is None:
        raise Http404("no such table")
    return csv_file(table, f"{slug}-round-{number}-{name}")


def _figures(request: HttpRequest, slug: str, number: int) -> RoundFigures:
    shown = round_of(request, slug, number)
    if shown.state != Round.State.PUBLISHED:
        raise Http404("the round is not published")
    return page_formats.of(shown.competition).round_figures(request, shown, list(shown.competition.tracks.all()))


@require_safe
def released_file(request: HttpRequest, slug: str, number: int, part: str) -> HttpResponseBase:
    """Return a released part of a round, or the perturbed images of one pair, as a file.

    A HEAD creates no file, so its answer has no length.
    """
    try:
        download = open_part(round_of(request, slug, number), part)
    except Refusal as refusal:
        raise Http404(refusal.problem) from refusal
    if request.method == "HEAD":
        disposition = content_disposition_header(as_attachment=True, filename=download.name)
        return StreamingHttpResponse(
            (), content_type=download.content_type, headers={"Content-Disposition": disposition}
        )
    return archive_download(download.open, download.name, download.content_type)


@require_safe
def signing_key(request: HttpRequest) -> HttpResponse:
    """Return the public key that signs the bundles of this site: 64 hexadecimal digits."""
    return HttpResponse(f"{public_key()}\n", content_type="text/plain; charset=utf-8")


@require_safe
def signing_keys(request: HttpRequest) -> HttpResponse:
    """Return every public key that signs or signed bundles of this site: identifier, date and key, oldest first."""
    lines = [f"{key_id(key.public)} {for_programs(key.made_at)} {key.public}\n" for key in all_keys()]
    return HttpResponse("".join(lines), content_type="text/plain; charset=utf-8")
