"""Template tags for models, attacks and their matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evaluation.formats.query.results import Outcome
from formats.query.leaderboards.board_rows import BoardRow
from formats.query.pages.board_page_data import pool_missing
from formats.query.pages.bracket import BracketCell
from formats.query.pages.comparison_curves import MOST
from formats.query.pages.history_charts import SPARK_HEIGHT, SPARK_WIDTH
from formats.query.tracks import MODEL
from rounds.selectors import StandingRow

register = template.Library()

register.simple_tag(pool_missing)

_CUT = SafeString(' class="cut"')
_CUT_NOTE, _SPARED_NOTE = SafeString('<span class="visually-hidden">, cut</span>'), SafeString("<span>spared</span>")

_OUTCOMES: Mapping[str, str] = {
    Outcome.ADVERSARIAL: "Adversarial found",
    Outcome.FAILED: "Held",
    Outcome.CLEAN_WRONG: "Wrong on the clean image",
}


@register.simple_tag
def hardest(track_name: str) -> str:
    """Return the column title for the opponent that costs a player of the track the most."""
    return "Strongest opponent" if track_name == MODEL else "Hardest opponent"


@register.simple_tag
def withstood(track_name: str) -> str:
    """Return the column title for pairs of opponent and sample without an adversarial."""
    return "Held" if track_name == MODEL else "Found nothing"


@register.filter
def outcome(name: str) -> str:
    """Return an outcome of a sample in words."""
    return _OUTCOMES[name]


@register.simple_tag
def match_link(number: int | None, text: str) -> str:
    """Link `text` to the match, if there is one."""
    return (
        text
        if number is None or not text
        else format_html('<a href="{}">{}</a>', reverse("pages:match", args=[number]), text)
    )


@register.simple_tag
def bracket_cells(competition: str, cells: Iterable[BracketCell]) -> SafeString:
    """Write the cells of a player in a bracket; a round has hundreds of them, so without a template."""
    return SafeString("".join(_bracket_cell(competition, cell) for cell in cells))


def _bracket_cell(competition: str, cell: BracketCell) -> SafeString:
    kind = "" if cell.kept else _CUT
    if cell.inconsistent:
        return format_html('<td{}>inconsistent<span class="visually-hidden">, eliminated</span></td>', kind)
    link = matches_link(competition, cell.matches, cell.value)
    note = _CUT_NOTE if not cell.kept else _SPARED_NOTE if cell.spared else ""
    return format_html("<td{}><b>{}</b> {}{}</td>", kind, cell.place, link, note)


def matches_link(competition: str, numbers: Sequence[int], text: str) -> str:
    """Link `text` to the matches, if there are any: to the only one, or to the common curves of the first of them."""
    if len(numbers) < 2 or not text:
        return match_link(numbers[0] if numbers else None, text)
    query = "&".join(f"match={number}" for number in numbers[:MOST])
    return format_html('<a href="{}?{}">{}</a>', _match_curves(competition), query, text)


@lru_cache(maxsize=64)
def _match_curves(competition: str) -> str:
    """Return the address of the common curves of matches, which hundreds of cells of a round's page link to."""
    return reverse("pages:match_curves", args=[competition])


@register.simple_tag
def sparkline(paths: Mapping[int, str], row: BoardRow) -> SafeString:
    """Draw the scores of a team over time, as a link to its history; nothing for a team with one score."""
    path = paths.get(row.submission)
    if path is None:
        return SafeString()
    words = f"Scores of {row.team} over time"
    return format_html(
        '<a href="{}#history" aria-label="{}"><svg class="spark" width="{}" height="{}" '
        'aria-hidden="true" focusable="false"><path d="{}"/></svg></a>',
        *(reverse("pages:team", args=[row.team_slug]), words, SPARK_WIDTH, SPARK_HEIGHT, path),
    )


@register.filter
def shared_places(rows: Sequence[StandingRow]) -> set[int]:
    """Return the places that more than one row has."""
    counted = Counter(row.place for row in rows if row.place is not None)
    return {place for place, count in counted.items() if count > 1}
