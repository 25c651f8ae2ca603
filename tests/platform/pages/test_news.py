"""News of a competition, and its Atom feed."""

from __future__ import annotations

from datetime import timedelta
from xml.etree import ElementTree

from django.test import Client

from accounts.models import User
from competitions.models import Announcement, Competition
from competitions.organiser_pages import announce, change_announcement
from rounds.models import Release, Round
from tests.platform.conftest import FakeClock

ATOM = "{http://www.w3.org/2005/Atom}"
FEED = "/competitions/digits/feed.atom"


def say(competition: Competition, by: User, the_clock: FakeClock, title: str = "A <b> date") -> Announcement:
    text = "See [the rules](/competitions/digits/rules)."
    return announce(competition=competition, title=title, text=text, published_at=the_clock.at, by=by)


def entries_of(client: Client, feed: str) -> list[ElementTree.Element]:
    """Return the entries of a feed."""
    return ElementTree.fromstring(client.get(feed).content).findall(f"{ATOM}entry")  # noqa: S314 - our own


def titles(client: Client, feed: str) -> list[str | None]:
    """Return the titles of a feed."""
    return [entry.findtext(f"{ATOM}title") for entry in entries_of(client, feed)]


def test_an_announcement_is_on_the_page_of_the_competition_its_news_and_its_feed(
    client: Client, competition: Competition, olga: User, the_clock: FakeClock
) -> None:
    made = say(competition, olga, the_clock)
    page = client.get("/competitions/digits").content.decode()
    assert f'<link rel="alternate" type="application/atom+xml" title="Digits" href="{FEED}">' in page
    assert f'<a href="/competitions/digits/news#announcement-{made.pk}">A &lt;b&gt; date</a>' in page
    answer = client.get(FEED)
    assert answer.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    assert answer.headers["Cache-Control"] == "max-age=300, public"
    feed = ElementTree.fromstring(answer.content)  # noqa: S314 - our own
    entry = feed.find(f"{ATOM}entry")
    assert entry is not None
    found = {name: entry.findtext(f"{ATOM}{name}") for name in ("title", "summary", "published")}
    assert found["title"] == "A <b> date"
    assert found["summary"] == '<p>See <a href="/competitions/digits/rules">the rules</a>.</p>\n'
    assert found["published"] == "2026-11-21T12:00:00+00:00"
    assert f'id="announcement-{made.pk}"' in client.get("/competitions/digits/news").content.decode()


def test_an_unchanged_feed_is_not_sent_again(
    client: Client, competition: Competition, olga: User, the_clock: FakeClock
) -> None:
    made = say(competition, olga, the_clock)
    first = client.get(FEED)
    known = {"If-None-Match": first.headers["ETag"]}
    assert client.get(FEED, headers=known).status_code == 304
    the_clock.forward(hours=1)
    change_announcement(announcement=made, title="Later", text="!", published_at=made.published_at, by=olga)
    again = client.get(FEED, headers=known)
    assert again.status_code == 200
    feeds = [ElementTree.fromstring(each.content).find(f"{ATOM}entry") for each in (first, again)]  # noqa: S314
    ids = {entry.findtext(f"{ATOM}id") for entry in feeds if entry is not None}
    updated = {entry.findtext(f"{ATOM}updated") for entry in feeds if entry is not None}
    assert (len(ids), len(updated)) == (1, 2)


def test_a_pasted_control_character_ends_no_feed(
    client: Client, competition: Competition, olga: User, the_clock: FakeClock
) -> None:
    title, text = "Page\x0c two\x08", "First\x0b line\ufffe"
    announce(competition=competition, title=title, text=text, published_at=the_clock.at, by=olga)
    (entry,) = entries_of(client, FEED)
    assert entry.findtext(f"{ATOM}title") == "Page two"
    assert "First line" in (entry.findtext(f"{ATOM}summary") or "")


def test_it_hides_what_is_not_published(
    client: Client, competition: Competition, olga: User, the_clock: FakeClock
) -> None:
    the_clock.forward(hours=1)
    say(competition, olga, the_clock)
    the_clock.at -= timedelta(hours=1)
    for address in (FEED, "/competitions/digits/news", "/competitions/digits"):
        assert "&lt;b&gt;" not in client.get(address).content.decode()
    assert client.get(FEED).content == client.get(FEED).content
    client.force_login(olga)
    assert "not published yet" in client.get("/competitions/digits/news").content.decode()


def test_the_feed_of_a_competition_that_is_not_public_is_private(
    client: Client, competition: Competition, olga: User
) -> None:
    Competition.objects.update(public=False)
    assert client.get(FEED).status_code == 404
    client.force_login(olga)
    assert client.get(FEED).headers["Cache-Control"] == "max-age=300, private"


def test_the_feed_of_a_competition_has_its_rounds(
    client: Client, competition: Competition, planned: Round, olga: User, the_clock: FakeClock
) -> None:
    say(competition, olga, the_clock)
    assert titles(client, FEED) == ["A <b> date", "Round 1 is planned"]
    Round.objects.update(state=Round.State.PUBLISHED, state_since=the_clock.forward(hours=1))
    bundle = Release.objects.create(
        round=planned, part=Release.Part.BUNDLE, released_at=the_clock.forward(hours=1), released_by=olga
    )
    assert titles(client, FEED)[:2] == [
        "Released: signed result bundle of Round 1",
        "The result of Round 1 is published",
    ]
    bundle.withdrawn_at = the_clock.at
    bundle.save()
    Round.objects.update(state=Round.State.CANCELLED)
    assert titles(client, FEED) == ["A <b> date", "Round 1 is cancelled"]
