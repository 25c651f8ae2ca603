"""Page of a match, its pictures and tables, and the curves of several matches on common axes."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from django.db.models import Q, QuerySet, prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from competitions.models import Competition
from core.picture_answers import picture_answer
from evaluation.charts.match_charts import BUDGETS, SUCCESS
from evaluation.formats.query.results import AuditReport, Outcome
from evaluation.formats.query.rules import QueryRules
from formats.query import NAME
from formats.query.leaderboards.models import Evaluation
from formats.query.matches.match_pictures import picture
from formats.query.matches.models import Match
from formats.query.matches.selectors import player_failures
from formats.query.pages.comparison_curves import MOST, MatchCurves, address_of, first_of, of_matches
from formats.query.pages.match_access import match_of
from formats.query.pages.match_gallery_data import gallery
from formats.query.pages.match_page_data import match_page
from formats.query.pages.reproduction_commands import reproduction
from formats.query.pages.rules_table import scale
from formats.query.rounds.match_visibility import Sight, scores_seen
from formats.query.tracks import TARGETED
from pages.access import competition_of
from pages.csv_and_svg_downloads import csv_file
from pages.player_names import names_in, names_of
from pages.round.shown_objections import objection_address
from pages.site.error_views import missing_page

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
    prefetch_related_objects([competition], "tracks")
    round_match = getattr(match, "round_match", None)
    players = match.model_id, match.attack_id
    names = names_of(players) | (names_in(round_match.round, players) if round_match else {})
    seen = match.evaluations.filter(scores_seen(competition, request.user))
    scores = seen.select_related(*_SCORED)[:MOST_SCORES]
    context = {
        "match": match,
        "sight": sight,
        "page": page,
        "outcomes": [(outcome.value, page.summary.outcomes.get(outcome.value, 0)) for outcome in Outcome]
        if page.summary
        else [],
        "failures": player_failures([match.pk]).get(match.pk, ()),
        "model": names[match.model_id],
        "attack": names[match.attack_id],
        "track": next(each for each in competition.tracks.all() if each.name == match.attack.track_name),
        "competition": competition,
        "played_in": round_match.round if round_match else None,
        "scale": scale(match.rules),
        "budget": match.rules.rules_as(QueryRules).query_budget,
        "audit": _audit(match) if sight.rows else "",
        "gallery": gallery(
            page.rows,
            match.sample_set,
            targeted=match.attack.track_name == TARGETED,
            address=lambda sample, name: reverse("pages:match_image", args=[match.pk, sample, name]),
            factor=request.GET.get("amplify", ""),
            page=request.GET.get("page", "1"),
        )
        if sight.clean and sight.perturbed
        else None,
        "others": _others(match, seen, {row["player"]: row["median"] for each in scores for row in each.per_opponent}),
        # a submission has a score for each pool that it was measured against
        "scores": list({each.submission_id: each for each in scores}.values()),
        "objection_url": objection_address(request, round_match.round, str(match.pk)) if round_match else "",
        "again": reproduction(match, sight, f"{request.scheme}://{request.get_host()}"),
    }
    return render(request, "formats/query/match.html", context)


def _others(match: Match, seen: QuerySet[Evaluation], medians: Mapping[int, float | None]) -> list[tuple[str, str]]:
    """Return the addresses that compare a match with other matches of the same model, and of the same attack.

    Only matches that are as public as this one: of its round and used by its outcome, or parts of the same score. Of
    more than fit, those with the smallest medians; `medians` has those of scores, by opponent.
    """
    round_match = getattr(match, "round_match", None)
    if round_match:
        related = Match.objects.filter(round_match__round=round_match.round_id, round_match__samples__gt=0)
    else:
        related = Match.objects.filter(evaluations__in=seen.values("pk"))
    related = related.filter(Q(model=match.model_id) | Q(attack=match.attack_id)).exclude(pk=match.pk)
    columns = ("pk", "model", "attack", "attack__track_name", "round_match__median")
    found: dict[str, list[tuple[float, int]]] = {}
    for other, model, attack, track, median in related.distinct().values_list(*columns):
        if track == match.attack.track_name:
            of_model = model == match.model_id
            name = "other attacks on this model" if of_model else "this attack on other models"
            known = median if round_match else medians.get(attack if of_model else model)
            found.setdefault(name, []).append((inf if known is None else known, other))
    address = reverse("pages:match_curves", args=[match.rules.competition.slug])
    links = []
    for name, others in sorted(found.items()):
        nearest = [number for _, number in sorted(others)[: MOST - 1]]
        text = f"{name} (the {len(nearest)} nearest of {len(others)})" if len(nearest) < len(others) else name
        links.append((text, f"{address}?{urlencode([('match', number) for number in (match.pk, *nearest)])}"))
    return links


def _audit(match: Match) -> str:
    return str(AuditReport(**{name: match.audit.get(name, 0) for name in _COUNTS})) if match.audit else ""


@require_safe
def image(request: HttpRequest, number: int, sample: int, name: str) -> HttpResponse:
    """Return a picture of a sample as PNG, for people who see its images now: a release may be withdrawn."""
    match, sight = match_of(request, number)
    if not sight.shows(sample, name):
        raise Http404("no such picture")
    return picture_answer(lambda: picture(match, sample, name))


@require_safe
def table(request: HttpRequest, number: int, name: str) -> HttpResponse:
    """Return a table of the page as a CSV file: what a chart draws, or the rows of the samples."""
    match, sight = match_of(request, number)
    found = match_page(match, sight).tables.get(name)
    if found is None:
        raise Http404("no such table")
    return csv_file(found, f"match-{match.pk}-{name}")


@require_safe
def compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Compare matches: success against distance, and against queries where this is public."""
    competition = competition_of(request, slug)
    if competition.format != NAME:
        return missing_page(request, "In this format there are no matches, so there are no curves.")
    context = {
        "competition": competition,
        "tracks": competition.tracks.all(),
        "found": _compared(request, competition),
    }
    return render(request, "formats/query/match_curves.html", context)


@require_safe
def compare_csv(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Return curves of matches as a CSV file: against distance or against queries."""
    found = _compared(request, competition_of(request, slug))
    chart = {SUCCESS: found.success, BUDGETS: found.queries}.get(name)
    if chart is None:
        raise Http404("no such table")
    return csv_file(chart.table, f"{slug}-match-curves-{name}")


def _compared(request: HttpRequest, competition: Competition) -> MatchCurves:
    chosen = first_of(request.GET.getlist("match"))
    shown: list[tuple[Match, Sight]] = []
    for number in chosen:
        match, sight = match_of(request, number)
        if match.rules.competition_id != competition.pk:
            raise Http404("no such match")
        shown.append((match, sight))
    try:
        distance = float(request.GET.get("distance", ""))
    except ValueError:
        distance = 0.0
    csv = {
        name: address_of(reverse("pages:match_curves_csv", args=[competition.slug, name]), "match", chosen, distance)
        for name in (SUCCESS, BUDGETS)
    }
    return of_matches(shown, distance if distance > 0 else None, csv)
