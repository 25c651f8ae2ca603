"""A POST to every address of the URL configuration by every role: no server error, and no change without permission."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test import Client
from django.urls import URLResolver, get_resolver
from pytest_django import Settings

from accounts.models import AccessToken, Invitation, Team, User
from competitions.models import Competition, Organiser
from core import clock
from core.roles import OrganiserRole
from formats.query.matches.models import Match
from rounds.models import Objection, Round, RoundEntry
from submissions.models import Player, Submission

ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")
WRITE = re.compile(r'\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM)\s+"(\w+)"')

OWN = {"accounts_user", "accounts_accesstoken", "account_emailaddress", "django_session", "accounts_devicelogin"}
"""Tables of a user's own account, and of programs that wait to sign in to one."""
SIGN_UP = OWN | {"accounts_accountrequest"}
"""Accounts are open in the settings of the tests."""
TEAM = OWN | {"accounts_membership", "accounts_invitation", "accounts_team", "competitions_entry", "core_event"}
SUBMITTING = {
    *("submissions_submission", "submissions_quotaslot", "submissions_build", "repositories_repository"),
    "workers_workertime",  # a build that is withdrawn costs the worker time that it took
    "repositories_pushcost",  # a commit submitted by its hash is charged like a push
    *("competitions_termsacceptance", "leaderboards_evaluation", "leaderboards_standing", "matches_match"),
    "challenges_challenge",
}
JUDGING = {"submissions_submission", "leaderboards_standing", "rounds_roundentry", "rounds_objection"}
ANSWERING = {
    *("competitions_announcement", "accounts_accountrequest", "accounts_signuplink"),
    *("submissions_submission", "submissions_quotaslot", "submissions_build"),
}
OPERATORS = {"auth_group", "auth_group_permissions", "workers_worker", "workers_host", "rounds_signingkey"}

WITHOUT_EVENT = OWN | {"django_admin_log"}
"""Tables whose changes by an organiser are no events."""

MAY_CHANGE: dict[str, set[str] | None] = {
    "anonymous": SIGN_UP,
    "charlie": TEAM,  # invited by the Owls, and may found a team
    "rita": TEAM,  # organises another competition
    "bob": TEAM | SUBMITTING | {"rounds_objection"},
    "julia": TEAM | JUDGING,  # judges
    "henry": TEAM | ANSWERING,  # helps
    "olga": None,  # all but the tables of operators
    "superuser": None,
}
"""The tables that a POST of each role may change."""

FIELDS = {
    "name": "A name", "title": "A title", "slug": "a-slug", "username": "somebody", "email": "x@example.org",
    "login": "bob", "password": "wrong", "password1": "a long password 1", "password2": "a long password 1",
    "reason": "a reason", "text": "A text.", "tag": "submission-9", "revision": "main", "commit": "0" * 40,
    "time_zone": "Europe/Berlin", "next": "/", "action": "delete_selected", "_selected_action": "1",
    "post": "yes", "confirm": "yes", "state": "published", "is_staff": "on", "is_superuser": "on", "public": "on",
    "days": "9", "scopes": "read", "display_name": "X", "_save": "Save", "accept": "on",
    "about": "result", "confirmed": "yes", "user_name": "charlie", "role": "judge", "to": "charlie",
    "opponent": "gaussian-noise",
}  # fmt: skip
FORM = ("application/x-www-form-urlencoded", urlencode(FIELDS))
JSON = ("application/json", json.dumps(FIELDS))


@dataclass
class Writes:
    """Collects the tables in which statements change rows."""

    tables: set[str] = field(default_factory=set)

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        found = WRITE.match(sql)  # an INSERT that returns its key has no count yet
        if found and (context["cursor"].rowcount != 0 or "RETURNING" in sql):
            self.tables.add(found[1])
        return result


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[str]:
    """Return the route of every address."""
    for each in (resolver or get_resolver()).url_patterns:
        if isinstance(each, URLResolver):
            yield from routes(each, f"{before}{each.pattern}")
        else:
            yield f"{before}{each.pattern}"


@pytest.fixture
def site(
    shown: dict[str, Submission], played_match: Match, planned: Round, alice: User, charlie: User, olga: User
) -> dict[str, str]:
    """Arguments of addresses by their name in the route; there is one of everything."""
    now = alice.date_joined
    token = AccessToken.objects.create(
        user=alice, name="laptop", scopes=["read"], digest="d" * 64, start="gtl_alice", created_at=now,
        expires_at=now + timedelta(days=9),
    )  # fmt: skip
    invitation = Invitation.objects.create(
        team=Team.objects.get(slug="owls"), username="charlie", user=charlie, invited_by=alice, made_at=now,
        expires_at=now + timedelta(days=9),
    )  # fmt: skip
    objection = contest(planned, shown["scored"], alice)
    other = Competition.objects.create(
        slug="letters", title="Letters", starts_at=planned.planned_at, ends_at=planned.planned_at + timedelta(days=9),
        created_at=planned.planned_at,
    )  # fmt: skip
    rita = User.objects.create_user("rita", "rita@example.org", is_staff=True)
    Organiser.objects.create(competition=other, user=rita)
    for name, role in (("julia", OrganiserRole.JUDGE), ("henry", OrganiserRole.HELPER)):
        person = User.objects.create_user(name, f"{name}@example.org", is_staff=True)
        Organiser.objects.create(competition=planned.competition, user=person, role=role)
    User.objects.filter(pk=olga.pk).update(is_staff=True)
    User.objects.create_superuser("superuser", "s@example.org", None)
    return {
        "slug": "digits", "teams/slug": "owls", "team": "owls", "track_name": "model", "username": "bob",
        "number": str(shown["building"].pk), "rounds/number": "1", "matches/number": str(played_match.pk),
        "invitations/number": str(invitation.pk), "user": str(alice.pk), "token": str(token.pk),
        "service": "git-receive-pack", "key": "x", "uidb36": "1", "old": "1", "new": "1", "part": "bundle",
        "name": "prizes", "attack": "1", "defence": "1", "sample": "0", "app_label": "core", "content_type_id": "1",
        "url": "nothing", "id": str(alice.pk), "format": "json",
        "objection": str(objection.pk),
    }  # fmt: skip


def contest(round_: Round, entered: Submission, by: User) -> Objection:
    """Publish a round with a period for objections, in which the team of a submission took part, and object to it."""
    Round.objects.filter(pk=round_.pk).update(
        state="published", state_since=clock.now(), objection_days=9, schedule="ladder"
    )
    player = Player.objects.get(submissions=entered)
    entry = RoundEntry.objects.create(
        round=round_, track=entered.repository.track, submission=entered, player=player, order=1, prior=1, place=1
    )
    return Objection.objects.create(
        round=round_, team=entered.repository.entry.team, entry=entry, text="A text.", made_at=clock.now(), made_by=by
    )


def address(route: str, arguments: dict[str, str]) -> str:
    """Return an address of the route: that of a row of its model in the admin, else of the row in `arguments`."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        before = route[: found.start()].rstrip("/^").split("/")
        if before[0] == "admin" and len(before) > 2:
            try:
                row = apps.get_model(before[1], before[2])._default_manager.first()
            except LookupError:
                row = None
            if row is not None:
                return str(row.pk)
        return arguments.get(f"{before[-1]}/{name}") or arguments.get(name) or "1"

    return "/" + re.sub(r"[\^$]|\\(?=[.Z])|\(\?:.*?\)", "", ARGUMENT.sub(value, route))


@pytest.fixture
def bare(empty_errors: None, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """No limit of requests, above which nothing is checked; and for time, not what thousands of answers share.

    That is pages of errors, the navigation of the admin, for the tests of its own pages, and the query of a session.
    """
    settings.ANONYMOUS_REQUESTS = 0
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    monkeypatch.setattr("rest_framework.views.APIView.throttle_classes", [])
    monkeypatch.setattr("unfold.sites.UnfoldAdminSite.get_sidebar_list", lambda site, request: [{"items": []}])


def forbidden(role: str, changed: set[str]) -> set[str]:
    """Return the tables of `changed` that the role may not change, or not without an event."""
    allowed = MAY_CHANGE[role]
    if allowed is not None:
        return changed - allowed
    if role == "superuser":
        return set()
    return changed & OPERATORS or (set() if "core_event" in changed else changed - WITHOUT_EVENT)


@pytest.mark.usefixtures("bare")
@pytest.mark.slow(16)
def test_no_post_is_a_server_error_or_changes_what_its_role_may_not(site: dict[str, str]) -> None:
    addresses = {route: address(route, site) for route in sorted(set(routes()))}  # no POST changes the site
    errors: list[str] = []
    statuses: dict[str, set[int]] = {}
    for role in MAY_CHANGE:
        client = Client()
        if role != "anonymous":
            client.force_login(User.objects.get(username=role))
        cookies, statuses[role] = client.cookies.copy(), set()
        for route, page in addresses.items():
            if role == "charlie" and route.startswith("admin/"):
                continue  # as to Bob, who is no member of the staff either
            filled = JSON if route.startswith("api/") else FORM
            for kind, body in (filled,) if route.startswith("admin/") else ((filled[0], ""), filled):
                writes = Writes()
                client.cookies.clear()
                client.cookies.update(cookies)
                with transaction.atomic():
                    with connection.execute_wrapper(writes):
                        answer = client.post(page, body, content_type=kind)
                        answer.getvalue()
                    transaction.set_rollback(True)
                statuses[role].add(answer.status_code)
                if answer.status_code >= 500 or forbidden(role, writes.tables):
                    errors.append(f"{page} by {role}: {answer.status_code}, {forbidden(role, writes.tables)}")
                if answer.status_code == 405:  # whatever the body
                    break
    assert errors == []
    assert [role for role, seen in statuses.items() if not {302, 404, 405} <= seen or 429 in seen] == []


def test_it_finds_changes(site: dict[str, str]) -> None:
    client, writes = Client(), Writes()
    client.force_login(User.objects.get(username="bob"))
    with connection.execute_wrapper(writes):
        client.post(address("submissions/<int:number>/withdraw", site))
        client.post(address("competitions/<slug:slug>/rounds/<int:number>/objections/new", site), FIELDS)
    assert {"submissions_submission", "rounds_objection"} <= writes.tables
