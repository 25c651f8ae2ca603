"""The figures of the competition of 2018 (Brendel et al. 2020, figure 1), for any round and over the rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from accounts.models import User
from competitions.models import Track
from core import rounding
from evaluation.charts.line_chart import COLOURS, Curve, LineChart
from evaluation.charts.match_charts import POINTS, success_table
from evaluation.charts.paper_figures import RankedName, Series, by_round, robustness
from evaluation.charts.scales import LogScale, shares
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.matches import match_numbers_and_curves
from formats.query.rounds.match_visibility import scores_seen
from formats.query.rounds.models import RoundMatch
from formats.query.rounds.stages_and_decisions import BracketView, StageView, standings_and_stages
from formats.query.tracks import MODEL, TARGETED, UNTARGETED
from pages.formats import RoundFigures
from pages.round.figure_files import figure_address
from rounds.best_of_rounds import BestEntry, published_rounds
from rounds.models import Round
from rounds.publishing.pair_visibility import pairs_public
from rounds.selectors import StandingRow

ROBUSTNESS, FIRST_POOL, COUNTED = "robustness", "first-pool", "counted-attacks"
"""Keys of the figures of a round."""

COLOURS_OF_TRACKS: Mapping[str, int] = {MODEL: 1, UNTARGETED: 2, TARGETED: 4}
"""Numbers of the curves whose colours are nearest to those of the tracks."""

_FIRST = "attacks of the first pool"
_COUNTED = "attacks that count in this round"


def round_figures(request: HttpRequest, shown: Round) -> RoundFigures:
    """Return the robustness of the models of a published round: against the first pool, and the attacks that count."""
    return figures_of(request, shown, *standings_and_stages(shown))


def figures_of(
    request: HttpRequest, shown: Round, entries: Mapping[str, Sequence[StandingRow]], brackets: Sequence[BracketView]
) -> RoundFigures:
    """Return the figures of a published round with these standings and stages."""
    models = [row for row in entries[MODEL] if row.place is not None and row.value is not None]
    best = _by_name(models[:COLOURS])
    before = _against_first_pool(shown, models, request.user)
    last = next((each.stages[-1] for each in brackets if each.track_name == UNTARGETED), None)
    charts = (
        robustness(
            "Robustness of the models",
            "The score of each model against two sets of untargeted attacks: the median distance over samples of the "
            "closest adversarial. Against the first pool it is that of the leaderboard, on the validation samples, of "
            "models that met this pool; against the attacks that count it is that of the round, on secret samples. A "
            "model that held on more than half of the samples has no point.",
            [RankedName(row.place or 0, row.team) for row in models],
            [
                Series(_FIRST, [_value(before.get(row.submission)) for row in models]),
                Series(_COUNTED, [None if row.not_broken else _distance(row.value) for row in models]),
            ],
            key=ROBUSTNESS,
            csv=figure_address(shown, ROBUSTNESS),
            svg=figure_address(shown, ROBUSTNESS, svg=True),
        ),
        _success(
            shown,
            FIRST_POOL,
            "Against the attacks of the first pool",
            "On the validation samples, from the scores of the leaderboard",
            _evaluated_matches({name: before.get(row.submission) for name, row in best.items()}),
        ),
        _success(
            shown,
            COUNTED,
            "Against the attacks that count",
            "On the secret samples of the round",
            _counted_matches(shown, last, best) if last and pairs_public(shown, request.user) else {},
            last.samples if last else None,
        ),
    )
    return RoundFigures([chart for chart in charts if chart])


def _by_name(models: Sequence[StandingRow]) -> dict[str, StandingRow]:
    """Return models by their team, with the submission where a team has two: one of them is a baseline."""
    of_team = Counter(row.team for row in models)
    return {row.team if of_team[row.team] == 1 else f"{row.team}, submission {row.submission}": row for row in models}


def _against_first_pool(
    shown: Round, models: Sequence[StandingRow], user: User | AnonymousUser
) -> dict[int, Evaluation]:
    """Return the newest score of each model against the first pool that the person sees, by its submission."""
    pools = Pool.objects.filter(track__competition=shown.competition_id, track__name=UNTARGETED)
    first = pools.order_by("number").values("pk")[:1]
    seen = Evaluation.objects.filter(scores_seen(shown.competition, user), pool__in=first)
    found = seen.filter(submission__in=[row.submission for row in models]).order_by("pk")
    return {each.submission_id: each for each in found}


def _evaluated_matches(scores: Mapping[str, Evaluation | None]) -> dict[str, list[int]]:
    """Return the matches behind some scores, by the same names."""
    matches: dict[int, list[int]] = {}
    of_scores = Evaluation.matches.through.objects.filter(evaluation__in=[each for each in scores.values() if each])
    for evaluation, match in of_scores.values_list("evaluation", "match"):
        matches.setdefault(evaluation, []).append(match)
    return {name: matches[each.pk] for name, each in scores.items() if each and each.pk in matches}


def _counted_matches(shown: Round, last: StageView, models: Mapping[str, StandingRow]) -> dict[str, list[int]]:
    """Return the matches of each model with the attacks that count in the last stage, by the same names."""
    met = RoundMatch.objects.filter(
        round=shown,
        samples=last.samples,
        match__attack__in=[name.player for name in last.counted_attacks],
        match__model__in=[row.player for row in models.values()],
    )
    matches: dict[int, list[int]] = {}
    for model, match in met.values_list("match__model", "match"):
        matches.setdefault(model, []).append(match)
    return {name: matches[row.player] for name, row in models.items() if row.player in matches}


def _success(
    shown: Round, key: str, title: str, where: str, matches: Mapping[str, Sequence[int]], samples: int | None = None
) -> LineChart | None:
    """Return the share of samples with an adversarial within each distance, a curve for each model.

    `where`: which samples that are. `samples`: only the first ones of the matches.
    """
    if not matches or shown.rules is None:
        return None
    distances = match_numbers_and_curves.distances_under(shown.rules)
    groups = dict(enumerate(matches.values()))
    found = match_numbers_and_curves.successes_over(groups, distances, of_models=True, samples=samples)
    columns = {
        name: (found[number].counts, found[number].total) for number, name in enumerate(matches) if found[number].total
    }
    if not columns:
        return None
    return LineChart(
        key=key,
        title=title,
        description=f"Share of samples on which any of the attacks found an adversarial within a distance. {where}; "
        f"at most the best {COLOURS} models. A model is better the further its curve is to the right. {POINTS}",
        table=success_table(columns, distances),
        lines=[Curve(name, column) for column, name in enumerate(columns, start=1)],
        x=LogScale(distances[0], distances[-1]),
        y=shares(),
        x_name="distance",
        y_name="share of samples",
        dots=True,
        csv=figure_address(shown, key),
        svg=figure_address(shown, key, svg=True),
    )


def best_by_round(tracks: Sequence[Track], *, key: str, csv: str, svg: str) -> LineChart | None:
    """Return the best score of each track in every published round of their competition; None without any."""
    rounds = published_rounds(tracks[0].competition)
    best = {track.name: [each.best.get(track.name) for each in rounds] for track in tracks}
    return by_round(
        "The best scores by round",
        "The distance of the first model and the first attacks of each published round: models want it large, attacks "
        "want it small. Scores of different rounds are not comparable: both sides improve, and each round has samples "
        "of its own. A model that held on more than half of the samples has no point.",
        [(each.number, each.title) for each in rounds],
        [Series(track.title, [_value(first) for first in best[track.name]]) for track in tracks],
        key=key,
        y_name="distance",
        numbers=[COLOURS_OF_TRACKS[track.name] for track in tracks],
        listed=[
            Series(f"first of {track.title}", [first.team if first else None for first in best[track.name]])
            for track in tracks
        ],
        csv=csv,
        svg=svg,
    )


def _value(of: BestEntry | Evaluation | None) -> float | None:
    return None if of is None or of.not_broken else _distance(of.value)


def _distance(value: float | None) -> float | None:
    return None if value is None else rounding.distance(value)
