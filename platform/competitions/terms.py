"""Terms of a competition: versions, and which one a team's captain has accepted."""

from __future__ import annotations

import hashlib

from django.db import transaction
from django.db.models import Max

from accounts.models import User
from accounts.selectors import is_captain
from competitions.models import Competition, Entry, TermsAcceptance, TermsVersion
from competitions.permissions import require
from competitions.selectors import acceptance_of, terms_in_force
from core import clock, event_log
from core.errors import Refusal
from core.roles import Right


def publish_terms(*, competition: Competition, text: str, by: User) -> TermsVersion:
    """Publish the next version of the terms; an empty text ends them. Raise `Refusal` unless `by` is an organiser.

    Teams that have not accepted this text cannot submit until they do.
    """
    require(by, competition, Right.RUN)
    return keep_terms(competition=competition, text=text, by=by)


def keep_terms(*, competition: Competition, text: str, by: User | None) -> TermsVersion:
    """Publish terms without a check of `by`: for an import. The text in force makes no new version."""
    text = text.replace("\r\n", "\n") if text.strip() else ""
    digest = hashlib.sha256(text.encode()).hexdigest()
    with transaction.atomic():
        # of two concurrent calls, the second sees the version of the first
        Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        newest = competition.terms_versions.first()
        if newest is not None and newest.digest == digest:
            return newest
        number = (competition.terms_versions.aggregate(newest=Max("version"))["newest"] or 0) + 1
        made = competition.terms_versions.create(version=number, text=text, digest=digest, created_at=clock.now())
        event_log.record("publish_terms", made, by=by, competition=competition.pk, version=number, digest=digest)
    return made


def accept_terms(*, entry: Entry, digest: str, by: User) -> TermsAcceptance | None:
    """Record that the captain accepts the terms with this digest for the team. Safe to repeat.

    Return None if there are no terms. Raise `Refusal` if `by` is not the captain, and if other terms are in force.
    """
    terms = terms_in_force(entry.competition)
    if terms is None:
        return None
    if not is_captain(by, entry.team):
        raise Refusal(f"only the captain of {entry.team} can accept the terms", fix="ask the captain")
    if digest != terms.digest:
        raise Refusal(
            f"version {terms.version} of the terms is in force, and it was not accepted",
            fix="read the terms, and accept them",
        )
    if known := acceptance_of(entry, terms):
        return known
    with transaction.atomic():
        accepted, made = TermsAcceptance.objects.get_or_create(
            entry=entry, terms=terms, defaults={"user": by, "accepted_at": clock.now()}
        )
        if made:
            event_log.record("accept_terms", entry, by=by, version=terms.version, digest=digest)
    return accepted


def require_accepted_terms(entry: Entry, address: str) -> None:
    """Raise `Refusal` unless the team has accepted the terms in force; `address` is where the captain accepts them."""
    terms = terms_in_force(entry.competition)
    if terms is None or acceptance_of(entry, terms):
        return
    changed = TermsAcceptance.objects.filter(entry=entry).exists()
    raise Refusal(
        f"the terms of {entry.competition} {'have changed' if changed else 'apply'}, "
        f"and {entry.team} has not accepted version {terms.version}",
        fix=f"the captain reads and accepts them at {address}",
    )
