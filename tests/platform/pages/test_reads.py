"""No page reads the rules of a competition twice."""

from __future__ import annotations

from collections import Counter

from django.test import Client

from formats.query.matches.models import Match
from submissions.models import Submission

PAGES = (
    *("", "/rules", "/data", "/leaderboards/model", "/leaderboards/untargeted", "/matrix/untargeted"),
    *("/curves/untargeted", "/match-curves", "/history/model"),
)


def test_a_request_reads_rules_at_most_once(
    client: Client, reads: Counter[str], shown: dict[str, Submission], played_match: Match
) -> None:
    addresses = [f"/competitions/digits{page}" for page in PAGES]
    addresses += [f"/submissions/{submission.pk}" for submission in shown.values()]
    for address in [*addresses, f"/matches/{played_match.pk}"]:
        reads.clear()
        assert client.get(address).status_code == 200
        assert reads["rules"] <= 1, address
