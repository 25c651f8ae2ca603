"""The Atom feed of a competition's announcements."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils.feedgenerator import Atom1Feed

from competitions.models import Announcement, Competition
from pages.markdown import render

MOST = 50


class _Feed(Atom1Feed):
    """A feed that is as old as its competition while it is empty, so that equal feeds are equal bytes."""

    made_at: datetime

    def latest_post_date(self) -> datetime:
        return super().latest_post_date() if self.items else self.made_at


def atom(competition: Competition, announcements: Iterable[Announcement], *, site: str, page: str, feed: str) -> str:
    """Return the feed as XML; `site` is the address of the site, `page` and `feed` are paths on it."""
    host = site.partition("://")[2].partition(":")[0]
    written = _Feed(
        title=competition.title, link=site + page, description=competition.summary, feed_url=site + feed, language="en"
    )
    written.made_at = competition.created_at
    for each in announcements:
        written.add_item(
            title=each.title,
            link=f"{site}{page}#announcement-{each.pk}",
            description=render(each.text),
            pubdate=each.published_at,
            updateddate=max(each.changed_at, each.published_at),
            # never changes, also if the title or the time do
            unique_id=f"tag:{host},{competition.created_at.date().isoformat()}:announcement-{each.pk}",
        )
    return str(written.writeString("utf-8"))
