"""The page of the admin on which an organiser enters what is expected of a season, and reads what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from django.forms import FloatField, Form, IntegerField
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminTextInputWidget

from competitions.formats import competition_formats
from competitions.models import Competition, Track
from competitions.season_costs import (
    CostLine,
    ExpectedSeason,
    ExpectedTrack,
    Quantity,
    SeasonCosts,
    season_submissions,
)
from core.errors import Fault
from core.time_format import duration

MOST_TEAMS, MOST_DAYS, MOST_EACH_DAY, MOST_VALUE = 10_000, 36_500, 1_000.0, 1e9
"""The largest numbers that the form takes."""


class SeasonForm(Form):
    """What an organiser expects of a season; in the fields of quantities are the values that the site knows."""

    def __init__(
        self, competition: Competition, quantities: Sequence[Quantity], data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(data)
        self._tracks, self._quantities = list(competition.tracks.all()), quantities
        entries = competition.entries.count()
        for track in self._tracks:
            self._add_track(track, entries)
        length = ceil((competition.ends_at - competition.starts_at).total_seconds() / 86_400)
        self.fields["days"] = IntegerField(
            min_value=1, max_value=MOST_DAYS, initial=length, label="Days", widget=UnfoldAdminTextInputWidget(),
            help_text=f"In which teams submit. The competition is {length:,} days long.",
        )  # fmt: skip
        for each in quantities:
            self.fields[each.name] = _number(each.label, each.value, MOST_VALUE, each.source)

    def _add_track(self, track: Track, entries: int) -> None:
        self.fields[f"teams_{track.name}"] = IntegerField(
            min_value=0, max_value=MOST_TEAMS, initial=entries or None, label=f"{track.title}: teams",
            widget=UnfoldAdminTextInputWidget(),
            help_text=f"Teams that submit to this track. {entries:,} have entered so far.",
        )  # fmt: skip
        self.fields[f"each_day_{track.name}"] = _number(
            f"{track.title}: submissions of a team each day", float(track.quota), MOST_EACH_DAY,
            f"The quota is {track.quota}, which hardly any team uses every day. 0.2 is one in five days.",
        )  # fmt: skip
        self.fields[f"gpu_{track.name}"] = _number(
            f"{track.title}: submissions with a GPU (%)", 0.0, 100.0, "Those whose manifest says gpu = true."
        )

    @property
    def season(self) -> ExpectedSeason:
        """What a valid form expects."""
        entered = self.cleaned_data
        tracks = {}
        for track in self._tracks:
            teams, each_day = entered[f"teams_{track.name}"], entered[f"each_day_{track.name}"]
            submissions = season_submissions(teams, each_day, entered["days"])
            tracks[track.name] = ExpectedTrack(teams, submissions, entered[f"gpu_{track.name}"] / 100.0)
        return ExpectedSeason(tracks, {each.name: entered[each.name] for each in self._quantities})


def _number(label: str, value: float, most: float, help_text: str) -> FloatField:
    shown = float(f"{value:.4g}")
    initial = int(shown) if shown.is_integer() else shown
    return FloatField(
        min_value=0.0, max_value=most, initial=initial, label=label, help_text=help_text,
        widget=UnfoldAdminTextInputWidget(),
    )  # fmt: skip


@dataclass(frozen=True)
class CostRow:
    """A line of the table, in words."""

    title: str
    made_of: str
    number: str
    samples: str
    queries: str
    processor_hours: str
    gpu_hours: str
    wall_time: str
    stored: str


def season_costs_page(request: HttpRequest, competition: Competition, context: dict[str, Any]) -> HttpResponse:
    """Answer with the form, and with the costs of what is entered, which the address has: nothing is stored."""
    context |= {"title": f"Costs of {competition}", "competition": competition}
    try:
        part = competition_formats.of(competition)
        form = SeasonForm(
            competition, part.season_quantities(competition), request.GET if "days" in request.GET else None
        )
        context["form"] = form
        if form.is_valid():
            costs = part.season_costs(competition, form.season)
            context |= {"costs": costs, "rows": [row_of(line, costs) for line in costs.lines]}
            context["total"] = row_of(costs.total, costs)
    except Fault as fault:
        context["missing"] = str(fault)
    return TemplateResponse(request, "admin/competitions/season_costs.html", context)


def row_of(line: CostLine, costs: SeasonCosts) -> CostRow:
    """Return a line in words; what does not apply to it is empty."""
    wall = costs.wall_seconds(line)
    return CostRow(
        line.title,
        line.made_of,
        f"{line.number:,} {line.unit}" if line.number else "",
        f"{line.samples:,}" if line.samples else "",
        f"{round(line.queries):,}" if line.queries else "",
        _hours(line.seconds),
        _hours(line.gpu_seconds) if line.gpu_seconds else "",
        duration(wall) if wall is not None else "",
        str(filesizeformat(line.stored_bytes)).replace("\xa0", " ") if line.stored_bytes else "",
    )


def _hours(seconds: float) -> str:
    """Return hours with three significant digits, and no more than are there."""
    hours = seconds / 3600
    return f"{hours:,.0f}" if hours >= 100 else f"{hours:.3g}"
