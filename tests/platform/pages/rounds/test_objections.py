"""Objections on the pages: the form, the round's page before and after the answer, and the way from a match."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, Team, User
from formats.query.matches.models import Match
from formats.query.rounds.models import RoundMatch
from rounds.models import Objection, Round
from rounds.objections.closing import answer
from rounds.objections.filing import file_objection
from tests.platform.conftest import FakeClock

Play = Callable[..., Round]

PAGE = "/competitions/digits/rounds/1"
NEW = f"{PAGE}/objections/new"
WRONG = "Sample 2 is <b>wrong</b> & <script>alert(1)</script>\n\nSee above."
ESCAPED = "<p>Sample 2 is &lt;b&gt;wrong&lt;/b&gt; &amp; &lt;script&gt;alert(1)&lt;/script&gt;</p>"


@pytest.fixture
def contested(the_clock: FakeClock, play: Play, alice: User) -> Round:
    """A published round of two players on each track, with five days for objections; Alice has the first model."""
    play(2)
    Membership.objects.create(
        team=Team.objects.get(slug="model-1"), user=alice, role=Membership.Role.CAPTAIN, joined_at=the_clock.at
    )
    Round.objects.update(objection_days=5, state_since=the_clock.at)
    return Round.objects.get()


def text_of(client: Client, page: str = PAGE) -> str:
    return client.get(page).content.decode()


def test_an_objection_is_public_once_answered_and_the_result_is_then_final(
    client: Client, contested: Round, the_clock: FakeClock, alice: User, olga: User
) -> None:
    until = '<time datetime="2026-11-26T12:00:00Z"'
    assert f"Provisional: objections until {until}" in text_of(client)
    client.force_login(alice)
    assert f'href="{NEW}">Object to the result</a>' in text_of(client)
    sent = client.post(NEW, {"about": "result", "text": WRONG}, follow=True)
    made = Objection.objects.get()
    assert sent.redirect_chain == [(f"{PAGE}#objections", 302)]
    page = sent.content.decode()
    for text in (
        f"Objection {made.pk} is made.",
        ESCAPED,
        "Only the team and the organisers see it",
        "1 objection waits",
    ):
        assert text in page
    client.logout()
    page = text_of(client)
    assert "1 objection waits for an answer." in page
    assert "Sample 2" not in page

    the_clock.forward(days=5)
    assert "Provisional: 1 objection waits for an answer." in text_of(client)
    answer(objection=made, upheld=True, by=olga, reason="<i>Yes</i>: we replay it.")
    page = text_of(client)
    assert f"Final: objections were accepted until {until}" in page
    for text in ("1 was upheld.", ESCAPED, "&lt;i&gt;Yes&lt;/i&gt;: we replay it.", "Team of model-1</a>", "upheld"):
        assert text in page
    client.force_login(alice)
    assert "Object to the result" not in text_of(client)


def test_a_round_without_a_period_says_nothing_of_it(client: Client, contested: Round) -> None:
    Round.objects.update(objection_days=0)
    page = text_of(client)
    assert "rovisional" not in page
    assert "bjection" not in page


def test_an_entry_is_chosen_in_the_form(client: Client, contested: Round, alice: User) -> None:
    client.force_login(alice)
    entry = contested.entries.get(track__name="untargeted", place=1)
    assert f'<option value="entry-{entry.pk}">Player untargeted-1 by Team of untargeted-1' in text_of(client, NEW)
    client.post(NEW, {"about": f"entry-{entry.pk}", "text": "It is a copy."})
    made = Objection.objects.get()
    assert made.entry == entry
    link = f'<a href="/submissions/{entry.submission_id}">Player untargeted-1 by Team of untargeted-1'
    assert f"Objection {made.pk} to {link}" in text_of(client)


def test_a_match_leads_to_the_form(client: Client, contested: Round, played_match: Match, alice: User) -> None:
    RoundMatch.objects.create(round=contested, match=played_match, samples=6)
    match, address = f"/matches/{played_match.pk}", f"{NEW}?match={played_match.pk}"
    assert "Object to this match" not in text_of(client, match)
    client.force_login(alice)
    assert f'href="{address}">Object to this match</a>' in text_of(client, match)
    title = f"{played_match.attack.title} against {played_match.model.title}"
    assert f'<option value="match-{played_match.pk}">{title}' in text_of(client, address)
    client.post(address, {"about": f"match-{played_match.pk}", "text": "It was not played."})
    made = Objection.objects.get()
    assert (made.match, made.entry) == (str(played_match.pk), None)
    assert f'Objection {made.pk} to <a href="{match}">{title}</a>' in text_of(client)
    for unknown in (f"{NEW}?match=999999", f"{NEW}?match=x"):
        assert client.get(unknown).status_code == 404
        assert client.post(unknown, {"about": "result", "text": "x"}).status_code == 404
    answered = client.post(NEW, {"about": f"match-{played_match.pk}", "text": "x"})
    assert "is not one of the available choices" in answered.content.decode()
    assert Objection.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "This field is required."), (" \n", "This field is required."), ("x" * 100_000, "has 100,000 characters")],
)
def test_the_form_says_what_is_wrong_and_keeps_the_text(
    client: Client, contested: Round, alice: User, text: str, problem: str
) -> None:
    client.force_login(alice)
    page = client.post(NEW, {"about": "result", "text": text})
    assert page.status_code == 200
    assert problem in page.content.decode()
    assert text.strip() in page.content.decode()
    assert not Objection.objects.exists()


def test_a_form_that_was_open_while_the_period_ended_is_refused(
    client: Client, contested: Round, the_clock: FakeClock, alice: User
) -> None:
    client.force_login(alice)
    assert client.get(NEW).status_code == 200
    the_clock.forward(days=5)
    page = client.post(NEW, {"about": "result", "text": "Too late."}).content.decode()
    assert "Objections to Round 1 were accepted until 2026-11-26 12:00 UTC. Write to the organisers." in page
    assert "Too late." in page
    assert not Objection.objects.exists()
    opened = client.get(NEW, follow=True)
    assert opened.redirect_chain == [(f"{PAGE}#objections", 302)]
    assert "were accepted until" in opened.content.decode()


@pytest.mark.parametrize("state", [Round.State.FROZEN, Round.State.SCORED, Round.State.CANCELLED])
def test_a_form_sent_to_a_round_without_a_result_shows_no_entries(
    client: Client, contested: Round, alice: User, state: Round.State
) -> None:
    Round.objects.update(state=state)
    client.force_login(alice)
    sent = client.post(NEW, {"about": "result", "text": "Too early."}, follow=True)
    assert sent.redirect_chain == [(f"{PAGE}#objections", 302)]
    page = sent.content.decode()
    assert "Round 1 has no published result" in page
    assert "Team of untargeted-1" not in page


def test_a_team_withdraws_its_objection_once(
    client: Client, contested: Round, the_clock: FakeClock, alice: User, olga: User
) -> None:
    made = file_objection(round_=contested, by=alice, text="It is wrong.")
    client.force_login(alice)
    assert f"Yes, withdraw objection {made.pk}" in text_of(client)
    address = f"{PAGE}/objections/{made.pk}/withdraw"
    assert f"Objection {made.pk} is withdrawn." in client.post(address, follow=True).content.decode()
    page = client.post(address, follow=True).content.decode()
    assert f"Objection {made.pk} is already withdrawn by the team." in page
    assert "Yes, withdraw" not in page
    made.refresh_from_db()
    assert made.state == "withdrawn"
    the_clock.forward(days=5)
    assert "none was upheld" in text_of(client)


def test_the_number_of_queries_does_not_grow_with_the_objections(client: Client, contested: Round, alice: User) -> None:
    entries = contested.entries.order_by("pk")
    rows = [
        Objection(
            round=contested, team=entry.submission.repository.entry.team, entry=entry, text="Text.", state="rejected",
            answer="No.", made_at=contested.state_since, made_by=alice, closed_at=contested.state_since,
        )
        for entry in entries
    ]  # fmt: skip
    Objection.objects.bulk_create(rows[:1])
    with CaptureQueriesContext(connection) as few:
        text_of(client)
    Objection.objects.bulk_create(rows[1:])
    with CaptureQueriesContext(connection) as many:
        assert text_of(client).count("Answer of the organisers") == len(rows)
    assert len(many) == len(few)
