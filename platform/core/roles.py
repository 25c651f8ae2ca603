"""The roles of a competition and what each may do: the one table that admin, pages, API and services ask."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, auto

from django.contrib.auth.base_user import AbstractBaseUser
from django.db.models import TextChoices

from core.extension_point import ExtensionPoint


class OrganiserRole(TextChoices):
    """What a person is in a competition that they help to run."""

    OWNER = "owner"
    ORGANISER = "organiser"
    JUDGE = "judge"
    HELPER = "helper"


class Right(StrEnum):
    """What a role may allow. Superusers may do all of it everywhere."""

    SEE = auto()
    SEE_SECRETS = auto()
    ANSWER = auto()
    JUDGE = auto()
    RUN = auto()
    GRANT = auto()
    ARCHIVE = auto()


RIGHTS: Mapping[OrganiserRole, frozenset[Right]] = {
    OrganiserRole.OWNER: frozenset(Right),
    OrganiserRole.ORGANISER: frozenset(Right) - {Right.GRANT, Right.ARCHIVE},
    OrganiserRole.JUDGE: frozenset({Right.SEE, Right.SEE_SECRETS, Right.JUDGE}),
    OrganiserRole.HELPER: frozenset({Right.SEE, Right.ANSWER}),
}

IN_WORDS: Mapping[Right, str] = {
    Right.SEE: "sees the competition before it is public, its teams, their submissions and build logs",
    Right.SEE_SECRETS: "sees secret images, results that are not public, the teams' code and the events",
    Right.ANSWER: "answers teams: announces, retries builds, refunds slots, approves accounts",
    Right.JUDGE: "judges: answers objections, disqualifies, decides on licences and overrides audits",
    Right.RUN: "runs it: changes settings, rules, pages and freeze windows, plays and publishes rounds, replays",
    Right.GRANT: "grants roles, takes them away, and hands the competition over",
    Right.ARCHIVE: "deletes or archives the competition, and takes it back from the archive",
}
"""What each right allows, as the admin says it."""


def roles_with(right: Right) -> list[OrganiserRole]:
    """Return the roles that allow something, the most powerful first."""
    return [role for role in OrganiserRole if right in RIGHTS[role]]


def role_in_words(role: OrganiserRole) -> str:
    """Return what a role may do, as one sentence."""
    return f"{'; '.join(IN_WORDS[each] for each in Right if each in RIGHTS[role])}."


rights_of: ExtensionPoint[[AbstractBaseUser], frozenset[Right]] = ExtensionPoint()
"""What may the user do in at least one competition?"""


def held_by(user: AbstractBaseUser) -> frozenset[Right]:
    """Return what a person's roles allow in at least one competition; nothing without access to the admin."""
    staff = user.is_active and getattr(user, "is_staff", False)
    return frozenset().union(*rights_of.answers(user)) if staff else frozenset()
