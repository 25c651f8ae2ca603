"""How the pages write things: times, numbers, Markdown, intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.contrib.auth.models import AnonymousUser
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.token import Token

from accounts.models import Team, User
from accounts.selectors import teams_of
from competitions.models import Track
from core import clock, rounding
from core.times import to_minute
from evaluation.domain.significant_digits import decimals
from pages.chart_axis import Axis

register = template.Library()

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
_DEEPEST_HEADING = 6


@register.filter
def markdown(text: str) -> SafeString:
    """Markdown as HTML. Raw HTML in it is shown as text, and its headings stand below the page's own."""
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        _lower(token)
    html = str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))
    return SafeString(html)  # the renderer escapes what is not its own


def _lower(token: Token) -> None:
    if token.type in {"heading_open", "heading_close"}:
        token.tag = f"h{min(int(token.tag[1]) + 1, _DEEPEST_HEADING)}"


@register.filter
def moment(at: datetime | None) -> SafeString | str:
    """A time in UTC, readable by people and programs."""
    return "" if at is None else _time(at, SafeString())


@register.filter
def local_moment(at: datetime | None) -> SafeString | str:
    """A time that the browser turns into that of its reader's zone; UTC where no script runs."""
    return "" if at is None else _time(at, SafeString(" data-local"))


def _time(at: datetime, attribute: SafeString) -> SafeString:
    at, minute = at.astimezone(UTC), to_minute(at)
    return format_html(
        '<time datetime="{}" title="{}"{}>{}</time>',
        _for_programs(at),
        at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        attribute,
        f"{minute.day} {minute:%b %Y, %H:%M} UTC",
    )


def _for_programs(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@register.simple_tag
def countdown(at: datetime) -> SafeString:
    """How long it still is to a time, "in 2 d 3 h"; the browser counts on."""
    return format_html(
        '<span class="nowrap" data-until="{}">{}</span>', _for_programs(at), until((at - clock.now()).total_seconds())
    )


def until(seconds: float) -> str:
    """A time that is so many seconds ahead, to the minute: "in 2 d 3 h", "in 41 min", "now"."""
    if seconds <= 0:
        return "now"
    minutes = int(seconds // 60)
    hours, days = minutes // 60, minutes // 1440
    if days:
        return f"in {days} d {hours % 24} h"
    if hours:
        return f"in {hours} h {minutes % 60} min"
    return f"in {minutes} min" if minutes else "in less than a minute"


@register.filter
def duration(seconds: float | None) -> str:
    """A length of time in the two units that matter: 4 min 10 s."""
    if seconds is None:
        return ""
    seconds = rounding.seconds(seconds)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{round(hours / 24)} days"


@register.filter
def distance(value: float | None) -> str:
    """A distance as scores show it."""
    return "" if value is None else f"{rounding.distance(value):.{rounding.DECIMALS}f}"


@register.filter
def digits(value: float | None, scored: Any) -> str:
    """A distance in the digits that the interval of the score beside it (`scored.low`, `scored.high`) leaves."""
    if value is None or scored.low is None or scored.high is None:
        return distance(value)
    return f"{rounding.distance(value):.{decimals(scored.low, scored.high)}f}"


@register.filter
def accuracy(share: float | None) -> str:
    """A share of samples that are right, "96.5 %"."""
    return "" if share is None else f"{share:.1%}".replace("%", " %")


@register.filter
def queries(value: float | None) -> str:
    """A mean number of queries."""
    return "" if value is None else f"{rounding.queries(value):,}"


@register.filter
def skew(seconds: float) -> str:
    """How far a clock is off that of the database, in whole seconds: "31 s ahead"; "in step" below one."""
    off = round(abs(seconds))
    if not off:
        return "in step"
    return f"{f'{off} s' if off < 60 else duration(off)} {'ahead' if seconds > 0 else 'behind'}"


@register.filter
def kept_name(value: str) -> str:
    """A machine's name for something, as words: `too_slow` becomes `too slow`."""
    return value.replace("_", " ")


@register.filter
def short(commit: str) -> str:
    """The start of a commit or digest, by which people tell them apart."""
    return commit.removeprefix("sha256:")[:10]


@register.inclusion_tag("pages/parts/range.html")
def interval(low: float, value: float, high: float, axis: Axis) -> Mapping[str, Any]:
    """A score and its interval, drawn on the axis of its table."""
    written = decimals(low, high)
    low, value, high = map(rounding.distance, (low, value, high))
    start = axis.at(low)
    return {
        "ticks": axis.path,
        "start": f"{start:.2f}",
        "width": f"{max(axis.at(high) - start, 0):.2f}",
        "point": f"{axis.at(value):.2f}",
        "words": f"interval {low:.{written}f} to {high:.{written}f}",
    }


@register.inclusion_tag("pages/parts/axis.html")
def ticks(axis: Axis) -> Mapping[str, Any]:
    """The numbers of an axis, to stand above or below bars of its width."""
    return {"axis": axis, "words": f"axis from 0 to {axis.ticks[-1].text}"}


@register.simple_tag
def hardest(track_name: str) -> str:
    """What the opponent is called against whom a player of that track fares worst."""
    return "Strongest opponent" if track_name == Track.Name.MODEL else "Hardest opponent"


@register.simple_tag
def withstood(track_name: str) -> str:
    """What pairs of opponent and sample without an adversarial are called: a model's merit, an attack's loss."""
    return "Held" if track_name == Track.Name.MODEL else "Found nothing"


@register.filter
def share(failures: int, tries: int | None) -> str:
    """Such pairs as a share of all, "8 of 80"; alone where it is not known how many there were."""
    return f"{intcomma(failures)} of {intcomma(tries)}" if tries else str(intcomma(failures))


@register.simple_block_tag
def written(content: str) -> str:
    """What stands in the block, in one line; kept under a name with `as`, to be written twice."""
    return SafeString(" ".join(content.split()))  # a rendered block: what it shows of others is escaped


@register.simple_tag(takes_context=True)
def site_address(context: Mapping[str, Any]) -> str:
    """Where the site is, "https://arena.example"; "" where the request names no host of ours."""
    request: HttpRequest | None = context.get("request")
    try:
        return f"{request.scheme}://{request.get_host()}" if request else ""
    except DisallowedHost:
        return ""


@register.simple_tag
def own_teams(user: User | AnonymousUser) -> Sequence[Team]:
    """The teams of whoever looks at the page, for its menu."""
    return list(teams_of(user))
