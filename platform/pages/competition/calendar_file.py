"""The calendar of a competition as a file that calendar programs subscribe to (iCalendar, RFC 5545)."""

from __future__ import annotations

from datetime import datetime

from django.urls import reverse
from icalendar import Calendar as File
from icalendar import Event

from competitions.models import Competition
from pages.competition.calendar import Calendar, CalendarItem


def calendar_file(competition: Competition, shown: Calendar, site: str) -> bytes:
    """Return start, end, freeze windows and rounds of a competition. Equal dates give equal bytes.

    `site` is the address of the site without a slash at its end. The id of an event stays when its times change.
    """
    file = File()
    file.add("prodid", "-//Gauntlet//calendar of a competition//EN")
    file.add("version", "2.0")
    file.add("x-wr-calname", competition.title)
    page = f"{site}{reverse('pages:competition', args=[competition.slug])}"
    host = site.partition("//")[2]
    for name, at in (("starts", competition.starts_at), ("ends", competition.ends_at)):
        title = f"{competition.title} {name}"
        file.add_component(_event(competition, f"{competition.slug}-{name}@{host}", title, at, at, page))
    for item in sorted([*shown.past, *shown.ahead], key=lambda each: (each.window.starts_at, each.window.pk)):
        file.add_component(_of_window(competition, item, site, page, host))
    content: bytes = file.to_ical()
    return content


def _of_window(competition: Competition, item: CalendarItem, site: str, page: str, host: str) -> Event:
    what = item.round.title if item.round else item.window.reason
    if item.round:
        page = f"{site}{reverse('pages:round', args=[competition.slug, item.round.number])}"
    uid, title = f"{competition.slug}-window-{item.window.pk}@{host}", f"{competition.title}: {what}"
    event = _event(competition, uid, title, item.window.starts_at, item.window.ends_at, page)
    event.add("description", f"Submissions are closed. {page}")
    event.add("status", "CANCELLED" if item.window.called_off_at else "CONFIRMED")
    return event


def _event(competition: Competition, uid: str, title: str, starts_at: datetime, ends_at: datetime, page: str) -> Event:
    event = Event()
    event.add("uid", uid)
    event.add("dtstamp", competition.created_at)  # required; the time of the request would change every answer
    event.add("summary", title)
    event.add("dtstart", starts_at)
    if ends_at != starts_at:
        event.add("dtend", ends_at)
    event.add("url", page)
    return event
