"""Who may make an account, by `GAUNTLET_SIGN_UP`. Part of the services.

With `open` and `email` anybody may; django-allauth verifies the e-mail address. With `approval` an organiser decides
on each account, with `invitation` a link that an organiser made is used up by one sign-up.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import AccountRequest, SignUpLink, User
from core import clock, events
from core.errors import Refusal

EMAIL, APPROVAL, INVITATION = "email", "approval", "invitation"

LIFETIME = timedelta(days=14)
"""How long a sign-up link works."""


def request_account(user: User) -> AccountRequest:
    """Note that a new account, which is not active, waits for an organiser."""
    asked = AccountRequest.objects.create(user=user, made_at=clock.now())
    events.record("request_account", asked, by=user)
    return asked


def approve(*, request: AccountRequest, by: User, reason: str = "") -> None:
    """Activate the account, also one that was declined. Raises `Refusal` where it is approved already."""
    with transaction.atomic():
        held = _held(request, allowed=(AccountRequest.State.WAITING, AccountRequest.State.DECLINED))
        _settle(held, AccountRequest.State.APPROVED, by)
        User.objects.filter(pk=held.user_id).update(is_active=True)
        events.record("approve_account", held, by=by, reason=reason)


def decline(*, request: AccountRequest, by: User, reason: str = "") -> None:
    """Leave the account inactive. Raises `Refusal` where it was decided already."""
    with transaction.atomic():
        held = _held(request, allowed=(AccountRequest.State.WAITING,))
        _settle(held, AccountRequest.State.DECLINED, by)
        events.record("decline_account", held, by=by, reason=reason)


def make_link(*, note: str, by: User) -> SignUpLink:
    """Make a link with which one person can sign up."""
    now = clock.now()
    with transaction.atomic():
        link = SignUpLink.objects.create(note=note, made_by=by, made_at=now, expires_at=now + LIFETIME)
        events.record("make_sign_up_link", link, by=by, note=note)
    return link


def withdraw_link(*, link: SignUpLink, by: User, reason: str = "") -> None:
    """End a link. Raises `Refusal` where it was used or withdrawn."""
    with transaction.atomic():
        held = SignUpLink.objects.select_for_update().get(pk=link.pk)
        if held.used_at or held.withdrawn_at:
            raise Refusal("this link no longer works", fix="nothing is to be done")
        held.withdrawn_at = clock.now()
        held.save(update_fields=["withdrawn_at"])
        events.record("withdraw_sign_up_link", held, by=by, reason=reason)


def key_of(link: SignUpLink) -> str:
    """The secret part of the link's address."""
    return _signer().sign(str(link.pk))


def link_of(key: str) -> SignUpLink | None:
    """The link with this key, where it still works."""
    try:
        number = _signer().unsign(key)
    except BadSignature:
        return None
    return _working_links().filter(pk=number).first()


def use_link(*, key: str, user: User) -> None:
    """Use the link up for a new account. Raises `Refusal` where it no longer works. Runs in a transaction."""
    link = link_of(key)
    now = clock.now()
    if link is None or not _working_links().filter(pk=link.pk).update(used_at=now, used_by=user):
        raise Refusal("this sign-up link no longer works", fix="ask an organiser for another one")
    events.record("use_sign_up_link", link, by=user)


def _signer() -> Signer:
    return Signer(salt="accounts.sign_up_link", sep=".")


def _working_links() -> QuerySet[SignUpLink]:
    return SignUpLink.objects.filter(used_at=None, withdrawn_at=None, expires_at__gt=clock.now())


def _held(request: AccountRequest, *, allowed: Collection[str]) -> AccountRequest:
    held = AccountRequest.objects.select_for_update().get(pk=request.pk)
    if held.state not in allowed:
        raise Refusal(f"the request is {held.get_state_display()} already", fix="nothing is to be done")
    return held


def _settle(held: AccountRequest, state: AccountRequest.State, by: User) -> None:
    held.state, held.decided_at, held.decided_by = state, clock.now(), by
    held.save(update_fields=["state", "decided_at", "decided_by"])
