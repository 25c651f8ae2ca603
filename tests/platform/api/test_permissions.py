"""Who gets what answer of every operation, in one table."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from django.urls import URLPattern

from accounts.models import User
from api.urls import version_1
from competitions.models import Competition
from competitions.terms import keep_terms
from core import clock
from formats.query.challenges.models import Challenge
from formats.query.matches.models import Match
from rounds.models import Objection, Round
from submissions.models import Build, LogChunk, Submission

pytestmark = pytest.mark.usefixtures("unlimited")

ROLES = ("nobody", "charlie", "bob", "olga")
"""Bob is a member of the Owls, Charlie a stranger, Olga organises."""


class Row(NamedTuple):
    """An address by name, and the status for each role, in the order of ROLES; `hidden` if the competition is."""

    name: str
    statuses: tuple[int, int, int, int]
    method: str = "get"
    hidden: tuple[int, int, int, int] = (404, 404, 404, 200)


EVERYONE = (200, 200, 200, 200)
SIGNED_IN = (401, 200, 200, 200)
NO_BODY = (400, 400, 400, 400)
INSIDE = (401, 403, 200, 200)
MEMBERS = (401, 403, 200, 403)
ORGANISERS = (401, 403, 403, 200)
HIDDEN_MEMBERS = (404, 404, 404, 403)
CAPTAIN = (401, 403, 403, 403)
NOT_YOURS = (401, 404, 404, 404)

TABLE = [
    *(Row(name, EVERYONE, hidden=EVERYONE) for name in ("index", "openapi", "docs", "competitions", "submissions")),
    *(Row(name, EVERYONE, hidden=EVERYONE) for name in ("status", "signing_keys")),
    *(Row(name, NO_BODY, method="post", hidden=NO_BODY) for name in ("device_code", "device_token")),
    *(Row(name, SIGNED_IN, hidden=SIGNED_IN) for name in ("profile", "own_teams", "own_invitations")),
    *(Row(name, EVERYONE) for name in ("competition", "data", "tracks", "rules", "leaderboard", "rounds", "round")),
    *(Row(name, EVERYONE) for name in ("decisions", "objections", "match")),
    *(Row(name, EVERYONE) for name in ("submission", "evaluations", "matches")),
    Row("round_match", (404, 404, 404, 404), hidden=(404, 404, 404, 404)),  # it is behind a leaderboard
    Row("log", INSIDE),
    Row("quota", MEMBERS, hidden=HIDDEN_MEMBERS),
    Row("submit", MEMBERS, hidden=HIDDEN_MEMBERS),
    Row("submit", (401, 403, 400, 403), method="post", hidden=HIDDEN_MEMBERS),  # Bob names no commit
    Row("choose", (401, 403, 400, 403), method="post", hidden=HIDDEN_MEMBERS),  # the newest one counts
    Row("challenges", INSIDE),
    Row("challenges", (401, 403, 400, 403), method="post", hidden=HIDDEN_MEMBERS),  # Bob names no opponent
    *(Row(name, INSIDE) for name in ("challenge", "opponents")),
    *(Row(name, INSIDE) for name in ("challenge_picture", "smoke_samples")),
    Row("smoke_picture", (401, 403, 404, 404), hidden=(404, 404, 404, 404)),  # none is kept
    Row("match_picture", (404, 404, 404, 200)),  # its samples are secret
    Row("round_picture", (404,) * 4, hidden=(404,) * 4),  # as "round_match"
    # of another format; see tests/platform/formats/curves/test_best_known.py
    *(Row(name, (404,) * 4, hidden=(404,) * 4) for name in ("proofs", "proof", "proof_images")),
    Row("proofs", NOT_YOURS, method="post", hidden=NOT_YOURS),
    Row("choose_newest", (401, 403, 400, 403), method="post", hidden=HIDDEN_MEMBERS),  # it counts already
    Row("withdraw", MEMBERS, method="post", hidden=HIDDEN_MEMBERS),
    Row("announcements", EVERYONE),
    *(Row(name, EVERYONE) for name in ("teams", "team", "terms")),
    Row("teams", (401, 400, 400, 400), method="post", hidden=(404, 404, 404, 400)),  # no name
    *(Row(name, NOT_YOURS, method="post", hidden=NOT_YOURS) for name in ("accept_invitation", "decline_invitation")),
    *(Row(name, CAPTAIN, hidden=HIDDEN_MEMBERS) for name in ("invitations", "webhooks", "webhook")),
    *(
        Row(name, CAPTAIN, method="post", hidden=HIDDEN_MEMBERS)
        for name in (
            *("invitations", "withdraw_invitation", "accept_terms", "webhooks", "test_webhook", "enable_webhook"),
            *("remove_webhook", "send_again"),
        )
    ),
    Row("remove_member", (401, 403, 400, 403), method="post", hidden=HIDDEN_MEMBERS),  # Bob removes Alice
    Row("objections", (401, 403, 400, 403), method="post", hidden=HIDDEN_MEMBERS),  # Bob gives no text
    Row("withdraw_objection", (401, 404, 200, 404), method="post", hidden=(404, 404, 404, 404)),
    Row("round_entries", ORGANISERS),
    Row("preview", (401, 403, 403, 409), hidden=(404, 404, 404, 409)),  # it is published already
    *(
        Row(name, (401, 403, 403, 400), method="post", hidden=(404, 404, 404, 400))  # Olga gives no reason
        for name in (
            *("rounds", "announcements", "freeze_round", "start_round", "pause_round", "resume_round", "cancel_round"),
            *("publish_round", "release_part", "withdraw_part", "open_window", "extend_window", "end_window"),
            *("uphold_objection", "reject_objection", "retry", "refund", "re_evaluate", "disqualify", "reinstate"),
        )
    ),
]

SECRETS = [
    # address, text, and the roles that see it
    ("submission", "1111111111", ("bob", "olga")),
    ("submission", "the fix for the team", ("bob", "olga")),
    ("submissions", "1111111111", ()),
    ("submit", "1111111111", ("bob",)),
    ("log", "printed by the player", ("bob", "olga")),
    ("match", "30.0", ("olga",)),
    ("match", "987654321", ()),
    ("matches", "987654321", ()),
    ("round", "the secret salt", ()),
    ("profile", "gtl_", ()),
    ("team", "hooks.example", ()),
]


@pytest.fixture
def places(
    scored: Submission, match: Match, played: Round, challenged: Challenge, bob: User, of_the_team: dict[str, Any]
) -> dict[str, Any]:
    """One of everything, by the names in the addresses."""
    Round.objects.update(state=Round.State.PUBLISHED)
    Submission.objects.update(problem="the problem", fix="the fix for the team")
    build = Build.objects.create(submission=scored, attempt=1, worker="w", started_at=clock.now())
    LogChunk.objects.create(
        build=build, stage="build", first_line=1, lines=1, text="printed by the player", at=clock.now()
    )
    keep_terms(competition=played.competition, text="Be fair.", by=None)
    objection = Objection.objects.create(
        round=played, team=scored.repository.entry.team, text="It is wrong.", made_at=clock.now(), made_by=bob
    )
    return {
        "slug": "digits", "track_name": "model", "team": "owls", "key": str(match.pk), "submission": scored.pk,
        "attempt": 1, "sample": 0, "name": "clean", "proof": 1,
        "challenge": challenged.pk, "objection": objection.pk, **of_the_team, "username": "alice",
    }  # fmt: skip


def address(name: str, places: dict[str, Any]) -> str:
    """Return the address of an operation."""
    pattern = next(each.pattern for each in version_1 if each.name == name)
    path = f"/api/v1/{pattern}"
    number = 1 if "/rounds/" in path else places["submission"]
    slugs = ("slug:slug", "slug:team", "slug:track_name", "slug:name", "str:username")
    numbers = (
        "int:submission",
        "int:attempt",
        "int:sample",
        "int:proof",
        "int:challenge",
        "int:objection",
        "int:number",
        "int:invitation",
        "int:webhook",
        "int:delivery",
    )
    for converter in (*slugs, "path:key", *numbers):
        argument = converter.partition(":")[2]
        path = path.replace(f"<{converter}>", str(number if argument == "number" else places[argument]))
    return path


def test_the_table_names_every_address() -> None:
    assert all(isinstance(each, URLPattern) for each in version_1)
    assert {row.name for row in TABLE} == {each.name for each in version_1}


@pytest.mark.parametrize("role", ROLES)
def test_every_operation_answers_each_role_with_the_status_of_the_table(
    program: Any, client: Any, bob: User, charlie: User, olga: User, places: Any, role: str
) -> None:
    reader = program(User.objects.filter(username=role).first())
    of_role = ROLES.index(role)
    for row in sorted(TABLE, key=lambda each: (each.method, each.name)):
        answer = getattr(reader, row.method)(address(row.name, places), {}, format="json")
        assert answer.status_code == row.statuses[of_role], f"{row.method} {row.name} as {role}: {answer.content}"


@pytest.mark.parametrize("role", ROLES)
def test_a_hidden_competition_does_not_exist(
    program: Any, bob: User, charlie: User, olga: User, places: Any, role: str
) -> None:
    Competition.objects.update(public=False)
    reader = program(User.objects.filter(username=role).first())
    for row in TABLE:
        answer = getattr(reader, row.method)(address(row.name, places), {}, format="json")
        assert answer.status_code == row.hidden[ROLES.index(role)], f"{row.method} {row.name} as {role}"
        if row.name in {"competitions", "submissions", "own_teams"}:
            assert len(answer.json().get("results", [])) == (role == "olga" and row.name != "own_teams"), row.name


@pytest.mark.parametrize("role", ROLES)
def test_it_shows_what_the_page_shows(
    program: Any, bob: User, charlie: User, olga: User, places: Any, role: str
) -> None:
    reader = program(User.objects.filter(username=role).first())
    for name, text, readers in SECRETS:
        seen = text in reader.get(address(name, places)).content.decode()
        assert seen == (role in readers), f"{text!r} in {name} as {role}"
