"""Header, lists of competitions, leaderboards and teams, people, and search."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, Team, User
from competitions.models import Competition, Entry, FreezeWindow, FrozenLeaderboards, Track
from core import clock
from formats.query.leaderboards.models import Evaluation, Standing
from formats.query.leaderboards.snapshots_and_freezes import take_snapshot
from formats.query.tracks import TRACKS
from repositories.models import Repository
from submissions.models import Submission
from tests.platform.conftest import NOON, FakeClock
from tests.platform.pages.conftest import submitted

pytestmark = pytest.mark.usefixtures("others_read_first")


def text_of(client: Client, address: str) -> str:
    """Return the page at `address`."""
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def opened(slug: str, days: int = -1, until: int = 100) -> Competition:
    """Create a public competition with tracks that starts and ends this many days from now."""
    now = clock.now()
    made = Competition.objects.create(
        slug=slug,
        title=f"The {slug}",
        starts_at=now + timedelta(days=days),
        ends_at=now + timedelta(days=until),
        public=True,
        created_at=now,
    )
    for spec in TRACKS:
        Track.objects.create(competition=made, name=spec.name, title=spec.title)
    return made


def copied(shown: Submission, slug: str) -> Competition:
    """Create a competition in which another team has the score of `shown`."""
    competition = opened(slug)
    team = Team.objects.create(slug=f"team-{slug}", name=f"Team {slug}", created_at=clock.now())
    entry = Entry.objects.create(team=team, competition=competition, joined_at=clock.now())
    track = competition.tracks.get(name="model")
    repository = Repository.objects.create(entry=entry, track=track, created_at=clock.now())
    made = submitted(repository, shown.submitted_by, 1, Submission.State.READY)
    evaluation = shown.evaluations.get()
    evaluation.pk, evaluation.submission = None, made
    evaluation.save()
    Standing.objects.create(track=track, entry=entry, evaluation=evaluation, rank=1, place=1)
    return competition


def queries_of(client: Client, address: str) -> int:
    """Return how many queries the page needs."""
    with CaptureQueriesContext(
        connection,
    ) as seen:
        text_of(client, address)
    return len(seen)


def test_the_header_leads_everywhere(client: Client, shown: dict[str, Submission], bob: User) -> None:
    head = text_of(client, "/teams/owls").split("</header>")[0]
    for address in ("/competitions", "/leaderboards", "/teams", "/docs", "/status"):
        assert f'href="{address}"' in head
    assert '<form class="site-search" role="search" action="/search">' in head
    assert '<a href="/teams" aria-current="true">' in head
    assert '<a href="/teams" aria-current="page">' in text_of(client, "/teams")
    client.force_login(bob)
    assert 'href="/teams/owls">The Owls</a>' in text_of(client, "/docs").split("</header>")[0]


def test_the_most_active_competition_is_on_top(client: Client, shown: dict[str, Submission]) -> None:
    empty, busy = opened("empty"), copied(shown["scored"], "busy")
    Submission.objects.filter(repository__entry__competition=busy).update(received_at=clock.now())
    for address in ("/", "/competitions", "/leaderboards"):
        page = text_of(client, address)
        places = [page.index(f'/competitions/{slug}"') for slug in ("busy", "digits", empty.slug)]
        assert places == sorted(places), address


def test_an_empty_competition_is_never_on_top(client: Client, shown: dict[str, Submission]) -> None:
    opened("empty")
    Submission.objects.update(received_at=clock.now() - timedelta(days=300))
    page = text_of(client, "/")
    assert "See Digits" in page
    assert page.index('/competitions/digits"') < page.index('/competitions/empty"')


def test_home_shows_the_top_and_the_next_date_of_each_competition(
    client: Client, shown: dict[str, Submission], competition: Competition, the_clock: FakeClock
) -> None:
    other = copied(shown["scored"], "busy")
    starts = NOON + timedelta(hours=51)
    FreezeWindow.objects.create(competition=other, starts_at=starts, ends_at=NOON + timedelta(days=9), reason="round")
    page = text_of(client, "/")
    assert "The Owls" in page
    assert "Team busy" in page
    assert "Submissions freeze</b>" in page
    assert "in 2 d 3 h" in page
    assert page.count(">The competition ends</b>") == 1
    assert "on 18 Nov 2036" in page, "a far end is a date"


def test_coming_and_ended_competitions_are_apart(client: Client, shown: dict[str, Submission]) -> None:
    opened("soon", 3)
    opened("past", -30, -3)
    page = text_of(client, "/competitions")
    order = [page.index(part) for part in ("/competitions/digits", 'id="coming"', "/soon", 'id="ended"', "/past")]
    assert order == sorted(order)
    home = text_of(client, "/")
    assert "The soon" in home
    assert "1 competition ended" in home


@pytest.mark.parametrize("address", ["/", "/competitions", "/leaderboards"])
def test_queries_do_not_grow_with_competitions(client: Client, shown: dict[str, Submission], address: str) -> None:
    FrozenLeaderboards.objects.create(competition=opened("first"), since=clock.now())
    before = queries_of(client, address)
    for number in range(4):
        copied(shown["scored"], f"busy-{number}")
    FrozenLeaderboards.objects.create(competition=Competition.objects.get(slug="busy-1"), since=clock.now())
    assert queries_of(client, address) == before
    assert before <= 15


def test_a_frozen_leaderboard_is_frozen_in_every_list(
    client: Client, shown: dict[str, Submission], tracks: dict[str, Track], olga: User
) -> None:
    kept = take_snapshot(track=tracks["model"], reason="before the final")
    FrozenLeaderboards.objects.create(competition=kept.track.competition, since=kept.made_at)
    Evaluation.objects.update(value=9.5, low=9.0, high=10.0)
    for address in ("/", "/leaderboards", "/competitions/digits"):
        page = text_of(client, address)
        assert "1.25" in page
        assert "9.5" not in page
    client.force_login(olga)
    for address in ("/", "/leaderboards", "/competitions/digits"):
        assert "9.5" in text_of(client, address)


def test_the_list_of_teams_can_be_searched(client: Client, shown: dict[str, Submission]) -> None:
    copied(shown["scored"], "busy")
    page = text_of(client, "/teams")
    assert "The Owls" in page
    assert "Team busy" in page
    for address in ("/teams?q=OWL", "/teams?competition=digits"):
        page = text_of(client, address)
        assert "The Owls" in page
        assert "Team busy" not in page
    assert "No team fits" in text_of(client, "/teams?q=nothing")
    assert "No team fits" in text_of(client, "/teams?competition=nothing")


def test_queries_do_not_grow_with_teams(client: Client, shown: dict[str, Submission], competition: Competition) -> None:
    before = queries_of(client, "/teams")
    for number in range(60):
        team = Team.objects.create(slug=f"team-{number}", name=f"Team {number}", created_at=clock.now())
        Entry.objects.create(team=team, competition=competition, joined_at=clock.now())
    assert queries_of(client, "/teams") == before
    page = text_of(client, "/teams?q=team")
    assert "Page 1 of 2" in page
    assert 'href="?q=team&amp;page=2"' in page


def test_a_person_has_a_page(client: Client, shown: dict[str, Submission], competition: Competition) -> None:
    page = text_of(client, "/people/alice")
    assert '<a href="/teams/owls">The Owls</a>' in page
    assert "captain" in page
    assert "example.org" not in page, "the e-mail address is not public"
    assert 'href="/people/alice"' in text_of(client, "/teams/owls")


def test_who_left_the_team_is_named_without_a_link(
    client: Client, shown: dict[str, Submission], alice: User, bob: User
) -> None:
    client.force_login(alice)
    pages = ("/teams/owls", f"/submissions/{shown['rejected'].pk}")
    for address in pages:
        assert '<a href="/people/bob">bob</a>' in text_of(client, address)
    Membership.objects.filter(user=bob).delete()
    assert client.get("/people/bob").status_code == 404
    for address in pages:
        page = text_of(client, address)
        assert "bob" in page
        assert "/people/bob" not in page


def test_search_finds_teams_submissions_and_people(client: Client, shown: dict[str, Submission]) -> None:
    page = text_of(client, "/search?q=owl")
    assert 'href="/teams/owls"' in page
    assert f'href="/submissions/{shown["rejected"].pk}"' in page
    assert 'href="/people/alice"' in text_of(client, "/search?q=Ali")
    assert 'href="/competitions/digits"' in text_of(client, "/search?q=digit")
    number = shown["scored"].pk
    for text in (str(number), f"%23{number}"):
        assert f'href="/submissions/{number}"' in text_of(client, f"/search?q={text}")


def test_a_search_for_too_little_or_nothing_says_so(client: Client, shown: dict[str, Submission]) -> None:
    assert "Enter at least 2 characters" in text_of(client, "/search?q=o")
    assert "Nothing found for <b>&lt;b&gt;</b>" in text_of(client, "/search?q=<b>")
    assert "Nothing found" in text_of(client, "/search?q=99999999999999999999")
    assert "Nothing found" in text_of(client, "/search?q=%C2%B2%C2%B2")
    assert "Enter at least" not in text_of(client, "/search")


def test_an_account_in_no_team_is_not_found(client: Client, shown: dict[str, Submission], charlie: User) -> None:
    assert "/people/charlie" not in text_of(client, "/search?q=charlie")
    Membership.objects.create(
        team=Team.objects.get(), user=charlie, role=Membership.Role.MEMBER, joined_at=charlie.date_joined
    )
    assert "/people/charlie" in text_of(client, "/search?q=charlie")


def test_a_search_shows_a_part_of_many_results(client: Client, shown: dict[str, Submission]) -> None:
    repository = shown["scored"].repository
    for number in range(10, 35):
        submitted(repository, shown["scored"].submitted_by, number, Submission.State.READY, title="Many")
    page = text_of(client, "/search?q=many")
    assert len(set(re.findall(r'href="/submissions/(\d+)"', page))) == 20
    assert "These are the newest" in page
