"""Template tags and filters for times, numbers, Markdown and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.template import Engine
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import get_current_timezone_name

from accounts.models import Team
from competitions.models import Competition, Page
from core import clock, rounding, time_format
from core.participant_kit import kit
from evaluation.charts.interval_bar_axis import Axis
from evaluation.domain.score_decimals import decimals
from pages.access import own_teams
from pages.formats import Content
from pages.markdown import render
from pages.player_names import PlayerName
from submissions.local_check_command import local_check as local_check_of

register = template.Library()

FAR = timedelta(days=60)
"""Times that are further away are dates and not countdowns."""


@register.filter
def markdown(text: str, below: int = 1) -> SafeString:
    """Render Markdown as HTML, below a heading of this level (see `pages.markdown`)."""
    return render(text, below)


@register.filter
def moment(at: datetime | None) -> SafeString | str:
    """Format a time in the reader's time zone as a `time` element. Its title has the time in UTC."""
    return "" if at is None else _time(at, SafeString())


@register.filter
def local_moment(at: datetime | None) -> SafeString | str:
    """Format a time that a script converts to the zone of the device, unless the reader has chosen one."""
    chosen = get_current_timezone_name() != "UTC"
    return "" if at is None else _time(at, SafeString("" if chosen else " data-local"))


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """Format a time as how long ago it is, for example "3 h ago"; a script updates it. Its title has the time in UTC.

    Times of more than 30 days ago are dates.
    """
    if at is None:
        return ""
    return format_html(
        '<time class="nowrap" datetime="{}" title="{}" data-ago>{}</time>',
        time_format.for_programs(at),
        time_format.to_second(at),
        time_format.ago(at, clock.now()),
    )


def _time(at: datetime, attribute: SafeString) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{}"{}>{}</time>',
        time_format.for_programs(at),
        time_format.to_second(at),
        attribute,
        time_format.on_page(at),
    )


@register.simple_tag
def countdown(at: datetime) -> SafeString:
    """Format the time that is left, for example "in 2 d 3 h"; a script updates it.

    A far time is a date: "on 9 Feb 2035".
    """
    left = at - clock.now()
    if left > FAR:
        words = f"on {time_format.day(at)}"
        return format_html('<time class="nowrap" datetime="{}">{}</time>', time_format.for_programs(at), words)
    return format_html(
        '<span class="nowrap" data-until="{}">{}</span>',
        time_format.for_programs(at),
        time_format.until(left.total_seconds()),
    )


@register.filter
def duration(seconds: float | None) -> str:
    """Format a duration in at most two units, for example "4 min 10 s"."""
    return "" if seconds is None else time_format.duration(seconds)


@register.filter
def distance(value: float | None) -> str:
    """Format a distance with the number of decimals of scores."""
    return "" if value is None else f"{rounding.distance(value):.{rounding.DECIMALS}f}"


@register.filter
def digits(value: float | None, scored: Any) -> str:
    """Format a distance with the precision of the interval of a score (`scored.low`, `scored.high`)."""
    if value is None or scored.low is None or scored.high is None:
        return distance(value)
    return f"{rounding.distance(value):.{decimals(scored.low, scored.high)}f}"


@register.filter(name="range")
def range_of(scored: Any) -> str:
    """Format the interval of a score with its precision: "1.12 to 1.50"."""
    return _to(digits(scored.low, scored), digits(scored.high, scored))


def _to(low: str, high: str) -> str:
    return f"{low} to {high}"


@register.filter
def share_range(scored: Any) -> str:
    """Format the interval of a score that is a share (`scored.low`, `scored.high`): "61.5 to 82.0 %"."""
    return _to(f"{100 * scored.low:.1f}", accuracy(scored.high))


@register.filter
def accuracy(share: float | None) -> str:
    """Format a share as an accuracy, for example "96.5 %"."""
    return "" if share is None else f"{share:.1%}".replace("%", " %")


@register.filter
def queries(value: float | None) -> str:
    """Format a mean number of queries."""
    return "" if value is None else f"{rounding.queries(value):,}"


@register.filter
def skew(seconds: float) -> str:
    """Format the offset of a clock from the database's, in whole seconds: "31 s ahead", or "in sync" below one."""
    off = round(abs(seconds))
    if not off:
        return "in sync"
    time = f"{off} s" if off < 60 else time_format.duration(off)
    return f"{time} ahead" if seconds > 0 else f"{time} behind"


@register.filter
def spaced(value: str) -> str:
    """Replace underscores of an identifier by spaces: `too_slow` becomes `too slow`."""
    return value.replace("_", " ")


@register.filter
def short(commit: str) -> str:
    """Shorten a commit or digest to ten characters."""
    return commit.removeprefix("sha256:")[:10]


_INTERVAL = (
    '<svg class="range" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{}">'
    '<path class="range-tick" d="{}"/><path class="range-axis" d="M0 5H100"/>'
    '<rect class="range-span" x="{}" y="1.5" width="{}" height="7" rx="0.8"/>'
    '<path class="range-point" d="M{} 0V10"/></svg>'
)


@register.simple_tag
def interval(low: float, value: float, high: float, axis: Axis) -> SafeString:
    """Draw a score and its interval on the axis of its table; a table has hundreds of them, so without a template."""
    written = decimals(low, high)
    low, value, high = map(rounding.distance, (low, value, high))
    start = axis.at(low)
    words = f"interval {low:.{written}f} to {high:.{written}f}"
    width, point = max(axis.at(high) - start, 0), axis.at(value)
    return format_html(_INTERVAL, words, axis.path, f"{start:.2f}", f"{width:.2f}", f"{point:.2f}")


@register.inclusion_tag("pages/parts/axis.html")
def ticks(axis: Axis) -> Mapping[str, Any]:
    """Draw the labels of an axis, for above or below its bars."""
    return {"axis": axis, "words": f"axis from 0 to {axis.ticks[-1].text}"}


@register.filter
def share(failures: int, tries: int | None) -> str:
    """Format a share, for example "8 of 80"; only the number if the total is unknown."""
    part = f"{failures:,}"
    return f"{part} of {tries:,}" if tries else part


@register.filter
def in_brackets(text: str) -> SafeString:
    """Put a text in brackets after another one; nothing for an empty text."""
    return format_html(' <span class="quiet">({})</span>', text) if text else SafeString()


@register.filter
def under(found: Mapping[Any, Any], key: Any) -> Any:
    """Return what a mapping holds under a key, None if nothing."""
    return found.get(key)


@register.inclusion_tag("pages/parts/player.html")
def player_link(players: Mapping[int, PlayerName], key: int) -> Mapping[str, Any]:
    """Show a player with a link to its submission."""
    return {"player": players[key]}


@register.simple_tag(takes_context=True)
def show(context: template.Context, content: Content) -> SafeString:
    """Render what a format shows, with what the page knows besides."""
    with context.push(**content.context):
        return Engine.get_default().get_template(content.template).render(context)


@register.simple_block_tag
def oneline(content: str) -> str:
    """Render the block in one line. With `as NAME`, store it in a variable instead."""
    return SafeString(" ".join(content.split()))  # a rendered block, so its variables are escaped


@register.simple_tag(takes_context=True)
def site_address(context: Mapping[str, Any]) -> str:
    """Return the address of the site, "https://arena.example", or "" if the host of the request is not allowed."""
    request: HttpRequest | None = context.get("request")
    try:
        return f"{request.scheme}://{request.get_host()}" if request else ""
    except DisallowedHost:
        return ""


@register.simple_tag(takes_context=True)
def local_check(context: Mapping[str, Any], competition: Competition) -> str:
    """Return the command that plays the smoke test of the competition on the reader's computer."""
    return local_check_of(competition, site=site_address(context))


@register.simple_tag(takes_context=True)
def commands_to_get_gauntlet(context: Mapping[str, Any]) -> Sequence[str]:
    """Return the commands after which a shell knows `gauntlet`, from the kit or the source.

    There are none where the site has neither.
    """
    if kit() is not None:
        return (
            "python3 -m venv gauntlet-venv",
            ". gauntlet-venv/bin/activate",
            f"pip install -r {site_address(context)}{reverse('pages:kit_requirements')}",
        )
    source = settings.SOURCE_ADDRESS
    if not source:
        return ()
    if source.startswith("/"):  # a demo, whose reader has its checkout
        return (f'export PATH="{source}/.venv/bin:$PATH"',)
    return (f"git clone {source} gauntlet", "make -C gauntlet setup", 'export PATH="$PWD/gauntlet/.venv/bin:$PATH"')


_SITE_MENU = (
    ("Competitions", "pages:competitions"),
    ("Leaderboards", "pages:leaderboards"),
    ("Teams", "pages:teams"),
    ("Docs", "pages:docs"),
    ("Status", "pages:status"),
)


@register.simple_tag(takes_context=True)
def site_menu(context: Mapping[str, Any]) -> Sequence[tuple[str, str, str]]:
    """Return title, address and `aria-current` of each item of the site's menu.

    The item is "page" on its page, "true" on pages below its address, and "" elsewhere.
    """
    request: HttpRequest | None = context.get("request")
    path = request.path if request else ""
    items = [(title, reverse(name)) for title, name in _SITE_MENU]
    return [
        (title, url, "page" if path == url else "true" if path.startswith(f"{url}/") else "") for title, url in items
    ]


@register.simple_tag(takes_context=True)
def menu_teams(context: Mapping[str, Any]) -> Sequence[Team]:
    """Return the teams of the user, for the menu."""
    return own_teams(context["request"])


@register.simple_tag
def legal_pages() -> Sequence[Page]:
    """Return the pages of the site that every footer links: code of conduct, privacy and imprint."""
    return list(Page.objects.filter(competition=None).defer("text"))
