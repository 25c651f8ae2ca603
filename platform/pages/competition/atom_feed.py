"""Atom feeds: of a competition, of the scores of a track, and of those of a team."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from django.utils.feedgenerator import Atom1Feed

from competitions.models import Competition

MOST = 50

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML 1.0 cannot have, such as the form feeds of pasted texts."""


@dataclass(frozen=True, kw_only=True)
class FeedEntry:
    """An entry of a feed. `key` never changes, also if title and times do; `path` is an address on the site.

    `summary` is HTML.
    """

    key: str
    title: str
    path: str
    summary: str
    published: datetime
    updated: datetime


class _Feed(Atom1Feed):
    """A feed that is as old as its competition while it is empty, so that equal feeds are equal bytes."""

    made_at: datetime

    def latest_post_date(self) -> datetime:
        return super().latest_post_date() if self.items else self.made_at


def atom(
    competition: Competition,
    entries: Iterable[FeedEntry],
    *,
    title: str,
    subtitle: str,
    site: str,
    page: str,
    feed: str,
) -> str:
    """Return the newest entries as XML; `site` is the address of the site, `page` and `feed` are paths on it."""
    host = site.partition("://")[2].partition(":")[0]
    title, subtitle = _NOT_IN_XML.sub("", title), _NOT_IN_XML.sub("", subtitle)
    written = _Feed(title=title, link=site + page, description=subtitle, feed_url=site + feed, language="en")
    written.made_at = competition.created_at
    for each in sorted(entries, key=attrgetter("published"), reverse=True)[:MOST]:
        written.add_item(
            title=_NOT_IN_XML.sub("", each.title),
            link=site + each.path,
            description=_NOT_IN_XML.sub("", each.summary),
            pubdate=each.published,
            updateddate=each.updated,
            unique_id=f"tag:{host},{competition.created_at.date().isoformat()}:{each.key}",
        )
    return str(written.writeString("utf-8"))
