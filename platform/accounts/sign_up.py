"""Account requests and sign-up links, for the modes of `GAUNTLET_SIGN_UP`.

With `open` and `email` anybody can sign up; django-allauth verifies the e-mail address. With `approval` an organiser
decides on each account. With `invitation` each sign-up needs a link from an organiser.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import AccountRequest, SignUpLink, User
from core import clock, event_log, signed_keys
from core.errors import Refusal

EMAIL, APPROVAL, INVITATION = "email", "approval", "invitation"

LIFETIME = timedelta(days=14)
"""Time for which a sign-up link is valid."""

_PURPOSE = "accounts.sign_up_link"


def request_account(user: User) -> AccountRequest:
    """Record that a new, inactive account waits for an organiser."""
    created = AccountRequest.objects.create(user=user, made_at=clock.now())
    event_log.record("request_account", created, by=user)
    return created


def approve(*, request: AccountRequest, by: User, reason: str = "") -> None:
    """Activate the account, also if it was declined. Raise `Refusal` if it is already approved."""
    with transaction.atomic():
        locked = _locked(request, allowed=(AccountRequest.State.WAITING, AccountRequest.State.DECLINED))
        _decide(locked, AccountRequest.State.APPROVED, by)
        User.objects.filter(pk=locked.user_id).update(is_active=True)
        event_log.record("approve_account", locked, by=by, reason=reason)


def decline(*, request: AccountRequest, by: User, reason: str = "") -> None:
    """Leave the account inactive. Raise `Refusal` if the request is already decided."""
    with transaction.atomic():
        locked = _locked(request, allowed=(AccountRequest.State.WAITING,))
        _decide(locked, AccountRequest.State.DECLINED, by)
        event_log.record("decline_account", locked, by=by, reason=reason)


def make_link(*, note: str, by: User) -> SignUpLink:
    """Create a link for one sign-up."""
    now = clock.now()
    with transaction.atomic():
        link = SignUpLink.objects.create(note=note, made_by=by, made_at=now, expires_at=now + LIFETIME)
        event_log.record("make_sign_up_link", link, by=by, note=note)
    return link


def withdraw_link(*, link: SignUpLink, by: User, reason: str = "") -> None:
    """Invalidate a link. Raise `Refusal` if it is used or withdrawn."""
    with transaction.atomic():
        locked = SignUpLink.objects.select_for_update().get(pk=link.pk)
        if locked.used_at or locked.withdrawn_at:
            raise Refusal("this link no longer works", fix="no action needed")
        locked.withdrawn_at = clock.now()
        locked.save(update_fields=["withdrawn_at"])
        event_log.record("withdraw_sign_up_link", locked, by=by, reason=reason)


def key_of(link: SignUpLink) -> str:
    """Return the secret part of the link's address."""
    return signed_keys.sign(link.pk, link.nonce, purpose=_PURPOSE)


def link_of(key: str) -> SignUpLink | None:
    """Return the link with this key if it is valid."""
    named = signed_keys.read(key, purpose=_PURPOSE)
    if named is None:
        return None
    number, nonce = named
    return _valid_links().filter(pk=number, nonce=nonce).first()


def use_link(*, key: str, user: User) -> None:
    """Mark the link as used by a new account. Raise `Refusal` if it is not valid. Call it in a transaction."""
    link = link_of(key)
    now = clock.now()
    if link is None or not _valid_links().filter(pk=link.pk).update(used_at=now, used_by=user):
        raise Refusal("this sign-up link no longer works", fix="ask an organiser for a new link")
    event_log.record("use_sign_up_link", link, by=user)


def _valid_links() -> QuerySet[SignUpLink]:
    return SignUpLink.objects.filter(used_at=None, withdrawn_at=None, expires_at__gt=clock.now())


def _locked(request: AccountRequest, *, allowed: Collection[str]) -> AccountRequest:
    locked = AccountRequest.objects.select_for_update().get(pk=request.pk)
    if locked.state not in allowed:
        raise Refusal(f"the request is already {locked.get_state_display()}", fix="no action needed")
    return locked


def _decide(locked: AccountRequest, state: AccountRequest.State, by: User) -> None:
    locked.state, locked.decided_at, locked.decided_by = state, clock.now(), by
    locked.save(update_fields=["state", "decided_at", "decided_by"])
