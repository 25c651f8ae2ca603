"""Charts of leaderboards over time: score and rank of a team, the best scores of a competition, its best teams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import reverse

from accounts.models import User
from competitions.board_freezes import known_until
from competitions.models import Entry, Track
from core import clock, rounding
from core.time_format import for_programs, on_axis
from evaluation.charts.chart_table import Cell, ChartTable
from evaluation.charts.line_chart import BumpChart, Curve, LineChart
from evaluation.charts.scales import RankScale, TimeScale, distances_over, linear_to
from formats.query.leaderboards.board_rows import BoardRow
from formats.query.leaderboards.boards_over_time import Shown, TrackHistory, history_of, scores_of, shown
from formats.query.pages.paper_figures import COLOURS_OF_TRACKS, best_by_round
from formats.query.tracks import MODEL
from pages.formats import Content

SCORE, RANK, BEST, TOP, ROUNDS = "score", "rank", "best", "top", "rounds"
"""Keys of the charts, and names of their tables."""

TOP_TEAMS = 12
MOMENTS = 16
"""Moments between the first score and the end at which the ranks of the best teams are shown."""


def history_content(request: HttpRequest, track: Track) -> Content:
    """Return the best scores of all tracks over time, and the ranks of the best teams of one."""
    competition = track.competition
    until = known_until(request.user, competition)
    histories = [history_of(each, until) for each in competition.tracks.all()]
    own = next(each for each in histories if each.track == track)
    charts = [
        best_scores(histories, until, _address(track, BEST)),
        _by_round(track),
        best_teams(own, until, _address(track, TOP)),
    ]
    context = {"charts": [chart for chart in charts if chart], "frozen_since": until}
    return Content(template="formats/query/history.html", context=context)


def history_chart(request: HttpRequest, track: Track, name: str) -> LineChart | None:
    """Return one of these charts, None for an unknown name and without scores."""
    until = known_until(request.user, track.competition)
    if name == BEST:
        histories = [history_of(each, until) for each in track.competition.tracks.all()]
        return best_scores(histories, until, _address(track, name))
    if name == TOP:
        return best_teams(history_of(track, until), until, _address(track, name))
    return _by_round(track) if name == ROUNDS else None


def _by_round(track: Track) -> LineChart | None:
    files = {"csv": _address(track, ROUNDS), "svg": _address(track, ROUNDS, "history_drawing")}
    return best_by_round(list(track.competition.tracks.all()), key=ROUNDS, **files)


def _address(track: Track, name: str, page: str = "history_table") -> str:
    return reverse(f"pages:{page}", args=[track.competition.slug, track.name, name])


def team_history(entry: Entry, track: Track, user: User | AnonymousUser) -> Sequence[LineChart]:
    """Return the score and the rank of a team on a track over time, as far as the person sees them."""
    names = (SCORE, RANK)
    csv = {name: reverse("pages:team_history", args=[entry.team.slug, track.name, name]) for name in names}
    until = known_until(user, entry.competition)
    history = history_of(track, until)
    end = until or clock.now()
    steps = history.of(entry, end)
    if not steps:
        return ()
    x = TimeScale(steps[0][0], max(end, steps[-1][0]), on_axis)
    return _scores(history, steps, x, csv[SCORE]), _ranks(history, steps, x, csv[RANK])


_SCORE_COLUMNS = (
    *("time", "score", "low", "high"),
    *("not broken", "submission", "title"),
)

Steps = Sequence[tuple[datetime, int, int | None]]


def _scores(history: TrackHistory, steps: Steps, x: TimeScale, csv: str) -> LineChart:
    track = history.track
    details = shown(evaluation for _, evaluation, _ in steps)
    changed = [
        (at, evaluation)
        for number, (at, evaluation, _) in enumerate(steps)
        if not number or steps[number - 1][1] != evaluation
    ]
    rows: list[Sequence[Cell]] = []
    for at, evaluation in [*changed, (x.end, changed[-1][1])]:
        of = details[evaluation]
        values = (None,) * 3 if of.not_broken else tuple(map(rounding.distance, (of.value, of.low, of.high)))
        rows.append((for_programs(at), *values, "yes" if of.not_broken else None, of.submission, of.title))
    highest = max((of.high for of in details.values() if not of.not_broken), default=1.0)
    larger = (
        "Score of the submission that counted, with its 95 % interval. Larger is better. Scores against different "
        "pools are not comparable."
    )
    smaller = (
        "Score of the submission that counted, with its 95 % interval. Smaller is better. Scores against different "
        "pools are not comparable."
    )
    return LineChart(
        key=f"{SCORE}-{track.name}",
        title=f"{track.title}: score",
        description=larger if track.name == MODEL else smaller,
        table=ChartTable(_SCORE_COLUMNS, rows),
        lines=[Curve("score", 1, band=(2, 3))],
        x=x,
        y=linear_to(highest),
        x_name="UTC",
        y_name="distance",
        steps=True,
        breaks=True,
        csv=csv,
    )


def _ranks(history: TrackHistory, steps: Steps, x: TimeScale, csv: str) -> LineChart:
    track = history.track
    rows = [(at, rank) for number, (at, _, rank) in enumerate(steps) if not number or steps[number - 1][2] != rank]
    table = ChartTable(("time", "rank"), [(for_programs(at), rank) for at, rank in [*rows, (x.end, rows[-1][1])]])
    return LineChart(
        key=f"{RANK}-{track.name}",
        title=f"{track.title}: rank",
        description=(
            "Rank on the leaderboard. It is interrupted while the score is of an earlier pool, earlier rules or "
            "earlier samples."
        ),
        table=table,
        lines=[Curve("rank", 1)],
        x=x,
        y=RankScale(max((2, *(rank for _, rank in rows if rank)))),
        x_name="UTC",
        y_name="rank",
        steps=True,
        breaks=True,
        csv=csv,
    )


def best_scores(histories: Sequence[TrackHistory], until: datetime | None, csv: str) -> LineChart | None:
    """Return the best score of each track over time up to `until`, with the events that change their meaning."""
    tracks = [history.track for history in histories]
    starts = [history.start for history in histories if history.start]
    if not starts:
        return None
    best = [history.best() for history in histories]
    details = shown(key for changes in best for _, key in changes if key)
    events: dict[datetime, dict[str, None]] = {}
    for change in (change for history in histories for change in history.changes if change.at > min(starts)):
        events.setdefault(change.at, {})[change.what] = None
    end = until or clock.now()
    times = sorted({*(at for changes in best for at, _ in changes if at >= min(starts)), *events, end})
    rows: list[Sequence[Cell]] = []
    for at in times:
        row: list[Cell] = [for_programs(at)]
        for changes in best:
            key = next((key for since, key in reversed(changes) if since <= at), None)
            of = details.get(key) if key else None
            row += (None, None) if of is None or of.not_broken else (rounding.distance(of.value), of.submission)
            row.append(None if of is None else _named(of))
        rows.append((*row, ", ".join(events[at]) if at in events else None))
    names = [
        (
            track.title,
            f"submission to {track.title}",
            f"title in {track.title}",
        )
        for track in tracks
    ]
    return LineChart(
        key=BEST,
        title="The best scores over time",
        description=(
            "The distance of the best score of each track: larger is better for models, smaller for attacks. A "
            "vertical line marks a new pool, new rules or new samples: scores before and after it are not comparable."
        ),
        table=ChartTable(("time", *(name for of in names for name in of), "event"), rows),
        lines=[
            Curve(track.title, 1 + 3 * number, number=COLOURS_OF_TRACKS[track.name])
            for number, track in enumerate(tracks)
        ],
        x=TimeScale(min(starts), end, on_axis),
        y=distances_over([of.value for of in details.values() if not of.not_broken]),
        x_name="UTC",
        y_name="distance",
        steps=True,
        breaks=True,
        marks=1 + 3 * len(tracks),
        csv=csv,
    )


def _named(of: Shown) -> str:
    if of.not_broken:
        return f"{of.title} by {of.team} (not broken)"
    return f"{of.title} by {of.team}"


def best_teams(history: TrackHistory, until: datetime | None, csv: str) -> BumpChart | None:
    """Return the ranks over time of the teams that are the best ones at the end; None without any."""
    track = history.track
    end = until or clock.now()
    if history.start is None:
        return None
    period = (end - history.start) / MOMENTS
    times = [*(history.start + number * period for number in range(MOMENTS)), end]
    boards = history.at(times, TOP_TEAMS)
    entries = [row.entry for row, _ in boards[-1]]
    if not entries:
        return None
    found = Entry.objects.filter(pk__in=entries).values_list("pk", "team__name")
    names = dict(found)
    rows = []
    for at, board in zip(times, boards, strict=True):
        ranks = {row.entry: rank for row, rank in board}
        rows.append((for_programs(at), *(ranks.get(entry) for entry in entries)))
    return BumpChart(
        key=TOP,
        title=f"{track.title}: the first {len(entries)} over time" if len(entries) > 1 else f"{track.title}: the first",
        description=(
            "Rank over time of the teams that lead now. A line is interrupted where a team had no rank or was not "
            f"among the first {TOP_TEAMS}."
        ),
        table=ChartTable(("time", *(names[entry] for entry in entries)), rows),
        lines=[Curve(names[entry], number) for number, entry in enumerate(entries, start=1)],
        x=TimeScale(times[0], end, on_axis),
        y=RankScale(max(len(entries), 2)),
        x_name="UTC",
        y_name="rank",
        breaks=True,
        csv=csv,
    )


SPARK_WIDTH, SPARK_HEIGHT = 60, 18
_SPARK_SCORES = 20
"""At most this many newest scores are drawn."""


def sparklines(track: Track, rows: Sequence[BoardRow], until: datetime | None) -> Mapping[int, str]:
    """Return the scores over time of the team of each row as an SVG path, by the row's submission, in one query.

    Each path spans the scores of its team; teams with one score have none.
    """
    found: dict[int, str] = {}
    if not rows:
        return found
    for scores in scores_of(track, [row.team_slug for row in rows], until):
        if len(scores) > 1:
            path = _spark([score.value for score in scores])
            found |= {score.submission: path for score in scores}
    return found


def _spark(values: Sequence[float]) -> str:
    values = values[-_SPARK_SCORES:]
    low, high = min(values), max(values)
    height = SPARK_HEIGHT - 4
    points = [
        (
            2 + (SPARK_WIDTH - 4) * number / (len(values) - 1),
            2 + height * (1 - (value - low) / (high - low) if high > low else 0.5),
        )
        for number, value in enumerate(values)
    ]
    return "M" + "L".join(f"{x:.0f} {y:.1f}" for x, y in points)
