"""Page of a round, its released files, and the signing keys."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from competitions.models import Competition, Track
from competitions.selectors import may_organise
from core.errors import Refusal
from core.times import for_programs
from evaluation.charts.axis import axis_to
from leaderboards.visibility import sees_live
from pages import polling, transfer_rounds
from pages.access import own_teams, round_of
from pages.bracket_picture import BracketPicture, table_of
from pages.csv_download import csv_file
from pages.match_links import pairs_of
from pages.rounds import Progress, files, progress_of, released_pairs, results
from pages.rules_table import scale
from rounds.archive_limit import RETRY_SECONDS, ArchivesBusyError
from rounds.match_visibility import images_seen, pairs_public
from rounds.models import Release, Round
from rounds.release import open_part, released, released_entries
from rounds.signing_keys import all_keys, key_id, public_key
from rounds.transfer_standings import standings

PLANNED_EVERY = 60
PLAYING_EVERY = 5
"""Seconds between polls of a planned round, and of a running one."""

_ENDED = {Round.State.PUBLISHED, Round.State.CANCELLED}
_SHOWS_PROGRESS = {Round.State.PLAYING, Round.State.PAUSED}


@require_safe
def show(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show the plan and the state of a round, and standings, bracket and files after it is published."""
    shown = round_of(request, slug, number)
    competition = shown.competition
    context: dict[str, Any] = {
        "competition": competition,
        "round": shown,
        "progress": _progress(shown) if shown.state in _SHOWS_PROGRESS else None,
    }
    framed = polling.live_part(
        request, "pages/parts/round_state.html", context, every=_every(shown), known={"state": shown.state}
    )
    if polling.is_poll(request):
        if request.GET.get("state") != shown.state:
            return HttpResponse(headers={"HX-Refresh": "true"})
        return polling.answer(request, framed)
    tracks = list(competition.tracks.all())
    context |= {"live_state": framed.html, "tracks": tracks, "admin_url": _admin_url(request, competition, shown)}
    if shown.state == Round.State.PUBLISHED:
        context |= _releases(request, shown)
        context |= _transfer(request, shown, tracks) if _is_transfer(shown) else _published(request, shown, tracks)
    return render(request, "pages/round.html", context)


def _every(shown: Round) -> int | None:
    if shown.state in _ENDED:
        return None
    return PLANNED_EVERY if shown.state == Round.State.PLANNED else PLAYING_EVERY


def _published(request: HttpRequest, shown: Round, tracks: list[Track]) -> dict[str, Any]:
    name = request.GET.get("track")
    track = next((track for track in tracks if track.name == name), None) if name else tracks[0]
    if track is None:
        raise Http404("no such track")
    public = released(shown)
    matches = pairs_of(shown) if pairs_public(shown, request.user) else {}
    found = results(shown, tracks, track, sees_live=sees_live(request.user, shown.competition), matches=matches)
    csv = reverse("pages:round_bracket", args=[shown.competition.slug, shown.number, track.name])
    attack_track = Track.Name.UNTARGETED if track.name == Track.Name.MODEL else Track.Name(track.name)
    return {
        "results": found,
        "picture": BracketPicture(found.bracket, csv) if found.bracket.rows else None,
        "matches": matches,
        "attack_track": attack_track,
        "images": images_seen(shown, request.user, public),
        "scale": scale(shown.rules) if shown.rules else "",
        "pairs": released_pairs(shown, attack_track) if Release.Part.PERTURBED in public else (),
    }


def _transfer(request: HttpRequest, shown: Round, tracks: list[Track]) -> dict[str, Any]:
    public, found = released(shown), standings(shown)
    return {
        "axis": axis_to(1.0),
        "transfer_standings": [(track, found[track.name]) for track in tracks],
        "runs": transfer_rounds.released_runs(shown) if Release.Part.PERTURBED in public else (),
        "images": images_seen(shown, request.user, public),
    }


def _releases(request: HttpRequest, shown: Round) -> dict[str, Any]:
    public = released(shown)
    return {
        "own": {team.slug for team in own_teams(request)},
        "releases": public,
        "files": files(public.values()),
        "code": released_entries(shown) if Release.Part.CODE in public else (),
        "public_key": (public[Release.Part.BUNDLE].key or public_key()) if Release.Part.BUNDLE in public else "",
        "site_url": f"{request.scheme}://{request.get_host()}",
    }


def _progress(shown: Round) -> Progress:
    return transfer_rounds.progress_of(shown) if _is_transfer(shown) else progress_of(shown)


def _is_transfer(shown: Round) -> bool:
    return shown.competition.format == Competition.Format.TRANSFER


def _admin_url(request: HttpRequest, competition: Competition, shown: Round) -> str:
    """Return the admin URL of the round for organisers, "" for others."""
    if not may_organise(request.user, competition):
        return ""
    return reverse("admin:rounds_round_change", args=[shown.pk])


@require_safe
def bracket_csv(request: HttpRequest, slug: str, number: int, track_name: str) -> HttpResponse:
    """Return the bracket of a track of a published round as a CSV file: a row for each player and stage."""
    shown = round_of(request, slug, number)
    if shown.state != Round.State.PUBLISHED or _is_transfer(shown):
        raise Http404("no such table")
    track = get_object_or_404(shown.competition.tracks, name=track_name)
    found = results(shown, [], track, sees_live=sees_live(request.user, shown.competition))
    return csv_file(table_of(found.bracket), f"{slug}-round-{number}-bracket-{track_name}")


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
    try:
        file = download.open()
    except ArchivesBusyError as busy:
        return HttpResponse(
            f"{busy}\n",
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            content_type="text/plain; charset=utf-8",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )
    return FileResponse(file, as_attachment=True, filename=download.name, content_type=download.content_type)


@require_safe
def signing_key(request: HttpRequest) -> HttpResponse:
    """Return the public key that signs the bundles of this site: 64 hexadecimal digits."""
    return HttpResponse(f"{public_key()}\n", content_type="text/plain; charset=utf-8")


@require_safe
def signing_keys(request: HttpRequest) -> HttpResponse:
    """Return every public key that signs or signed bundles of this site: identifier, date and key, oldest first."""
    lines = [f"{key_id(key.public)} {for_programs(key.made_at)} {key.public}\n" for key in all_keys()]
    return HttpResponse("".join(lines), content_type="text/plain; charset=utf-8")
