"""People, teams, invitations, access tokens and sign-ups."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q, UniqueConstraint

from accounts.name_rules import skeleton
from core.signed_keys import NONCE_LENGTH, new_nonce

RESERVED_SLUGS = frozenset(
    {
        *(
            "account",
            "accounts",
            "admin",
            "api",
            "competitions",
            "device",
            "git",
            "healthz",
            "hosts",
            "invitations",
            "static",
            "status",
        ),
        *("brand", "challenges", "docs", "matches", "pages", "people", "search", "submissions", "teams"),
        *("baselines", "edit", "leaderboards", "login", "logout", "media", "new", "public", "rounds", "rules"),
        *("kit", "metrics", "settings", "signup", "time-zone"),
    }
)
"""Short names that teams and competitions cannot have: current and possible future addresses of the site."""


class User(AbstractUser):
    """A person with an account."""

    username_skeleton = models.TextField(db_index=True, default="", editable=False)
    """Key by which a sign-up finds user names that look the same."""

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Update the skeleton of the user name on every save, and keep the address as allauth looks for it."""
        self.username_skeleton = skeleton(self.username)
        self.email = self.email.lower()
        super().save(*args, **kwargs)


class Team(models.Model):
    """People who submit together and share quotas. The slug is the team's name in addresses."""

    slug = models.CharField(
        max_length=40,
        unique=True,
        validators=[
            RegexValidator(
                r"^[a-z0-9]+(-[a-z0-9]+)*\Z",
                "Use lower-case letters, digits and single hyphens, as in robust-owls.",
            )
        ],
    )
    name = models.CharField(max_length=80, unique=True)
    slug_skeleton = models.TextField(unique=True, editable=False)
    name_skeleton = models.TextField(unique=True, editable=False)
    """Equal for names that look the same; older look-alikes have their number appended."""
    created_at = models.DateTimeField()
    members = models.ManyToManyField(User, through="Membership", related_name="teams")

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Set the skeletons of a new team; slug and name never change."""
        self.slug_skeleton = self.slug_skeleton or skeleton(self.slug)
        self.name_skeleton = self.name_skeleton or skeleton(self.name)
        super().save(*args, **kwargs)


class Membership(models.Model):
    """Membership of a person in a team. Every team has one captain, who invites and removes members."""

    class Role(models.TextChoices):
        CAPTAIN = "captain", "captain"
        MEMBER = "member", "member"

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    joined_at = models.DateTimeField()

    class Meta:
        ordering = ["joined_at", "pk"]
        constraints = [
            UniqueConstraint(fields=["team", "user"], name="one_membership_per_team_and_user"),
            UniqueConstraint(fields=["team"], condition=Q(role="captain"), name="one_captain_per_team"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role}) of {self.team}"


class Invitation(models.Model):
    """A captain's invitation into the team. A person becomes a member only by accepting one.

    `username` is what the captain typed. `user` is the invited account, or None if no account of that name may be
    invited; the captain does not see the difference.
    """

    class State(models.TextChoices):
        OPEN = "open", "open"
        ACCEPTED = "accepted", "accepted"
        DECLINED = "declined", "declined"
        WITHDRAWN = "withdrawn", "withdrawn"
        EXPIRED = "expired", "expired"

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    username = models.CharField(max_length=150)
    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE, related_name="invitations")
    invited_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sent_invitations")
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)
    """Time when it was accepted, declined, withdrawn or found to have expired."""

    class Meta:
        ordering = ["-pk"]
        constraints = [
            UniqueConstraint(
                fields=["team", "username"], condition=Q(state="open"), name="one_open_invitation_per_team_and_name"
            )
        ]
        indexes = [models.Index(fields=["invited_by", "made_at"])]

    def __str__(self) -> str:
        return f"invitation of {self.username} to {self.team}"


class AccessToken(models.Model):
    """Credential with which a program acts for its owner, within `scopes`, until `expires_at`. Only a hash is stored.

    A token has 256 random bits, so a plain SHA-256 is enough: it cannot be guessed.
    """

    class Scope(models.TextChoices):
        READ = "read", "read: clone repositories, read the API"
        SUBMIT = "submit", "submit: push, submit, withdraw"
        TEAM = "team", "team: found a team; invite, accept terms, object, add webhooks"
        ORGANISE = "organise", "organise: run rounds, judge and announce by API, as far as your roles allow"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    scopes = models.JSONField(default=list)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    start = models.CharField(max_length=12, editable=False)
    """First characters of the token, shown to tell tokens apart."""
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.start}...)"


class DeviceLogin(models.Model):
    """A program that waits until a person lets it sign in (RFC 8628). Of its two codes only hashes are stored."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        ALLOWED = "allowed", "allowed"
        REFUSED = "refused", "refused"
        USED = "used", "used"

    HAS_TABLE_VERSION: ClassVar = False
    client = models.CharField(max_length=60)
    """What the program calls itself; the name of its token."""
    address = models.CharField(max_length=45)
    """The network address that the request came from."""
    device_digest = models.CharField(max_length=64, unique=True, editable=False)
    user_digest = models.CharField(max_length=64, unique=True, editable=False)
    state = models.CharField(max_length=7, choices=State.choices, default=State.WAITING)
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    interval = models.PositiveSmallIntegerField()
    """Seconds between two requests of the program; those that come earlier raise it."""
    polled_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE, related_name="device_logins")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"sign-in of {self.client}"


class AccountRequest(models.Model):
    """A sign-up that an organiser approves or declines. The account is inactive until it is approved."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        APPROVED = "approved", "approved"
        DECLINED = "declined", "declined"

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="account_request")
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    made_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"account request of {self.user}"


class SignUpLink(models.Model):
    """Link for one sign-up, valid until `expires_at`, in invitation mode.

    The address of the link is signed with the site's secret key and is not stored.
    """

    note = models.CharField(max_length=100, help_text="Who the link is for. Only organisers see this.")
    made_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    made_at = models.DateTimeField()
    nonce = models.CharField(max_length=NONCE_LENGTH, blank=True, default=new_nonce, editable=False)
    """Signed with its number, which another row may have after a restore; "" in rows of earlier versions."""
    expires_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.OneToOneField(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="sign_up_link")

    class Meta:
        ordering = ["-pk"]
        verbose_name = "sign-up link"

    def __str__(self) -> str:
        return f"sign-up link for {self.note}"
