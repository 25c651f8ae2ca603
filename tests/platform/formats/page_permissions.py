"""Who gets which answer of the pages of a competition: one table for every format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from django.db import transaction
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.models import Competition
from rounds.models import Round
from submissions.models import Submission

ROLES = ("anonymous", "stranger", "captain", "organiser")


class Row(NamedTuple):
    """A page by name, its request, and the status for each role, in the order of ROLES."""

    name: str
    arguments: tuple[object, ...]
    statuses: tuple[int, int, int, int]
    method: str = "get"


EVERYONE = (200, 200, 200, 200)
MEMBERS_ACT = (302, 403, 302, 403)


def table(round_: Round, submission: Submission) -> list[Row]:
    """Return the answers of a competition with a published round, in which the captain has a submission."""
    slug, number = round_.competition.slug, round_.number
    track, team = submission.repository.track.name, submission.repository.entry.team.slug
    return [
        *(Row(name, (slug,), EVERYONE) for name in ("competition", "rules", "data", "citation", "share_competition")),
        *(Row(name, (slug, track), EVERYONE) for name in ("board", "board_csv", "track_feed", "share_board")),
        *(Row(name, (slug, number), EVERYONE) for name in ("round", "share_round")),
        *(Row("round_file", (slug, number, part), EVERYONE) for part in ("bundle", "images")),
        Row("round_file", (slug, number, "code"), (404, 404, 404, 404)),  # not released
        Row("objection_new", (slug, number), (302, 302, 302, 403)),  # too late: back to the round
        *(Row(name, (submission.pk,), (403, 403, 404, 404)) for name in ("log_after", "log_file")),  # never built
        Row("submission", (submission.pk,), EVERYONE),
        Row("withdraw", (submission.pk,), MEMBERS_ACT, "post"),
        Row("choose", (submission.pk,), MEMBERS_ACT, "post"),
        Row("submit", (team, track), MEMBERS_ACT, "post"),
        Row("team", (team,), EVERYONE),
    ]


def differences(round_: Round, submission: Submission, stranger: User, organiser: User) -> dict[str, object]:
    """Return what differs from the table, of the public competition and of one that only its organisers see."""
    clients = {role: Client() for role in ROLES}
    for role, user in (("stranger", stranger), ("captain", submission.submitted_by), ("organiser", organiser)):
        clients[role].force_login(user)
    found: dict[str, object] = {}
    for public in (True, False):
        Competition.objects.filter(pk=round_.competition_id).update(public=public)
        for row in table(round_, submission):
            anonymous, *_, own = row.statuses
            hidden = (302 if anonymous == 302 else 404, 404, 404, own)
            seen = statuses(clients, row.method, reverse(f"pages:{row.name}", args=row.arguments))
            if seen != (row.statuses if public else hidden):
                found[f"{row.method} {row.name} {row.arguments}, {public=}"] = seen
    return found


def statuses(clients: Mapping[str, Client], method: str, path: str) -> tuple[int, ...]:
    """Return the status of a page for each role; nothing stays of what a request changes."""
    seen = []
    for client in clients.values():
        with transaction.atomic():
            answer = client.generic(method.upper(), path)
            answer.getvalue()  # an unread file would stay open
            transaction.set_rollback(True)
        seen.append(answer.status_code)
    return tuple(seen)
