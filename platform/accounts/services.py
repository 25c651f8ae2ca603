"""Teams, memberships and access tokens."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.models import RESERVED_SLUGS, AccessToken, DeviceLogin, Membership, Team, User
from accounts.name_rules import clean_team_name, skeleton
from core import clock, event_log
from core.errors import Refusal
from core.time_format import in_words

TOKEN_PREFIX = "gtl_"  # noqa: S105 - lets secret scanners find leaked tokens
MAX_TOKENS = 20
MAX_DAYS = 366
_SHOWN_CHARACTERS = 8
_USE_RECORDED_EVERY = timedelta(minutes=1)

TOKEN_UNKNOWN, TOKEN_REVOKED, TOKEN_EXPIRED = "token-unknown", "token-revoked", "token-expired"
ACCOUNT_INACTIVE, SCOPE_MISSING = "account-inactive", "scope-missing"

_CREATE = "create another one on your account page"


class TokenRefusal(Refusal):
    """A token that is not valid for what it was sent for; `code` says why, for programs."""

    def __init__(self, code: str, problem: str, *, fix: str) -> None:
        super().__init__(problem, fix=fix)
        self.code = code


def create_team(*, slug: str, name: str, captain: User) -> Team:
    """Create a team with its captain. Raise `Refusal` for an invalid or taken slug or name, and for look-alikes."""
    name = clean_team_name(name)
    _require_slug(slug)
    _require_free(slug, name)
    now = clock.now()
    try:
        with transaction.atomic():
            team = Team.objects.create(slug=slug, name=name, created_at=now)
            Membership.objects.create(team=team, user=captain, role=Membership.Role.CAPTAIN, joined_at=now)
            event_log.record("make", team, by=captain, slug=slug, name=name)
    except IntegrityError:
        _require_free(slug, name)
        raise
    return team


def join(*, team: Team, user: User) -> Membership:
    """Make a person who agreed a member. Raise `Refusal` if they already are one."""
    try:
        with transaction.atomic():
            membership = Membership.objects.create(
                team=team, user=user, role=Membership.Role.MEMBER, joined_at=clock.now()
            )
            event_log.record("add_member", team, by=user, user=user.pk)
    except IntegrityError as error:
        raise Refusal(f"{user} is already in {team}", fix="no action needed") from error
    return membership


def remove_member(*, team: Team, user: User, by: User) -> None:
    """Remove a member, by the captain or by themselves. Raise `Refusal` for others, the captain and non-members."""
    if user.pk != by.pk:
        require_captain(team, by)
    elif Membership.objects.filter(team=team, user=by, role=Membership.Role.CAPTAIN).exists():
        raise Refusal(
            f"{user} is the captain of {team}",
            fix="name another member; the captain cannot leave the team",
        )
    with transaction.atomic():
        removed, _ = Membership.objects.filter(team=team, user=user, role=Membership.Role.MEMBER).delete()
        if not removed:
            raise Refusal(
                f"{user} is not in {team}",
                fix="name a member of the team",
            )
        event_log.record("remove_member", team, by=by, user=user.pk)


def require_captain(team: Team, by: User) -> None:
    """Raise `Refusal` if `by` is not the team's captain."""
    if not Membership.objects.filter(team=team, user=by, role=Membership.Role.CAPTAIN).exists():
        raise Refusal(
            f"only the captain of {team} can invite and remove members",
            fix="ask the captain",
        )


def issue_token(*, user: User, name: str, scopes: Sequence[str], days: int) -> tuple[AccessToken, str]:
    """Create a token valid for `days` days; return its row and the token itself, which is not stored.

    Raise `Refusal` for an invalid name, missing or unknown scopes, days outside 1 to 366, and the 21st valid token.
    """
    name = name.strip()
    if not 1 <= len(name) <= 60 or not name.isprintable():
        raise Refusal("the token's name is not valid", fix="give a name of 1 to 60 printable characters")
    known = AccessToken.Scope.values
    if not scopes or not set(scopes) <= set(known):
        raise Refusal(
            f"invalid scopes: {', '.join(scopes) or 'none'}",
            fix=f"choose from: {', '.join(known)}",
        )
    if not 1 <= days <= MAX_DAYS:
        raise Refusal(
            f"a token cannot be valid for {days:,} days",
            fix=f"choose 1 to {MAX_DAYS} days",
        )
    plain = TOKEN_PREFIX + secrets.token_urlsafe(32)
    now = clock.now()
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(
            pk=user.pk
        )  # of two concurrent requests, only one can be the 20th
        require_free_token(user)
        token = AccessToken.objects.create(
            user=user,
            name=name,
            scopes=[scope for scope in known if scope in scopes],
            digest=_digest(plain),
            start=plain[:_SHOWN_CHARACTERS],
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        event_log.record("issue", token, by=user, scopes=token.scopes, days=days)
    return token, plain


def require_free_token(user: User) -> None:
    """Raise `Refusal` if the person has as many valid tokens as anybody may have."""
    if user.tokens.filter(revoked_at=None, expires_at__gt=clock.now()).count() >= MAX_TOKENS:
        raise Refusal(
            f"you already have {MAX_TOKENS} valid tokens",
            fix="revoke one that you no longer use",
        )


def revoke_token(*, token: AccessToken, by: User) -> None:
    """Revoke a token; safe to repeat. Raise `Refusal` unless `by` is the owner or a superuser."""
    if by.pk != token.user_id and not by.is_superuser:
        raise Refusal("this token belongs to another person", fix="revoke one of your own tokens")
    with transaction.atomic():
        if AccessToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=clock.now()):
            event_log.record("revoke", token, by=by)


def revoke_tokens(*, user: User, by: User | None = None) -> int:
    """Revoke all tokens of a person; return how many were still valid.

    Programs that the person let sign in, and that have not fetched their token yet, get none.
    """
    now = clock.now()
    with transaction.atomic():
        allowed = user.device_logins.filter(state=DeviceLogin.State.ALLOWED)
        allowed.update(state=DeviceLogin.State.REFUSED)
        revoked = user.tokens.filter(revoked_at=None, expires_at__gt=now).update(revoked_at=now)
        if revoked:
            event_log.record("revoke_tokens", user, by=by, tokens=revoked)
    return revoked


def use_token(plain: str, scope: str) -> AccessToken | None:
    """Return the row of a token valid for `scope`, else None. Record the use, at most once a minute."""
    try:
        return check_token(plain, scope)
    except TokenRefusal:
        return None


def check_token(plain: str, scope: str) -> AccessToken:
    """Return the row of a token valid for `scope`. Record the use, at most once a minute. Raise `TokenRefusal`.

    The reason is for the holder of the token: nobody else can name it.
    """
    now = clock.now()
    token = AccessToken.objects.select_related("user").filter(digest=_digest(plain)).first()
    if token is None:
        raise TokenRefusal(
            TOKEN_UNKNOWN, "the site does not know this token", fix="copy the whole token, or create one"
        )
    if token.revoked_at is not None:
        raise TokenRefusal(TOKEN_REVOKED, f"the token {token.name!r} is revoked", fix=_CREATE)
    if token.expires_at <= now:
        when = in_words(token.expires_at)
        raise TokenRefusal(TOKEN_EXPIRED, f"the token {token.name!r} expired at {when}", fix=_CREATE)
    if not token.user.is_active:
        raise TokenRefusal(ACCOUNT_INACTIVE, "the account of this token is not active", fix="ask the organisers")
    if scope not in token.scopes:
        raise TokenRefusal(
            SCOPE_MISSING,
            f"the token {token.name!r} lacks the scope {scope!r}; it has: {', '.join(token.scopes)}",
            fix=f"create a token with the scope {scope!r} on your account page",
        )
    if token.last_used_at is None or token.last_used_at <= now - _USE_RECORDED_EVERY:
        not_recorded = Q(last_used_at=None) | Q(last_used_at__lte=now - _USE_RECORDED_EVERY)
        AccessToken.objects.filter(not_recorded, pk=token.pk).update(last_used_at=now)
    return token


def _digest(plain: str) -> str:
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()


def _require_slug(slug: str) -> None:
    if slug in RESERVED_SLUGS:
        raise Refusal(f"{slug!r} is reserved", fix="choose another short name")
    try:
        Team._meta.get_field("slug").clean(slug, None)
    except ValidationError as error:
        raise Refusal(
            f"the short name {slug!r} is not valid",
            fix=" ".join(error.messages) + " At most 40 characters.",
        ) from error


def _require_free(slug: str, name: str) -> None:
    if Team.objects.filter(slug=slug).exists():
        raise Refusal(f"the short name {slug!r} is taken", fix="choose another short name")
    if Team.objects.filter(slug_skeleton=skeleton(slug)).exists():
        raise Refusal(
            f"the short name {slug!r} looks like another team's",
            fix="choose another short name",
        )
    if Team.objects.filter(name__iexact=name).exists():
        raise Refusal(f"the name {name!r} is taken", fix="choose another name")
    if Team.objects.filter(name_skeleton=skeleton(name)).exists():
        raise Refusal(f"the name {name!r} looks like another team's", fix="choose another name")
