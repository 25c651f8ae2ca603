"""The bracket of a round as a file."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from competitions.board_freezes import sees_live
from formats.query import NAME
from formats.query.pages.bracket_picture import table_of
from formats.query.pages.round_page_data import results
from formats.query.rounds.stages_and_decisions import standings_and_stages
from pages.access import round_of
from pages.csv_and_svg_downloads import csv_file
from rounds.models import Round


@require_safe
def bracket_csv(request: HttpRequest, slug: str, number: int, track_name: str) -> HttpResponse:
    """Return the bracket of a track of a published round as a CSV file: a row for each player and stage."""
    shown = round_of(request, slug, number)
    if shown.state != Round.State.PUBLISHED or shown.competition.format != NAME:
        raise Http404("no such table")
    track = get_object_or_404(shown.competition.tracks, name=track_name)
    entries, stages = standings_and_stages(shown)
    found = results(shown, [], track, entries, stages, sees_live=sees_live(request.user, shown.competition))
    return csv_file(table_of(found.bracket), f"{slug}-round-{number}-bracket-{track_name}")
