"""A submission that the organisers have hidden, in the API."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from submissions import hiding
from submissions.models import HIDDEN_TITLE, Player, Submission
from tests.platform.api.test_permissions import ROLES, TABLE, address, places

__all__ = ["places"]

pytestmark = pytest.mark.usefixtures("unlimited")

TITLE = "ab9f2c-leaked"

GONE = {
    *("submission", "evaluations", "matches", "log", "opponents", "challenges", "challenge", "challenge_picture"),
    *("smoke_samples", "smoke_picture"),
}


@pytest.mark.parametrize("role", ["nobody", "charlie"])
def test_no_answer_has_the_title_for_others(
    program: Any, bob: User, charlie: User, olga: User, scored: Submission, places: dict[str, Any], role: str
) -> None:
    reader = program(User.objects.filter(username=role).first())
    scored.refresh_from_db()
    Submission.objects.filter(pk=scored.pk).update(title=TITLE)
    Player.objects.filter(submissions=scored).update(title=TITLE)
    read = [row for row in TABLE if row.method == "get"]
    before = [row.name for row in read if TITLE in reader.get(address(row.name, places)).content.decode()]
    assert {"submissions", "submission", "leaderboard", "round", "match"} <= set(before)
    hiding.hide(submission=scored, by=olga, reason="It names a password.")
    for row in read:
        answer = reader.get(address(row.name, places))
        assert TITLE not in answer.content.decode(), row.name
        usual = row.statuses[ROLES.index(role)]
        assert answer.status_code == (404 if row.name in GONE else usual), row.name
    assert reader.get("/api/v1/submissions").json()["results"] == []
    rows = reader.get("/api/v1/competitions/digits/leaderboards/model").json()["rows"]
    assert [(row["team"], row["title"]) for row in rows] == [("owls", HIDDEN_TITLE)]


def test_its_team_reads_title_and_reason(
    program: Any, bob: User, olga: User, scored: Submission, places: dict[str, Any]
) -> None:
    hiding.hide(submission=scored, by=olga, reason="It names a password.")
    shown = program(bob).get(f"/api/v1/submissions/{scored.pk}").json()
    assert (shown["title"], shown["given_title"]) == (HIDDEN_TITLE, "Wise owl")
    assert shown["hidden_for"] == "It names a password."
