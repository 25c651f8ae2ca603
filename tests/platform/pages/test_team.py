"""The page of a team: standings, submissions with scores, and how to submit."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from competitions.models import Competition, RulesVersion, SampleSet
from formats.query.leaderboards.models import Evaluation, Pool
from repositories.models import Repository
from submissions.models import QuotaSlot, Submission
from tests.platform.conftest import NOON, FakeClock
from tests.platform.pages.conftest import evaluated, submitted
from tests.platform.pages.test_recent_commits import Work

PAGE = "/teams/owls"


def text_of(client: Client, query: str = "") -> str:
    """Return the page of the Owls."""
    answer = client.get(PAGE + query)
    assert answer.status_code == 200
    return answer.content.decode()


def rows_of(page: str) -> list[int]:
    """Return the numbers of the listed submissions."""
    table = page.split('id="submissions"')[1].split("</section>")[0]
    return [int(number) for number in re.findall(r'scope="row"><a href="/submissions/(\d+)"', table)]


def test_the_standing_comes_first(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    page = text_of(client)
    places = [page.index(f'id="{name}"') for name in ("standings", "submit", "submissions")]
    assert places == sorted(places)
    card = page.split('id="standing-model"')[1].split("</section>")[0]
    assert "<b>1</b>" in card
    assert "<b>1.25</b>" in card
    assert f'/submissions/{shown["scored"].pk}"' in card
    assert f"submission {shown['building'].pk}</a>" in card, "the newest one"
    assert "No score yet" in page.split('id="standing-targeted"')[1].split("</section>")[0]


def test_a_submission_that_counts_is_not_named_twice(client: Client, shown: dict[str, Submission]) -> None:
    Submission.objects.exclude(pk=shown["scored"].pk).update(repository=Repository.objects.get(track__name="targeted"))
    card = text_of(client).split('id="standing-model"')[1].split("</section>")[0]
    assert "Newest:" not in card


def test_submissions_have_scores_and_one_state(client: Client, shown: dict[str, Submission]) -> None:
    page = text_of(client)
    numbers = [shown[name].pk for name in ("building", "rejected", "scored")]
    assert rows_of(page) == numbers
    table = page.split('id="submissions"')[1].split("</section>")[0]
    assert re.findall(r'class="badge badge-\w+">([^<]+)<', table) == ["building", "rejected", "scored"]
    assert table.count("<b>1.25</b>") == 1
    Submission.objects.filter(pk=shown["scored"].pk).update(disqualified_at=NOON)
    assert "badge-disqualified" in text_of(client)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?state=ready", ["scored"]),
        ("?state=rejected", ["rejected"]),
        ("?state=under-way", ["building"]),
        ("?state=withdrawn", []),
        ("?of=targeted", []),
        ("?of=model&state=rejected", ["rejected"]),
        ("?of=nonsense&state=nonsense", ["building", "rejected", "scored"]),
    ],
)
def test_submissions_are_filtered(client: Client, shown: dict[str, Submission], query: str, names: list[str]) -> None:
    page = text_of(client, query)
    assert rows_of(page) == [shown[name].pk for name in names]
    assert ("No submission fits" in page) == (not names)


def test_pages_keep_the_filter(client: Client, shown: dict[str, Submission]) -> None:
    first = shown["scored"]
    for number in range(10, 65):
        submitted(first.repository, first.submitted_by, number, Submission.State.WITHDRAWN)
    page = text_of(client, "?state=withdrawn")
    assert "Page 1 of 2" in page
    assert 'href="?state=withdrawn&amp;page=2"' in page
    assert len(rows_of(text_of(client, "?state=withdrawn&page=2"))) == 5


@pytest.mark.parametrize("inside", [False, True])
def test_queries_do_not_grow_with_submissions(
    client: Client,
    shown: dict[str, Submission],
    bob: User,
    pool: Pool,
    sample_set: SampleSet,
    rules: RulesVersion,
    inside: bool,
) -> None:
    if inside:
        client.force_login(bob)

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            text_of(client)
        return len(seen)

    first = shown["scored"]
    evaluated(submitted(first.repository, bob, 9, Submission.State.READY), pool, sample_set, rules)
    before = queries()
    for number in range(10, 40):
        made = submitted(first.repository, first.submitted_by, number, Submission.State.READY)
        evaluated(made, pool, sample_set, rules)
    assert queries() == before


def test_the_newest_evaluation_counts(client: Client, shown: dict[str, Submission]) -> None:
    again = Evaluation.objects.get()
    again.pk, again.value, again.low, again.high = None, 2.5, 2.25, 2.75
    again.save()
    table = text_of(client).split('id="submissions"')[1].split("</section>")[0]
    assert "<b>2.50</b>" in table
    assert "1.25" not in table


def test_the_block_for_submitting_has_one_track_at_a_time(
    client: Client, shown: dict[str, Submission], bob: User, repositories: dict[str, Repository]
) -> None:
    client.force_login(bob)
    page = text_of(client)
    assert re.findall(r'id="start-(\w+)"', page) == ["model"], "the track of the newest submission"
    assert 'href="?track=targeted#submit"' in page
    assert re.findall(r'id="start-(\w+)"', text_of(client, "?track=targeted")) == ["targeted"]
    assert client.get(f"{PAGE}?track=nonsense").status_code == 404
    submitted(repositories["untargeted"], bob, 9, Submission.State.RECEIVED)
    assert re.findall(r'id="start-(\w+)"', text_of(client)) == ["untargeted"]


@pytest.fixture
def work(repositories: dict[str, Repository], tmp_path: Path) -> Work:
    return Work(tmp_path / "work", repositories["model"])


def test_one_button_submits_the_selected_commit(client: Client, work: Work, bob: User, olga: User) -> None:
    work.push("A first look", "A second look")
    client.force_login(bob)
    page = text_of(client)
    assert page.count('type="radio" name="commit"') == 2
    assert page.count("Submit the selected commit") == 1
    client.force_login(olga)
    page = text_of(client)
    assert "Submit the selected commit" not in page
    assert "Only members can submit" in page


def test_there_is_no_button_without_a_slot(
    client: Client, work: Work, bob: User, repositories: dict[str, Repository], the_clock: FakeClock
) -> None:
    work.push("A first look")
    client.force_login(bob)
    for number in range(5):
        QuotaSlot.objects.create(
            repository=repositories["model"],
            commit=f"{number:040x}",
            tag=f"submission-{number}",
            reserved_by=bob,
            reserved_at=NOON - timedelta(hours=1),
            state=QuotaSlot.State.USED,
        )
    page = text_of(client)
    assert "0 of 5 slots left" in page
    assert "No slot is left" in page
    assert "Submit the selected commit" not in page


@pytest.mark.parametrize(
    ("days", "offered", "words"),
    [
        ((-2, 2), True, "5 of 5 slots left"),
        ((1, 2), False, "The competition has not begun: submissions are accepted from"),
        ((-2, -1), False, "No more submissions are possible"),
    ],
)
def test_a_commit_can_be_submitted_between_start_and_end_alone(
    client: Client,
    work: Work,
    bob: User,
    competition: Competition,
    the_clock: FakeClock,
    days: tuple[int, int],
    offered: bool,
    words: str,
) -> None:
    work.push("A first look")
    starts_at, ends_at = (NOON + timedelta(days=each) for each in days)
    Competition.objects.filter(pk=competition.pk).update(starts_at=starts_at, ends_at=ends_at)
    client.force_login(bob)
    page = text_of(client)
    assert words in page
    assert ("Submit the selected commit" in page) == offered
    assert ("git push origin" in page) == (ends_at > NOON)


def test_an_archived_competition_offers_nothing_to_push(
    client: Client, work: Work, bob: User, competition: Competition
) -> None:
    work.push("A first look")
    Competition.objects.filter(pk=competition.pk).update(archived_at=NOON)
    client.force_login(bob)
    page = text_of(client)
    assert "No more submissions are possible" in page
    assert "slots left" not in page
    assert "git push origin" not in page


def test_a_refused_commit_leads_back_to_its_track(
    client: Client, repositories: dict[str, Repository], bob: User
) -> None:
    client.force_login(bob)
    answer = client.post(f"{PAGE}/repositories/targeted/submit", {"commit": "abcdef0"})
    assert answer.headers["Location"] == f"{PAGE}?track=targeted#submit"


def test_a_number_that_no_database_can_hold_names_no_member(
    client: Client, shown: dict[str, Submission], alice: User
) -> None:
    client.force_login(alice)
    assert client.post(f"{PAGE}/members/{10**30}/remove").status_code == 404
