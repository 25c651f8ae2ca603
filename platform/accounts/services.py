"""Make teams, change who is in them, and issue the tokens of their programs."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.models import RESERVED_SLUGS, AccessToken, Membership, Team, User
from accounts.names import clean_team_name, skeleton
from core import clock, events
from core.errors import Refusal

TOKEN_MARK = "gtl_"  # noqa: S105 - what every token starts with, so that scanners for leaked secrets find it
MOST_TOKENS = 20
MOST_DAYS = 366
_START = 8
_NOTED_EVERY = timedelta(minutes=1)


def create_team(*, slug: str, name: str, captain: User) -> Team:
    """Form a team of one. Raises `Refusal` for a slug or name that is taken, looks like a taken one, or cannot be."""
    name = clean_team_name(name)
    _require_slug(slug)
    _require_free(slug, name)
    now = clock.now()
    try:
        with transaction.atomic():
            team = Team.objects.create(slug=slug, name=name, created_at=now)
            Membership.objects.create(team=team, user=captain, role=Membership.Role.CAPTAIN, joined_at=now)
            events.record("make", team, by=captain, slug=slug, name=name)
    except IntegrityError:
        _require_free(slug, name)
        raise
    return team


def join(*, team: Team, user: User) -> Membership:
    """Make a person a member, who agreed to it. Raises `Refusal` for those who are."""
    try:
        with transaction.atomic():
            membership = Membership.objects.create(
                team=team, user=user, role=Membership.Role.MEMBER, joined_at=clock.now()
            )
            events.record("add_member", team, by=user, user=user.pk)
    except IntegrityError as error:
        raise Refusal(f"{user} is already in {team}", fix="nothing is to be done") from error
    return membership


def remove_member(*, team: Team, user: User, by: User) -> None:
    """Let the captain remove a member, or a member leave. Raises `Refusal` for strangers, the captain, no member."""
    if user.pk != by.pk:
        require_captain(team, by)
    elif Membership.objects.filter(team=team, user=by, role=Membership.Role.CAPTAIN).exists():
        raise Refusal(f"{user} is the captain of {team}", fix="a captain cannot be removed")
    with transaction.atomic():
        gone, _ = Membership.objects.filter(team=team, user=user, role=Membership.Role.MEMBER).delete()
        if not gone:
            raise Refusal(f"{user} is not in {team}", fix="give the name of one of its members")
        events.record("remove_member", team, by=by, user=user.pk)


def require_captain(team: Team, by: User) -> None:
    """Raise `Refusal` where `by` is not the team's captain."""
    if not Membership.objects.filter(team=team, user=by, role=Membership.Role.CAPTAIN).exists():
        raise Refusal(f"only the captain of {team} invites and removes members", fix="ask the captain")


def issue_token(*, user: User, name: str, scopes: Sequence[str], days: int) -> tuple[AccessToken, str]:
    """Make a token that lives `days` days; returns its row and the token itself, which is kept nowhere.

    Raises `Refusal` for a bad name, unknown or no scopes, days outside 1 to 366, and the 21st live token.
    """
    name = name.strip()
    if not 1 <= len(name) <= 60 or not name.isprintable():
        raise Refusal("the token's name cannot be used", fix="give a name of 1 to 60 printable characters")
    known = AccessToken.Scope.values
    if not scopes or not set(scopes) <= set(known):
        raise Refusal(f"the scopes are {', '.join(scopes) or 'missing'}", fix=f"choose among: {', '.join(known)}")
    if not 1 <= days <= MOST_DAYS:
        raise Refusal(f"a token cannot live {days} days", fix=f"give 1 to {MOST_DAYS} days")
    plain = TOKEN_MARK + secrets.token_urlsafe(32)
    now = clock.now()
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two at once cannot both be the 20th
        if user.tokens.filter(revoked_at=None, expires_at__gt=now).count() >= MOST_TOKENS:
            raise Refusal(f"there are already {MOST_TOKENS} live tokens", fix="revoke one that is no longer used")
        token = AccessToken.objects.create(
            user=user,
            name=name,
            scopes=[scope for scope in known if scope in scopes],
            digest=_digest(plain),
            start=plain[:_START],
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        events.record("issue", token, by=user, scopes=token.scopes, days=days)
    return token, plain


def revoke_token(*, token: AccessToken, by: User) -> None:
    """End a token at once; repeated, it changes nothing. Raises `Refusal` for others than owner and superusers."""
    if by.pk != token.user_id and not by.is_superuser:
        raise Refusal("this token is another person's", fix="revoke one of your own")
    with transaction.atomic():
        if AccessToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=clock.now()):
            events.record("revoke", token, by=by)


def revoke_tokens(*, user: User, by: User | None = None) -> int:
    """End all tokens of a person at once; returns how many worked until now."""
    now = clock.now()
    with transaction.atomic():
        ended = user.tokens.filter(revoked_at=None, expires_at__gt=now).update(revoked_at=now)
        if ended:
            events.record("revoke_tokens", user, by=by, tokens=ended)
    return ended


def use_token(plain: str, scope: str) -> AccessToken | None:
    """The token's row where it is valid for `scope` and its owner active. Notes the use once a minute at most."""
    now = clock.now()
    token = (
        AccessToken.objects.select_related("user")
        .filter(digest=_digest(plain), revoked_at=None, expires_at__gt=now, user__is_active=True)
        .first()
    )
    if token is None or scope not in token.scopes:
        return None
    if token.last_used_at is None or token.last_used_at <= now - _NOTED_EVERY:
        unnoted = Q(last_used_at=None) | Q(last_used_at__lte=now - _NOTED_EVERY)
        AccessToken.objects.filter(unnoted, pk=token.pk).update(last_used_at=now)
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
            f"{slug!r} cannot be a team's short name", fix=" ".join(error.messages) + " At most 40 characters."
        ) from error


def _require_free(slug: str, name: str) -> None:
    if Team.objects.filter(slug=slug).exists():
        raise Refusal(f"the short name {slug!r} is taken", fix="choose another short name")
    if Team.objects.filter(slug_skeleton=skeleton(slug)).exists():
        raise Refusal(f"the short name {slug!r} looks like that of another team", fix="choose another short name")
    if Team.objects.filter(name__iexact=name).exists():
        raise Refusal(f"the name {name!r} is taken", fix="choose another name")
    if Team.objects.filter(name_skeleton=skeleton(name)).exists():
        raise Refusal(f"the name {name!r} looks like that of another team", fix="choose another name")
