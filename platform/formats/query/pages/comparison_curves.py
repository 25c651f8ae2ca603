"""Curves of two to five submissions or matches on common axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from accounts.models import User
from competitions.board_freezes import sees_live
from competitions.models import Track
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import Curve, LineChart
from evaluation.charts.match_charts import BUDGETS, POINTS, SUCCESS, share, success_table
from evaluation.charts.scales import LogScale, shares
from formats.query.leaderboards.board_rows import BoardRow
from formats.query.leaderboards.models import Evaluation
from formats.query.leaderboards.score_visibility import board, neighbour_of, row_of
from formats.query.matches import match_numbers_and_curves
from formats.query.matches.models import Match
from formats.query.pages.comparison_page_data import side_by_side
from formats.query.pages.match_page_data import by_query
from formats.query.rounds.match_visibility import Sight, scores_seen
from formats.query.tracks import MODEL
from pages.formats import Content
from pages.player_names import names_of
from submissions.models import Submission

MOST = 5
"""Number of curves that can still be told apart."""

CHOICES = 30
"""Number of submissions to choose from: the best of the leaderboard."""

SHOWN_FIRST = 3
"""Number of submissions that are compared before anybody has chosen."""


def curves_content(request: HttpRequest, track: Track) -> Content:
    """Return submissions side by side: success against distance, and their scores."""
    competition = track.competition
    frozen = not sees_live(request.user, competition)
    rows = board(track, frozen=frozen, page_rows=CHOICES).rows
    numbers = request.GET.getlist("submission")
    wanted = first_of(numbers)
    neighbour = _neighbour_of(track, wanted[0], frozen=frozen) if len(wanted) == 1 else None
    chosen = [*wanted, neighbour.submission] if neighbour else wanted
    found = newest(track, chosen or [row.submission for row in rows[:SHOWN_FIRST]], request.user)
    csv = address_of(reverse("pages:curves_csv", args=[competition.slug, track.name]), "submission", list(found))
    on_board = {row.submission for row in rows}
    context = {
        "models": track.name == MODEL,
        "chart": of_submissions(track, found, csv),
        "comparison": side_by_side(track, list(found.values()), frozen=frozen),
        "rows": rows,
        "others": [each for pk, each in found.items() if pk not in on_board],
        "chosen": found,
        "wanted": wanted,
        "neighbour": neighbour,
        "missing": [pk for pk in wanted if pk not in found],
        "left_out": left_out(numbers),
        "most": MOST,
    }
    return Content(template="formats/query/curves.html", context=context)


def _neighbour_of(track: Track, submission: int, *, frozen: bool) -> BoardRow | None:
    """Return the row of the next better rank than that of a submission, for the first one of the next worse."""
    shown = Submission.objects.filter(pk=submission, repository__track=track)
    of = shown.select_related("repository__entry__team", "repository__entry__competition__frozen_leaderboards").first()
    row = row_of(track, of.repository.entry, frozen=frozen) if of else None
    if row is None or row.submission != submission or row.rank is None:
        return None
    better = neighbour_of(track, row, better=True, frozen=frozen)
    return better or neighbour_of(track, row, better=False, frozen=frozen)


def curves_table(request: HttpRequest, track: Track) -> ChartTable | None:
    """Return the curves of submissions as a table, None without any played sample."""
    chosen = first_of(request.GET.getlist("submission"))
    chart = of_submissions(track, newest(track, chosen, request.user), "")
    return None if chart is None else chart.table


def address_of(page: str, name: str, chosen: Sequence[int], distance: float = 0.0) -> str:
    """Return the address of a page that shows what is chosen, given as parameters `name`."""
    given = [(name, str(number)) for number in chosen] + ([("distance", f"{distance:g}")] if distance > 0 else [])
    return f"{page}?{urlencode(given)}"


def of_submissions(track: Track, found: Mapping[int, Evaluation], csv: str) -> LineChart | None:
    """Return the curves of scores by submission, None without any played sample."""
    if not found:
        return None
    distances = match_numbers_and_curves.distances_under(next(iter(found.values())).rules)
    counted = match_numbers_and_curves.successes_over(_counted(found), distances, of_models=track.name == MODEL)
    names: dict[int, str] = {
        pk: f"{pk}: {evaluation.submission.title} by {evaluation.submission.repository.entry.team.name}"
        for pk, evaluation in found.items()
    }
    columns = {names[pk]: counted[each.pk] for pk, each in found.items() if counted[each.pk].total}
    if not columns:
        return None
    return _against_distance(columns, distances, csv, _MODELS if track.name == MODEL else _ATTACKS)


_MODELS = (
    "Share of samples on which any attack of the pool found an adversarial within a distance. "
    "A model is better the further its curve is to the right."
)
_ATTACKS = (
    "Share of pairs of model and sample with an adversarial within a distance. "
    "An attack is better the further its curve is to the left."
)
_MATCHES = "Share of samples with an adversarial within a distance."


def newest(track: Track, submissions: Sequence[int], user: User | AnonymousUser) -> dict[int, Evaluation]:
    """Return the newest score of each submission to the track that the person sees, in the order given."""
    seen = Evaluation.objects.filter(
        scores_seen(track.competition, user), submission__in=submissions, submission__repository__track=track
    )
    oldest_first = seen.select_related(
        "submission__repository__entry__team",
        "submission__repository__entry__competition",
        "rules",
        "pool",
        "worst_opponent",
    ).order_by("pool_id", "rules_id", "sample_set_id", "pk")
    found = {evaluation.submission_id: evaluation for evaluation in oldest_first}
    return {pk: found[pk] for pk in submissions if pk in found}


def _counted(evaluations: Mapping[int, Evaluation]) -> dict[int, list[int]]:
    """Return the matches that count in the score of each evaluation."""
    own = {
        (each.pk, row["player"]) for each in evaluations.values() for row in each.per_opponent if row.get("own", False)
    }
    found: dict[int, list[int]] = {each.pk: [] for each in evaluations.values()}
    matches = Match.objects.filter(evaluations__in=list(found)).order_by("pk")
    for evaluation, match, model in matches.values_list("evaluations", "pk", "model"):
        if (evaluation, model) not in own:
            found[evaluation].append(match)
    return found


def _against_distance(
    columns: Mapping[str, match_numbers_and_curves.Share],
    distances: Sequence[float],
    csv: str,
    words: str,
    *,
    exact: bool = False,
) -> LineChart:
    table = success_table({name: (each.counts, each.total) for name, each in columns.items()}, distances)
    return LineChart(
        key=SUCCESS,
        title="Success against distance",
        description=words if exact else f"{words} {POINTS}",
        table=table,
        lines=[Curve(name, number) for number, name in enumerate(columns, start=1)],
        x=LogScale(distances[0], distances[-1]),
        y=shares(),
        x_name="distance",
        y_name="share",
        steps=exact,
        dots=not exact,
        csv=csv,
    )


@dataclass(frozen=True)
class MatchCurves:
    """Matches on common axes: against distance, and against queries where the person sees that of all of them."""

    names: Mapping[int, str]
    success: LineChart | None
    queries: LineChart | None
    distances: Sequence[float]
    distance: float


def of_matches(shown: Sequence[tuple[Match, Sight]], wanted: float | None, csv: Mapping[str, str]) -> MatchCurves:
    """Return the curves of matches, those over queries within the distance nearest to `wanted`."""
    rows = {match.pk: match_numbers_and_curves.rows_of(match, sight.samples) for match, sight in shown}
    shown = [(match, sight) for match, sight in shown if rows[match.pk]]
    if not shown:
        return MatchCurves({}, None, None, (), 0.0)
    players = names_of(player for match, _ in shown for player in (match.model_id, match.attack_id))
    names: dict[int, str] = {
        match.pk: f"{match.pk}: {players[match.attack_id].title} against {players[match.model_id].title}"
        for match, _ in shown
    }
    distances = match_numbers_and_curves.distances_of(shown[0][0])
    exact = all(sight.rows for _, sight in shown)
    at = match_numbers_and_curves.distances_between(
        (row for match, _ in shown for row in rows[match.pk]), distances, exact=exact
    )
    columns = {
        names[match.pk]: match_numbers_and_curves.Share(
            match_numbers_and_curves.within(rows[match.pk], at), len(rows[match.pk])
        )
        for match, _ in shown
    }
    success = _against_distance(columns, at, csv[SUCCESS], _MATCHES, exact=exact)
    middle = wanted or _middle(columns, at)
    distance = min(distances, key=lambda each: abs(each - middle))
    queries = None
    if all(sight.rows and sight.perturbed for _, sight in shown):
        found = {names[match.pk]: by_query(match, rows[match.pk]) for match, _ in shown}
        queries = _against_queries(found, distance, csv[BUDGETS])
    return MatchCurves(names, success, queries, distances, distance)


def _middle(columns: Mapping[str, match_numbers_and_curves.Share], distances: Sequence[float]) -> float:
    """Return the first distance at which half of all samples are successes, the last one where none is."""
    total = sum(each.total for each in columns.values())
    reached = (
        distance
        for number, distance in enumerate(distances)
        if 2 * sum(each.counts[number] for each in columns.values()) >= total
    )
    return next(reached, distances[-1])


def _against_queries(
    found: Mapping[str, match_numbers_and_curves.ByQuery | None], distance: float, csv: str
) -> LineChart | None:
    known = {name: each for name, each in found.items() if each is not None}
    counts = sorted({count for each in known.values() for count in each.counts})
    if not counts:
        return None
    within = {name: dict(zip(each.counts, each.within(distance), strict=True)) for name, each in known.items()}
    rows = [
        (
            count,
            *(
                share(within[name][count], len(each.closest)) if count in within[name] else None
                for name, each in known.items()
            ),
        )
        for count in counts
    ]
    return LineChart(
        key=BUDGETS,
        title=f"Success against queries, within {distance:,g}",
        description=f"Share of samples with an adversarial within {distance:,g}, after a number of queries.",
        table=ChartTable(("queries", *known), rows),
        lines=[Curve(name, number) for number, name in enumerate(known, start=1)],
        x=LogScale(1.0, float(max(counts[-1], 2))),
        y=shares(),
        x_name="queries",
        y_name="share of samples",
        csv=csv,
    )


def first_of(numbers: Sequence[str]) -> list[int]:
    """Return the first numbers of an address, each once, at most `MOST`; what is no number is left out."""
    return _numbers(numbers)[:MOST]


def left_out(numbers: Sequence[str]) -> int:
    """Return how many numbers of an address `first_of` leaves out because they are too many."""
    return max(0, len(_numbers(numbers)) - MOST)


def _numbers(texts: Sequence[str]) -> list[int]:
    return list(dict.fromkeys(int(text) for text in texts if text.isdecimal() and len(text) < 10))
