"""The roles of a competition and what each may do: the one table that admin, pages, API and services ask."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, auto

from django.db.models import TextChoices


class Role(TextChoices):
    """What a person is in a competition that they help to run."""

    OWNER = "owner"
    ORGANISER = "organiser"
    JUDGE = "judge"
    HELPER = "helper"


class Capability(StrEnum):
    """What a role may allow. Superusers may do all of it everywhere."""

    SEE = auto()
    SEE_SECRETS = auto()
    ANSWER = auto()
    JUDGE = auto()
    RUN = auto()
    GRANT = auto()


CAPABILITIES: Mapping[Role, frozenset[Capability]] = {
    Role.OWNER: frozenset(Capability),
    Role.ORGANISER: frozenset(Capability) - {Capability.GRANT},
    Role.JUDGE: frozenset({Capability.SEE, Capability.SEE_SECRETS, Capability.JUDGE}),
    Role.HELPER: frozenset({Capability.SEE, Capability.ANSWER}),
}

IN_WORDS: Mapping[Capability, str] = {
    Capability.SEE: "sees the competition before it is public, its teams, their submissions and build logs",
    Capability.SEE_SECRETS: "sees secret images, results that are not public, the teams' code and the events",
    Capability.ANSWER: "answers teams: announces, retries builds, refunds slots, approves accounts",
    Capability.JUDGE: "judges: answers objections, disqualifies, decides on licences and overrides audits",
    Capability.RUN: "runs it: changes settings, rules, pages and freeze windows, plays and publishes rounds, replays",
    Capability.GRANT: "grants roles, takes them away, and hands the competition over",
}
"""What each capability allows, as the admin says it."""


def roles_with(capability: Capability) -> list[Role]:
    """Return the roles that allow something, the most powerful first."""
    return [role for role in Role if capability in CAPABILITIES[role]]


def role_in_words(role: Role) -> str:
    """Return what a role may do, as one sentence."""
    return f"{'; '.join(IN_WORDS[each] for each in Capability if each in CAPABILITIES[role])}."
