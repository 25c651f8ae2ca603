"""The organiser's dashboard of a round: state, cost, entries, eliminations, and what publishing would change.

It consists of sections of tables, in the order in which organisers need them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html

from competitions.models import Competition
from core.administration.columns import link_to
from core.times import duration
from matches.models import Match
from matches.selectors import WorkerStatus, workers
from formats.transfer.rounds import standings as transfer_standings
from formats.query.rounds.audit_overrides import OVERRIDABLE
from formats.query.rounds.cost_estimate import Estimate, estimate
from rounds.formats import format_of
from rounds.models import Release, Round
from rounds.preview import Preview, audit_notes, preview
from rounds.selectors import BracketView, Line, Name, Progress, StageView, StandingRow, progress, stages, standings
from formats.query.rounds.suspicious_models import suspicious_models
from formats.transfer.rounds.progression import NO_WORKER
from formats.transfer.rounds.standings import TransferPlace
from tournaments.fixed_fields import failed_runs, run_counts
from tournaments.selectors import AnyRun, held_by_workers

State = Round.State

STATE_TEXT = {
    State.PLANNED: "Planned. It is frozen automatically when its window begins.",
    State.FROZEN: "Frozen: the entries are fixed. Nothing plays until you start it.",
    State.PLAYING: "Running. This page refreshes every 15 seconds.",
    State.PAUSED: "Paused: what was running is finished, and nothing new starts until you resume it.",
    State.SCORED: "Scored, visible to organisers only. Check the preview, then publish the result.",
    State.PUBLISHED: "Published: the result is public and does not change. You can now release files.",
    State.CANCELLED: "Cancelled: it has no result.",
}
COSTS = (State.PLANNED, State.FROZEN, State.PLAYING, State.PAUSED)


@dataclass(frozen=True)
class Table:
    """A table of the admin. Cells are text or links."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Section:
    """Tables under one heading, collapsed if `folded`."""

    title: str
    tables: Sequence[Table]
    text: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Dashboard:
    """The whole dashboard. `percent` is the share of the maximal cost that is played; None if unknown."""

    state: str
    problem: str
    percent: int | None
    sections: Sequence[Section]


def dashboard(round_: Round) -> Dashboard:
    """Return the dashboard of the round, in a number of queries that does not grow with the round."""
    transfer = round_.competition.format == Competition.Format.TRANSFER
    return _of_transfer(round_) if transfer else _of_query(round_)


def _of_transfer(round_: Round) -> Dashboard:
    """Return the sections that a round without stages has."""
    titles = {track.name: track.title for track in round_.competition.tracks.all()}
    tournament = round_.tournament
    played, needed = run_counts(tournament) if tournament else (0, 0)
    failed = failed_runs(tournament) if tournament else []
    views = format_of(round_).preview(round_) if round_.state == State.SCORED else []
    statuses = workers()
    live = sum(each.live for each in statuses)
    counts = [("Runs played", f"{played:,}"), ("Runs needed", f"{needed:,}")] if tournament else []
    cost = Table("", (), [*counts, *([("Live workers", live)] if round_.state in COSTS else [])])
    waits = round_.state in (State.PLANNED, State.FROZEN) and not live
    sections = [
        Section("Cost", [cost] if cost.rows else [], RUNS),
        Section("Faults", [_failed_runs(failed)] if failed else []),
        Section("What publishing changes", _places(views), PREVIEW),
        Section("Entries", _field(round_, titles, ()) if round_.state in COSTS else []),
        Section("Standings", _transfer_standings(round_, titles) if round_.state not in COSTS else []),
        Section("Releases", _releases(round_)),
        Section("Workers", [_workers(statuses, held_by_workers())] if round_.state in COSTS else [], folded=True),
    ]
    percent = 100 * played // needed if needed and round_.state in COSTS else None
    shown = [section for section in sections if section.tables]
    problem = round_.problem or (NO_WORKER if waits else "")
    return Dashboard(STATE_TEXT[State(round_.state)], problem, percent, shown)


def _of_query(round_: Round) -> Dashboard:
    maximum = estimate(round_) if round_.state in COSTS else None
    played = progress(round_)
    titles = {track.name: track.title for track in round_.competition.tracks.all()}
    brackets = stages(round_)
    views = preview(round_) if round_.state == State.SCORED else []
    sections = [
        Section("Cost", [_cost(maximum, played)], COST),
        Section("Faults", [_faults(played.faults)] if played.faults else []),
        Section("Failed audits", _failed_audits(round_), AUDITS),
        Section("What publishing changes", _previews(views), " ".join([PREVIEW, *audit_notes(views)])),
        Section("Entries", _field(round_, titles, brackets) if round_.state in COSTS else []),
        Section("Standings", _standings(round_, titles) if round_.state not in COSTS else []),
        *_stages(round_, titles, brackets),
        Section("Warnings", _warnings(round_), WARNINGS),
        Section("Releases", _releases(round_)),
        Section("Workers", [_workers(workers())] if round_.state in COSTS else [], folded=True),
    ]
    percent = 100 * played.done // maximum.triples_most if maximum and maximum.triples_most else None
    shown = [section for section in sections if section.tables]
    return Dashboard(STATE_TEXT[State(round_.state)], round_.problem, percent, shown)


COST = "In samples played: one attack on one image against one model counts one."
RUNS = "A run is an attack on one batch of images, or a defence on what an attack made of it."
PREVIEW = "Nothing here is public or in force until you publish the round."
AUDITS = (
    "A model leaves at the end of a stage if its audits failed against more than half of the attacks that measure "
    "it, and at least two: one attack alone could provoke that. Override the audit of a model that you trust; "
    "disqualify one that you do not trust."
)
WARNINGS = "Attacks that do not count but would have broken a winning model. They do not score; publishing shows them."


def _cost(maximum: Estimate | None, played: Progress) -> Table:
    rows: list[tuple[str, object]] = [
        ("Samples played", f"{played.done:,}"),
        ("Requested, not yet played", f"{played.left:,}"),
        ("Matches", f"{played.matches:,}"),
    ]
    if maximum is not None:
        rows += [
            ("Maximum in total", f"{maximum.triples_most:,}" if maximum.triples_most else "a side is missing"),
            ("Maximum time, at measured speed", _time(maximum)),
            (
                "Maximum disk",
                "unknown: nothing played yet" if maximum.disk_bytes is None else _size(maximum.disk_bytes),
            ),
            ("Live workers", maximum.workers),
        ]
    return Table("", (), rows)


def _time(maximum: Estimate) -> str:
    if maximum.hours is None:
        return "unknown: nothing played yet" if maximum.workers else "unknown: no live worker"
    return duration(3600 * maximum.hours)


def _size(size: int) -> str:
    return str(filesizeformat(size)).replace("\xa0", " ")


def _faults(failed: Iterable[Match]) -> Table:
    rows = []
    for match in failed:
        replay = reverse("admin:matches_match_replay", args=[match.pk])
        button = format_html('<a class="text-link" href="{}">Replay</a>', replay)
        rows.append((link_to(match), f"{match.attack.title} against {match.model.title}", match.fault, button))
    return Table("", ("match", "of", "failure", ""), rows)


def _failed_runs(failed: Iterable[AnyRun]) -> Table:
    rows = []
    for run in failed:
        replay = reverse(f"admin:tournaments_{run._meta.model_name}_replay", args=[run.pk])
        button = format_html('<a class="text-link" href="{}">Replay</a>', replay)
        rows.append((link_to(run), run.fault, button))
    return Table("", ("run", "failure", ""), rows)


def _failed_audits(round_: Round) -> list[Table]:
    rows = []
    for each in suspicious_models(round_):
        state = "audit overridden" if each.kept else f"eliminated in {each.left_in}" if each.left_in else "in"
        button: object = ""
        if round_.state in OVERRIDABLE and not each.kept:
            override = reverse("admin:rounds_roundentry_override_audit", args=[each.entry])
            button = format_html('<a class="text-link" href="{}">Override audit</a>', override)
        rows.append((each.team, each.title, f"{each.failed} of {each.matches} matches", state, button))
    return [Table("", ("team", "title", "audit failed in", "state", ""), rows)] if rows else []


def _previews(views: Iterable[Preview]) -> list[Table]:
    made = []
    for view in views:
        made.append(Table(f"{view.track.title}: pool", ("place", "now", "after"), _pools(view)))
        made += _places([view], titled=False)
    return made


def _places(views: Iterable[Preview], *, titled: bool = True) -> list[Table]:
    """Return the places of each track next to the ranks on its leaderboard."""
    headers = ("place", "rank on the board", "team", "title", "why", "")
    return [
        Table(
            view.track.title if titled else "",
            headers,
            [(row.place, row.rank_before or "new", row.team, row.title, row.why, row.remark) for row in view.rows],
        )
        for view in views
    ]


def _pools(view: Preview) -> list[tuple[object, ...]]:
    before, after = (list(pool) for pool in (view.pool_before, view.pool_after or view.pool_before))
    kept, new = set(before) & set(after), set(after) - set(before)
    rows: list[tuple[object, ...]] = []
    for place in range(max(len(before), len(after))):
        old = before[place] if place < len(before) else None
        now = after[place] if place < len(after) else None
        leaves = " (leaves)" if old and old not in kept else ""
        enters = " (enters)" if now in new else ""
        rows.append((place + 1, f"{old.title}{leaves}" if old else "", f"{now.title}{enters}" if now else ""))
    return rows


def _field(round_: Round, titles: Mapping[str, str], brackets: Iterable[BracketView]) -> list[Table]:
    cut = {
        (track_name, line.name.player): stage.number
        for bracket in brackets
        for stage in bracket.stages
        for track_name, lines in (("model", stage.models), (bracket.track_name, stage.attacks))
        for line in lines
        if not line.kept
    }
    headers = ("seed", "team", "title", "state", "prizes", "")
    made = []
    for track_name, rows in standings(round_).items():
        lines = [
            (
                row.prior,
                row.team,
                _title(row),
                f"cut in stage {stage}" if (stage := cut.get((track_name, row.player))) else "in",
                _prizes(row),
                row.gone,
            )
            for row in sorted(rows, key=lambda row: row.prior)
        ]
        made.append(Table(titles[track_name], headers, lines))
    return [table for table in made if table.rows]


def _title(row: StandingRow) -> str:
    entry = reverse("admin:rounds_roundentry_change", args=[row.entry])
    return format_html('<a class="text-link" href="{}">{}</a>', entry, row.title or f"submission {row.submission}")


def _prizes(row: StandingRow) -> str:
    if not row.eligible:
        return f"no: {row.ineligible_because}"
    return "yes" if row.prize_place in (None, row.place) else f"yes, as place {row.prize_place}"


def _standings(round_: Round, titles: Mapping[str, str]) -> list[Table]:
    headers = ("place", "ranks", "team", "title", "score", "95 % interval", "failures", "cut in stage", "prizes", "")
    return [
        Table(titles[track_name], headers, [_standing(row) for row in rows])
        for track_name, rows in standings(round_).items()
        if rows
    ]


def _transfer_standings(round_: Round, titles: Mapping[str, str]) -> list[Table]:
    """Return the standings of a round whose scores are shares of images."""
    headers = (
        "place",
        "ranks",
        "team",
        "title",
        "score",
        "95 % interval",
        "worst",
        "raw",
        "coverage",
        "opponents",
        "prizes",
        "",
    )
    return [
        Table(titles[track_name], headers, [_transfer_standing(row) for row in rows])
        for track_name, rows in transfer_standings.standings(round_).items()
        if rows
    ]


def _transfer_standing(row: TransferPlace) -> tuple[object, ...]:
    shares = ["" if value is None else f"{value:.1%}" for value in (row.of.value, row.worst, row.coverage)]
    return (
        "" if row.of.place is None else row.of.place,
        "" if row.of.rank_low is None else f"{row.of.rank_low} to {row.of.rank_high}",
        row.of.team,
        _title(row.of),
        shares[0],
        "" if row.of.low is None or row.of.high is None else f"{row.of.low:.1%} to {row.of.high:.1%}",
        shares[1],
        "" if row.raw is None else row.raw,
        shares[2],
        "" if row.of.opponents is None else row.of.opponents,
        _prizes(row.of),
        row.of.gone,
    )


def _standing(row: StandingRow) -> tuple[object, ...]:
    met = f"scored by {row.met} of {row.opponents}" if row.met != row.opponents else ""
    marks = [row.gone, "not broken" if row.not_broken else "", met]
    return (
        "" if row.place is None else row.place,
        "" if row.rank_low is None else f"{row.rank_low} to {row.rank_high}",
        row.team,
        _title(row),
        "" if row.value is None else f"{row.value:.3f}",
        "" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}",
        "" if row.failures is None else row.failures,
        row.stage if row.place is not None and row.value is None else "",
        _prizes(row),
        ", ".join(filter(None, marks)),
    )


def _stages(round_: Round, titles: Mapping[str, str], brackets: Iterable[BracketView]) -> list[Section]:
    log = reverse("admin:rounds_decision_changelist")
    link = format_html('<a class="text-link" href="{}?stage__round__id__exact={}">Decision log</a>', log, round_.pk)
    made = []
    for bracket in brackets:
        for stage in bracket.stages:
            title = f"{titles[bracket.track_name]}, stage {stage.number}: {stage.samples} samples"
            sides = ((titles["model"], stage.models), (titles[bracket.track_name], stage.attacks))
            tables = [Table(side, HEADERS, [_line(line) for line in lines]) for side, lines in sides if lines]
            made.append(Section(title, tables, format_html("{} {}", _panels(stage), link), folded=True))
    return made


HEADERS = ("place", "player", "teams", "measure", "threshold", "")


def _line(line: Line) -> tuple[object, ...]:
    return (
        line.place,
        line.name.title,
        ", ".join(line.name.teams),
        "inconsistent" if line.inconsistent else "no opponent" if line.value is None else f"{line.value:.4g}",
        "" if line.cut_line is None else f"{line.cut_line:.4g}",
        ("kept by the guard" if line.spared else "stays") if line.kept else "left" if line.inconsistent else "cut",
    )


def _panels(stage: StageView) -> str:
    by = stage.ordered_by.replace("_", " ")
    renewed = "The panels were drawn again. " if stage.renewed else ""
    loop = f"The best five form a loop of {stage.loop}, and all of them count. " if stage.loop > 1 else ""
    return (
        f"Ordered by the {by}. {renewed}{loop}Models met {_names(stage.panel_attacks)}; "
        f"attacks met {_names(stage.panel_models)}."
    )


def _names(names: Iterable[Name]) -> str:
    return ", ".join(name.title for name in names) or "none"


def _warnings(round_: Round) -> list[Table]:
    rows = [
        (row.attack.title, row.model.title, f"nearer on {row.nearer} of {row.samples} samples{_with_it(row.median)}")
        for row in round_.warnings.select_related("model", "attack")
    ]
    return [Table("", ("attack", "would have broken", ""), rows)] if rows else []


def _with_it(median: float | None) -> str:
    return "" if median is None else f"; the model's score on these, with it: {median:.3f}"


def _releases(round_: Round) -> list[Table]:
    made = list(round_.releases.select_related("released_by").order_by("pk"))
    rows: list[tuple[object, ...]] = [
        (row.get_part_display(), row.released_at, row.released_by, row.withdrawn_at or "public") for row in made
    ]
    if round_.state == State.PUBLISHED:
        public = {row.part for row in made if row.withdrawn_at is None}
        rows += [(part.label, "", "", "not public") for part in Release.Part if part not in public]
    return [Table("", ("part", "released", "by", "withdrawn"), rows)] if rows else []


def _workers(statuses: Iterable[WorkerStatus], runs: Container[str] = ()) -> Table:
    """Return the live workers; `runs` holds the names of those that play runs of the transfer format."""
    rows = [
        (
            each.worker.name,
            each.worker.worker_class,
            "plays" if each.holds or each.worker.name in runs else "waits",
        )
        for each in statuses
        if each.live
    ]
    return Table(f"{len(rows)} live", ("worker", "class", ""), rows)
