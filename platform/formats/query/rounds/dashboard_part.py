"""What the organiser's dashboard of a round of the query format shows of its matches, stages and pools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html

from core.administration.link_columns import link_to
from core.time_format import duration
from formats.query.matches.models import Match
from formats.query.rounds.audit_overrides import OVERRIDABLE
from formats.query.rounds.cost_estimate import CostEstimate, estimate
from formats.query.rounds.models_with_failed_audits import suspicious_models
from formats.query.rounds.progress import TripleProgress, progress
from formats.query.rounds.stages_and_decisions import BracketView, DecisionLogLine, Name, StageView, stages
from formats.query.tracks import MODEL
from rounds.models import Round
from rounds.publishing.preview import Preview
from rounds.running.dashboard_tables import (
    BEFORE_SCORE,
    DashboardPart,
    DashboardTable,
    Section,
    linked_title,
    places,
    prizes,
    ranks,
    replay_button,
    track_titles,
)
from rounds.selectors import StandingRow, standings

COST = "In samples played: one attack on one image against one model counts one."
AUDITS = (
    "A model leaves at the end of a stage if its audits failed against more than half of the attacks that measure "
    "it, and at least two: one attack alone could provoke that. Override the audit of a model that you trust; "
    "disqualify one that you do not trust."
)
WARNINGS = "Attacks that do not count but would have broken a winning model. They do not score; publishing shows them."


def dashboard_part(round_: Round, views: Sequence[Preview]) -> DashboardPart:
    """Return what the dashboard shows of a round that plays matches in stages."""
    runs = round_.state in BEFORE_SCORE
    maximum = estimate(round_) if runs else None
    played = progress(round_)
    titles = track_titles(round_)
    brackets = stages(round_)
    percent = 100 * played.done // maximum.triples_most if maximum and maximum.triples_most else None
    return DashboardPart(
        work=[
            Section("Cost", [_cost(maximum, played)], COST),
            Section("Faults", [_faults(played.faults)] if played.faults else []),
            Section("Failed audits", _failed_audits(round_), AUDITS),
        ],
        changes=_previews(views),
        standings=[] if runs else _standings(round_, titles),
        log=[*_stages(round_, titles, brackets), Section("Warnings", _warnings(round_), WARNINGS)],
        cut=_cut(brackets),
        percent=percent,
        progress="" if percent is None else f"{percent} % of the maximum cost is played.",
    )


def _cut(brackets: Iterable[BracketView]) -> dict[tuple[str, int], int]:
    """Return the stage in which each player left, by track name and key."""
    return {
        (track_name, line.name.player): stage.number
        for bracket in brackets
        for stage in bracket.stages
        for track_name, lines in ((MODEL, stage.models), (bracket.track_name, stage.attacks))
        for line in lines
        if not line.kept
    }


def _cost(maximum: CostEstimate | None, played: TripleProgress) -> DashboardTable:
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
    return DashboardTable("", (), rows)


def _time(maximum: CostEstimate) -> str:
    if maximum.hours is None:
        return "unknown: nothing played yet" if maximum.workers else "unknown: no live worker"
    return duration(3600 * maximum.hours)


def _size(size: int) -> str:
    return str(filesizeformat(size)).replace("\xa0", " ")


def _faults(failed: Iterable[Match]) -> DashboardTable:
    rows = [
        (
            link_to(match),
            f"{match.attack.title} against {match.model.title}",
            match.fault,
            replay_button("matches_match_replay", match.pk),
        )
        for match in failed
    ]
    return DashboardTable("", ("match", "of", "failure", ""), rows)


def _failed_audits(round_: Round) -> list[DashboardTable]:
    rows = []
    for each in suspicious_models(round_):
        state = "audit overridden" if each.kept else f"eliminated in {each.left_in}" if each.left_in else "in"
        button: object = ""
        if round_.state in OVERRIDABLE and not each.kept:
            override = reverse("admin:rounds_roundentry_override_audit", args=[each.entry])
            button = format_html('<a class="text-link" href="{}">Override audit</a>', override)
        rows.append((each.team, each.title, f"{each.failed} of {each.matches} matches", state, button))
    return [DashboardTable("", ("team", "title", "audit failed in", "state", ""), rows)] if rows else []


def _previews(views: Iterable[Preview]) -> list[DashboardTable]:
    made = []
    for view in views:
        made.append(DashboardTable(f"{view.track.title}: pool", ("place", "now", "after"), _pools(view)))
        made += places([view], titled=False)
    return made


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


def _standings(round_: Round, titles: Mapping[str, str]) -> list[DashboardTable]:
    headers = ("place", "ranks", "team", "title", "score", "95 % interval", "failures", "cut in stage", "prizes", "")
    return [
        DashboardTable(titles[track_name], headers, [_standing(row) for row in rows])
        for track_name, rows in standings(round_).items()
        if rows
    ]


def _standing(row: StandingRow) -> tuple[object, ...]:
    met = f"scored by {row.met} of {row.opponents}" if row.met != row.opponents else ""
    marks = [row.gone, "not broken" if row.not_broken else "", met]
    return (
        "" if row.place is None else row.place,
        ranks(row),
        row.team,
        linked_title(row),
        "" if row.value is None else f"{row.value:.3f}",
        "" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}",
        "" if row.failures is None else row.failures,
        row.stage if row.place is not None and row.value is None else "",
        prizes(row),
        ", ".join(filter(None, marks)),
    )


def _stages(round_: Round, titles: Mapping[str, str], brackets: Iterable[BracketView]) -> list[Section]:
    log = reverse("admin:query_rounds_decision_changelist")
    link = format_html('<a class="text-link" href="{}?stage__round__id__exact={}">Decision log</a>', log, round_.pk)
    made = []
    for bracket in brackets:
        for stage in bracket.stages:
            title = f"{titles[bracket.track_name]}, stage {stage.number}: {stage.samples} samples"
            sides = ((titles[MODEL], stage.models), (titles[bracket.track_name], stage.attacks))
            tables = [DashboardTable(side, HEADERS, [_line(line) for line in lines]) for side, lines in sides if lines]
            made.append(Section(title, tables, format_html("{} {}", _panels(stage), link), folded=True))
    return made


HEADERS = ("place", "player", "teams", "measure", "threshold", "")


def _line(line: DecisionLogLine) -> tuple[object, ...]:
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


def _warnings(round_: Round) -> list[DashboardTable]:
    rows = [
        (row.attack.title, row.model.title, f"nearer on {row.nearer} of {row.samples} samples{_with_it(row.median)}")
        for row in round_.warnings.select_related("model", "attack")
    ]
    return [DashboardTable("", ("attack", "would have broken", ""), rows)] if rows else []


def _with_it(median: float | None) -> str:
    return "" if median is None else f"; the model's score on these, with it: {median:.3f}"
