"""Pages and announcements that organisers write. Superusers write the pages of the site."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from django.db import transaction

from accounts.models import User
from competitions.models import Announcement, Competition, Page
from competitions.permissions import require
from core import clock, event_log
from core.calendar_range import require_in_calendar
from core.errors import Refusal
from core.roles import Right

ANNOUNCED_AGAIN = timedelta(hours=1)
"""For how long the same announcement of a program is a repeated request."""


def write_page(*, competition: Competition | None, name: str, text: str, by: User) -> Page:
    """Create or replace a page, of the site if `competition` is None. Raise `Refusal` for people who may not."""
    _require_writer(by, competition)
    if competition is None and name == Page.Name.PRIZES:
        raise Refusal("prizes belong to a competition", fix="choose the competition")
    return keep_page(competition=competition, name=name, text=text, by=by)


def keep_page(*, competition: Competition | None, name: str, text: str, by: User | None) -> Page:
    """Create or replace a page without a check of `by`: for an import. A text that is the same changes nothing."""
    text = text.replace("\r\n", "\n")
    with transaction.atomic():
        page = Page.objects.filter(competition=competition, name=name).first()
        if page is None:
            page = Page.objects.create(competition=competition, name=name, text=text, changed_at=clock.now())
        elif page.text == text:
            return page
        else:
            page.text, page.changed_at = text, clock.now()
            page.save()
        event_log.record("write_page", page, by=by, page=str(page), digest=hashlib.sha256(text.encode()).hexdigest())
    return page


def remove_page(*, page: Page, by: User) -> None:
    """Remove a page. Raise `Refusal` for people who may not."""
    _require_writer(by, page.competition)
    drop_page(page=page, by=by)


def drop_page(*, page: Page, by: User | None) -> None:
    """Remove a page without a check of `by`: for an import."""
    with transaction.atomic():
        event_log.record("remove_page", page, by=by, page=str(page))
        page.delete()


def announce(*, competition: Competition, title: str, text: str, published_at: datetime, by: User) -> Announcement:
    """Publish an announcement at a time. Raise `Refusal` unless `by` is an organiser, and for one out of range."""
    require(by, competition, Right.ANSWER)
    require_in_calendar(published_at)
    with transaction.atomic():
        made = Announcement.objects.create(
            competition=competition, title=title, text=text, published_at=published_at, changed_at=published_at
        )
        event_log.record("announce", made, by=by, title=title, published_at=published_at.isoformat())
    return made


def announce_once(
    *, competition: Competition, title: str, text: str, published_at: datetime | None, by: User
) -> tuple[Announcement, bool]:
    """Publish an announcement, at a time or now, unless it is there already; return it, and whether it is new.

    So a program whose answer was lost may ask again. The same is an equal title and text for an equal time, or without
    a time one that was published within `ANNOUNCED_AGAIN`. Raise `Refusal` unless `by` is an organiser.
    """
    require(by, competition, Right.ANSWER)
    with transaction.atomic():
        Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)  # of two requests the second finds it
        now = clock.database_now()
        times = (now - ANNOUNCED_AGAIN, now) if published_at is None else (published_at, published_at)
        equal = Announcement.objects.filter(competition=competition, title=title, text=text, published_at__range=times)
        if (known := equal.first()) is not None:
            return known, False
        at = published_at or now
        return announce(competition=competition, title=title, text=text, published_at=at, by=by), True


def change_announcement(*, announcement: Announcement, title: str, text: str, published_at: datetime, by: User) -> None:
    """Change an announcement; feeds show it as updated. Raise `Refusal` unless `by` is an organiser, and
    for a time out of range.
    """
    require(by, announcement.competition, Right.ANSWER)
    require_in_calendar(published_at)
    with transaction.atomic():
        announcement.title, announcement.text, announcement.published_at = title, text, published_at
        announcement.changed_at = clock.now()
        announcement.save()
        event_log.record("change_announcement", announcement, by=by, title=title, published_at=published_at.isoformat())


def remove_announcement(*, announcement: Announcement, by: User) -> None:
    """Remove an announcement. Raise `Refusal` unless `by` is an organiser."""
    require(by, announcement.competition, Right.ANSWER)
    with transaction.atomic():
        event_log.record("remove_announcement", announcement, by=by, title=announcement.title)
        announcement.delete()


def _require_writer(by: User, competition: Competition | None) -> None:
    if competition is not None:
        require(by, competition, Right.RUN)
    elif not (by.is_active and by.is_superuser):
        raise Refusal("only superusers write the pages of the site", fix="ask an operator, or choose your competition")
