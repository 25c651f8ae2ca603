"""Why a submission of the transfer format has its rank: the next one, the opponent that costs most, newcomers."""

from __future__ import annotations

import re

from django.test import Client

from accounts.models import User
from competitions.models import Competition, FrozenLeaderboards
from core import clock
from formats.transfer.tournaments.models import Entrant, Tournament
from formats.transfer.tournaments.ranking import rank
from submissions.models import Submission
from tests.platform.formats.transfer.tournaments.pages.conftest import Send, play


def why(client: Client, submission: Submission) -> str:
    """Return why a submission has its rank, in words, as its page says it."""
    page = client.get(f"/submissions/{submission.pk}").content.decode().replace("\N{NO-BREAK SPACE}", " ")
    found = re.search(r"Why this rank</h3>(.*?)</ul>", page, re.S)
    return " ".join(re.sub(r"<[^>]*>", "", found[1]).split()) if found else ""


def test_a_page_says_what_separates_a_submission_from_the_next_rank(
    client: Client, played: Tournament, sent: dict[str, Submission]
) -> None:
    assert why(client, sent["attack"]) == "First, 33.3 percentage points ahead of rank 2: the baseline noop, 0.0 %."
    assert why(client, sent["targeted"]) == "No other submission has a rank."


def test_a_page_names_the_opponent_that_costs_most_and_what_newcomers_did(
    client: Client, played: Tournament, sent: dict[str, Submission], send: Send
) -> None:
    newer = send("mice", "defence", "Median of nine")
    play(played)
    assert why(client, sent["attack"]).endswith(
        "Against the opponent that was there before it: 33.3 %. With the one that came since: 33.3 %. History"
    )
    assert "Level with rank 1: Median of five by The Bats" in why(client, newer)
    total = played.pair_totals.get(defence=newer.player, attack=sent["targeted"].player)
    total.correct -= 2
    total.save()
    rank(played)
    text = why(client, newer)
    assert "behind rank 1: Median of five by The Bats" in text
    assert "It loses most to rank 1 against Aimed: 20.0 %, rank 1 has 60.0 %." in text


def test_a_score_under_other_rules_is_named(client: Client, played: Tournament, sent: dict[str, Submission]) -> None:
    own = Entrant.objects.get(submission=sent["attack"])
    rules = played.rules
    rules.pk, rules.version = None, 2
    rules.save()
    later = Tournament.objects.create(
        competition=played.competition, rules=rules, sample_set=played.sample_set, seed=1, made_at=clock.now()
    )
    own.pk, own.tournament, own.score = None, later, 0.5
    own.save()
    assert "Before version 2 of the rules, its score was 33.3 %; now it is 50.0 %." in why(client, sent["attack"])


def test_a_frozen_leaderboard_explains_no_rank_but_to_organisers(
    client: Client, played: Tournament, sent: dict[str, Submission], transfer: Competition, send: Send, rita: User
) -> None:
    FrozenLeaderboards.objects.create(competition=transfer, since=clock.now())
    send("mice", "defence", "Median of nine")
    play(played)
    own = sent["defence"]
    address = f"/submissions/{own.pk}"
    assert why(client, own) == ""
    client.force_login(own.submitted_by)
    assert why(client, own) == ""
    page, team = (client.get(each).content.decode() for each in (address, "/teams/bats"))
    assert ("<b>75.0" in page, "<b>75.0" in team) == (True, True)
    assert ("Rank 1" in page, "<dt>Rank</dt>" in team) == (False, False)
    shown = client.get(f"/api/v1{address}").json()
    assert (shown["progress"]["score"], shown["progress"]["rank"]) == (0.75, None)
    assert [shown["standing"][each] for each in ("score", "rank", "rank_low", "rank_high")] == [0.75, None, None, None]
    client.force_login(rita)
    assert why(client, own) == "Level with rank 1: Median of nine by The Mice, 75.0 %."
    assert "Rank 1" in client.get(address).content.decode()
