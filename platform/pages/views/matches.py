"""Page of a match, and its tables as CSV files."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from competitions.rules import query_rules
from evaluation.domain.results import AuditReport, Outcome
from matches.models import Match
from pages.access import match_of
from pages.charts.table import csv_file
from pages.match_page import match_page
from pages.players import names_in, names_of
from pages.reproduction import reproduction
from pages.rules_table import scale
from rounds.match_visibility import scores_seen

MOST_SCORES = 10
"""Number of submissions that the page of a match lists as scored by it."""

_SCORED = ("submission__repository__entry__team", "submission__repository__track")
_COUNTS = tuple(AuditReport.__dataclass_fields__)


@require_safe
def show(request: HttpRequest, number: int) -> HttpResponse:
    """Show attack, model, numbers, charts and how to play it again; rows and images where they are public."""
    match, sight = match_of(request, number)
    page = match_page(match, sight)
    competition = match.rules.competition
    round_match = getattr(match, "round_match", None)
    players = match.model_id, match.attack_id
    names = names_of(players) | (names_in(round_match.round, players) if round_match else {})
    context = {
        "match": match,
        "sight": sight,
        "page": page,
        "outcomes": [(outcome.value, page.summary.outcomes.get(outcome.value, 0)) for outcome in Outcome]
        if page.summary
        else [],
        "model": names[match.model_id],
        "attack": names[match.attack_id],
        "track": competition.tracks.get(name=match.attack.track_name),
        "tracks": competition.tracks.all(),
        "competition": competition,
        "played_in": round_match.round if round_match else None,
        "scale": scale(match.rules),
        "budget": query_rules(match.rules.values, match.rules.version).query_budget,
        "audit": _audit(match) if sight.rows else "",
        "scores": match.evaluations.filter(scores_seen(competition, request.user)).select_related(*_SCORED)[
            :MOST_SCORES
        ],
        "again": reproduction(match, sight, f"{request.scheme}://{request.get_host()}"),
    }
    return render(request, "pages/match.html", context)


def _audit(match: Match) -> str:
    return str(AuditReport(**{name: match.audit.get(name, 0) for name in _COUNTS})) if match.audit else ""


@require_safe
def table(request: HttpRequest, number: int, name: str) -> HttpResponse:
    """Return a table of the page as a CSV file: what a chart draws, or the rows of the samples."""
    match, sight = match_of(request, number)
    found = match_page(match, sight).tables.get(name)
    if found is None:
        raise Http404("no such table")
    return csv_file(found, f"match-{match.pk}-{name}")
