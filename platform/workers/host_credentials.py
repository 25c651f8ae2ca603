"""Credentials of worker hosts that share no folder with the site: made by a superuser, used once to join, revoked.

A host joins with a key that its page shows, and gets the addresses of database, broker and object store for it, and a
token. The token opens nothing but the commits of the repositories, and the identity of the site.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from accounts.models import User
from core import clock, event_log, signed_keys
from core.errors import Refusal
from workers.models import HostCredential

LIFETIME = timedelta(hours=1)
"""Time in which a host must join."""

_PURPOSE = "workers.host_credentials"
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?")
_USE_RECORDED_EVERY = timedelta(minutes=1)
_NEW_ONE = "ask for a new command: an administrator adds the host again (admin, Host credentials)"


def make_credential(*, host: str, by: User | None) -> HostCredential:
    """Let a host of this name join. Raise `Refusal` if it may already, or could not reach what all hosts share."""
    if not _NAME.fullmatch(host):
        raise Refusal(
            f"{host[:63]!r} is not the name of a host",
            fix="use 1 to 63 letters, digits, dots and hyphens, such as gpu-1",
        )
    settings.HOST_SETTINGS()
    now = clock.now()
    with transaction.atomic():
        expired = Q(joined_at=None, expires_at__lte=now)
        HostCredential.objects.filter(expired, host=host, revoked_at=None).update(revoked_at=now)
        made, is_new = HostCredential.objects.get_or_create(
            host=host, revoked_at=None, defaults={"made_by": by, "made_at": now, "expires_at": now + LIFETIME}
        )
        if not is_new:
            raise Refusal(f"{host} has a credential already", fix="revoke that one first, or choose another name")
        event_log.record("make", made, by=by)
    return made


def join_key(credential: HostCredential) -> str:
    """Return the key with which its host joins; "" if it no longer can."""
    return signed_keys.sign(credential.pk, credential.nonce, purpose=_PURPOSE) if _may_join(credential) else ""


def join(key: str) -> tuple[HostCredential, str]:
    """Use a key: return the credential of the host, and its token. Raise `Refusal` if the key is not valid, or no more.

    A key works once: of two hosts that use it at the same time, one joins.
    """
    named = signed_keys.read(key, purpose=_PURPOSE)
    if named is None:
        raise Refusal("this is not a key of this site", fix="copy the whole command from the admin")
    number, nonce = named
    with transaction.atomic():
        credential = HostCredential.objects.select_for_update().filter(pk=number, nonce=nonce).first()
        if credential is None or not _may_join(credential):
            raise Refusal("this key was used, has expired or is revoked", fix=_NEW_ONE)
        token = f"gth_{secrets.token_urlsafe(32)}"
        credential.joined_at, credential.digest = clock.now(), _digest(token)
        credential.save(update_fields=["joined_at", "digest"])
        event_log.record("join_host", credential, host=credential.host)
    return credential, token


def use_host_token(token: str) -> HostCredential | None:
    """Return the credential of a token, None if it is unknown or revoked. Record the use, at most once a minute."""
    credential = HostCredential.objects.filter(digest=_digest(token), revoked_at=None).first()
    now = clock.now()
    if credential is not None and (
        credential.last_used_at is None or credential.last_used_at <= now - _USE_RECORDED_EVERY
    ):
        HostCredential.objects.filter(pk=credential.pk).update(last_used_at=now)
    return credential


def number_of_host(token: str) -> int | None:
    """Return the number of the credential of a token, which it uses; None if it is unknown or revoked."""
    credential = use_host_token(token) if token else None
    return None if credential is None else credential.pk


def revoke(*, credential: HostCredential, by: User, reason: str) -> None:
    """End a credential. The passwords that the host got with it stay valid. Raise `Refusal` if it is revoked."""
    with transaction.atomic():
        locked = HostCredential.objects.select_for_update().get(pk=credential.pk)
        if locked.revoked_at is not None:
            raise Refusal(f"{locked} is already revoked", fix="no action needed")
        locked.revoked_at = clock.now()
        locked.save(update_fields=["revoked_at"])
        event_log.record("revoke", locked, by=by, reason=reason)


def _may_join(credential: HostCredential) -> bool:
    return credential.joined_at is None and credential.revoked_at is None and credential.expires_at > clock.now()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
