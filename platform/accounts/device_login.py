"""Sign-in of a program where no browser is: a person types the program's code on the site and confirms (RFC 8628)."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils.crypto import salted_hmac

from accounts.models import AccessToken, DeviceLogin, User
from accounts.services import issue_token, require_free_token
from core import clock, event_log
from core.errors import Refusal

LIFETIME = timedelta(minutes=10)
INTERVAL, SLOWER = 5, 5
"""Seconds between two requests of a program, and by how many a request that comes earlier raises them."""
SCOPES = (AccessToken.Scope.READ, AccessToken.Scope.SUBMIT)
"""What the token may do. That of organisers is made on the account page only."""
TOKEN_DAYS = 90

PENDING, SLOW_DOWN = "authorization-pending", "slow-down"
EXPIRED, DENIED = "expired-token", "access-denied"

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels: codes are no words."""
_LENGTH = 8
_AGAIN = "start again on the device: gauntlet login SITE"


class DeviceRefusal(Refusal):
    """A program gets no token now; `code` says why, as in section 3.5 of the RFC but with hyphens."""

    def __init__(self, code: str, problem: str, *, fix: str) -> None:
        super().__init__(problem, fix=fix)
        self.code = code


@dataclass(frozen=True)
class DeviceCodes:
    """The codes of a program: `device` is its own secret, `user` is what a person types."""

    device: str
    user: str


def begin(*, client: str, address: str) -> DeviceCodes:
    """Let a program wait for a person; return its codes. Raise `Refusal` for a name that no token can have."""
    client = client.strip()
    if not 1 <= len(client) <= 60 or not client.isprintable():
        raise Refusal("the name of the program is not valid", fix="give a name of 1 to 60 printable characters")
    device, now = secrets.token_urlsafe(32), clock.now()
    user = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    DeviceLogin.objects.filter(expires_at__lte=now).delete()
    DeviceLogin.objects.create(
        client=client, address=address[:45], device_digest=_digest(device), user_digest=_digest(user), made_at=now,
        expires_at=now + LIFETIME, interval=INTERVAL,
    )  # fmt: skip
    half = _LENGTH // 2
    return DeviceCodes(device, f"{user[:half]}-{user[half:]}")


def waiting_login(code: str) -> DeviceLogin:
    """Return what waits under the code that a person typed. Raise `Refusal` if nothing does."""
    digest = _digest(re.sub(r"[\W_]", "", code).upper())
    found = DeviceLogin.objects.filter(user_digest=digest, expires_at__gt=clock.now()).first()
    if found is None:
        raise Refusal("no program waits with this code", fix=f"compare the letters; if they are right, {_AGAIN}")
    if found.state != DeviceLogin.State.WAITING:
        raise Refusal("this code was used already", fix=f"if the device is not signed in, {_AGAIN}")
    return found


def decide(*, login: DeviceLogin, allowed: bool, by: User) -> None:
    """Let the program sign in as `by`, or not.

    Raise `Refusal` if the code expired or somebody else was faster, and if `by` can have no further token.
    """
    if allowed:
        require_free_token(by)
    with transaction.atomic():
        waiting = DeviceLogin.objects.filter(
            pk=login.pk, state=DeviceLogin.State.WAITING, expires_at__gt=clock.now()
        )  # fmt: skip
        state = DeviceLogin.State.ALLOWED if allowed else DeviceLogin.State.REFUSED
        if not waiting.update(state=state, decided_by=by):
            raise Refusal("this code has expired, or was used meanwhile", fix=_AGAIN)
        event_log.record("allow_device" if allowed else "refuse_device", login, by=by, client=login.client)


def token_of(device_code: str) -> tuple[AccessToken, str]:
    """Return the token of a program that was let in, once, and its text. Raise `DeviceRefusal`."""
    now = clock.now()
    login = DeviceLogin.objects.select_related("decided_by").filter(device_digest=_digest(device_code)).first()
    if login is None or login.expires_at <= now or login.state == DeviceLogin.State.USED:
        raise DeviceRefusal(EXPIRED, "the code has expired or was used", fix=_AGAIN)
    user = login.decided_by
    if user is None:
        raise _not_yet(login)
    if login.state == DeviceLogin.State.REFUSED or not user.is_active:
        raise DeviceRefusal(DENIED, "the sign-in was refused on the site", fix="if that was a mistake, start again")
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # of a revocation of all tokens, one is the first
        allowed = DeviceLogin.objects.filter(pk=login.pk, state=DeviceLogin.State.ALLOWED)
        if not allowed.update(state=DeviceLogin.State.USED):
            raise DeviceRefusal(EXPIRED, "the code was used", fix=_AGAIN)
        try:
            return issue_token(user=user, name=login.client, scopes=SCOPES, days=TOKEN_DAYS)
        except Refusal as refusal:  # it has too many by now
            raise DeviceRefusal(DENIED, refusal.problem, fix=refusal.fix) from refusal


def _not_yet(login: DeviceLogin) -> DeviceRefusal:
    """Record a request that came before the person; return how it is refused."""
    now = clock.now()
    early = login.polled_at is not None and now < login.polled_at + timedelta(seconds=login.interval)
    interval = login.interval + SLOWER if early else login.interval
    DeviceLogin.objects.filter(pk=login.pk).update(polled_at=now, interval=interval)
    wait = f"ask again in {interval} seconds"
    if early:
        return DeviceRefusal(SLOW_DOWN, "these requests come too fast", fix=wait)
    return DeviceRefusal(PENDING, "nobody has confirmed the code yet", fix=wait)


def _digest(code: str) -> str:
    """Return a hash that needs the key of the site: the code of a person is short enough to be found without one."""
    return salted_hmac("accounts.device_login", code.encode("utf-8", "replace"), algorithm="sha256").hexdigest()
