"""Atom feeds of scores: of a track, and of a team."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import Competition, FrozenLeaderboards, RulesVersion, SampleSet
from formats.query.leaderboards.models import Evaluation, Pool
from pages.competition.atom_feed import MOST
from submissions.models import Submission
from tests.platform.conftest import FakeClock
from tests.platform.pages.conftest import evaluated, submitted
from tests.platform.pages.test_news import ATOM, entries_of, titles

BOARD, TEAM = "/competitions/digits/leaderboards/model", "/teams/owls"
FEEDS = (f"{BOARD}/feed.atom", f"{TEAM}/feed.atom")


@pytest.mark.parametrize("page", [BOARD, TEAM])
def test_it_has_the_scores_that_the_page_shows(client: Client, shown: dict[str, Submission], page: str) -> None:
    address = f"{page}/feed.atom"
    assert (
        f'<link rel="alternate" type="application/atom+xml" title="{{}}" href="{address}">'.format(
            "Digits: Model" if page == BOARD else "The Owls in Digits"
        )
        in client.get(page).content.decode()
    )
    (entry,) = entries_of(client, address)
    assert entry.findtext(f"{ATOM}title") == "The Owls: Owl 1, distance 1.25 (1.12 to 1.50)"
    link = entry.find(f"{ATOM}link")
    assert link is not None
    assert link.get("href") == f"http://testserver/submissions/{shown['scored'].pk}"
    assert titles(client, "/competitions/digits/leaderboards/untargeted/feed.atom") == []


def test_a_submission_that_is_measured_again_keeps_its_entry(
    client: Client, shown: dict[str, Submission], pool: Pool, sample_set: SampleSet, rules: RulesVersion
) -> None:
    (before,) = entries_of(client, FEEDS[0])
    first = client.get(FEEDS[0])
    again = evaluated(shown["scored"], pool, sample_set, rules)
    assert again.finished_at is not None
    Evaluation.objects.filter(pk=again.pk).update(value=1.0, finished_at=again.finished_at + timedelta(days=1))
    (after,) = entries_of(client, FEEDS[0])
    assert "distance 1.00" in str(after.findtext(f"{ATOM}title"))
    assert after.findtext(f"{ATOM}id") == before.findtext(f"{ATOM}id")
    assert after.findtext(f"{ATOM}updated") != before.findtext(f"{ATOM}updated")
    changed = client.get(FEEDS[0], headers={"If-None-Match": first.headers["ETag"]})
    assert changed.status_code == 200
    assert client.get(FEEDS[0], headers={"If-None-Match": changed.headers["ETag"]}).status_code == 304


def test_scores_of_a_freeze_are_in_no_feed_of_anybody(
    client: Client, shown: dict[str, Submission], competition: Competition, bob: User, olga: User
) -> None:
    score = Evaluation.objects.get()
    assert score.finished_at is not None
    frozen = FrozenLeaderboards.objects.create(competition=competition, since=score.finished_at - timedelta(minutes=1))
    for reader in (None, bob, olga):
        if reader:
            client.force_login(reader)
        assert [titles(client, feed) for feed in FEEDS] == [[], []]
    frozen.since = score.finished_at
    frozen.save()
    assert [len(titles(client, feed)) for feed in FEEDS] == [1, 1]


def test_withdrawn_and_disqualified_submissions_leave_it(
    client: Client, shown: dict[str, Submission], the_clock: FakeClock
) -> None:
    Submission.objects.filter(pk=shown["scored"].pk).update(disqualified_at=the_clock.at)
    assert [titles(client, feed) for feed in FEEDS] == [[], []]
    Submission.objects.filter(pk=shown["scored"].pk).update(disqualified_at=None, state=Submission.State.WITHDRAWN)
    assert [titles(client, feed) for feed in FEEDS] == [[], []]


def test_it_has_the_newest_fifty(
    client: Client, shown: dict[str, Submission], bob: User, pool: Pool, sample_set: SampleSet, rules: RulesVersion
) -> None:
    repository = shown["scored"].repository
    for number in range(4, MOST + 5):
        evaluated(submitted(repository, bob, number, Submission.State.READY), pool, sample_set, rules)
    for feed in FEEDS:
        found = titles(client, feed)
        assert (len(found), "Owl 54" in str(found[0])) == (MOST, True)
        assert not any("Owl 1," in str(title) for title in found)


def test_the_feeds_of_a_competition_that_is_not_public_are_its_organisers(
    client: Client, shown: dict[str, Submission], olga: User
) -> None:
    Competition.objects.update(public=False)
    assert [client.get(feed).status_code for feed in FEEDS] == [404, 404]
    client.force_login(olga)
    assert {client.get(feed).headers["Cache-Control"] for feed in FEEDS} == {"max-age=300, private"}
