"""Webhooks, and the deliveries that wait or were sent."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import Team
from competitions.models import Competition


class WebhookEvent(models.TextChoices):
    """What a webhook is about. The values are in requests, so they never change."""

    ACCEPTED = "submission.accepted", "a submission is accepted"
    READY = "submission.ready", "a submission is ready"
    REJECTED = "submission.rejected", "a submission is rejected"
    SCORED = "submission.scored", "a submission gets a score"
    FROZEN = "round.frozen", "a round is frozen"
    PUBLISHED = "round.published", "the result of a round is published"
    ANNOUNCEMENT = "announcement.published", "an announcement is published"


TEST = "test"
"""The event of a test delivery, which every webhook gets when somebody asks for it."""


class Webhook(models.Model):
    """An address that gets a request when something happens: of a team, or without one of the organisers."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="webhooks")
    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.CASCADE, related_name="webhooks", editable=False
    )
    address = models.CharField(max_length=500)
    events = models.JSONField(default=list)
    nonce = models.CharField(max_length=43, editable=False)
    """The signing secret follows from it and the secret key of the site, see `webhooks.signatures`."""
    made_at = models.DateTimeField(editable=False)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", editable=False)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    """Time of the first attempt that failed since the last one that succeeded; None after a success."""
    disabled_at = models.DateTimeField(null=True, blank=True, editable=False)
    """Time at which the site stopped sending, because every attempt had failed for a week."""

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"webhook {self.pk}"


class Delivery(models.Model):
    """A request to a webhook: written in the transaction of its event, and sent afterwards."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        DELIVERED = "delivered", "delivered"
        GIVEN_UP = "given_up", "given up"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    key = models.UUIDField()
    """Its id for the receiver. A delivery that is sent again on request has that of the first one."""
    event = models.CharField(max_length=30, choices=[*WebhookEvent.choices, (TEST, "test")])
    subject = models.CharField(max_length=80, blank=True)
    """The row that it is about, such as "submission:12"; empty for a test."""
    at = models.DateTimeField()
    """When it happened."""
    asked_at = models.DateTimeField(null=True, blank=True)
    """When a person asked for it: a test, or one that is sent again."""
    body = models.TextField(blank=True)
    """The content of the request as its first attempt sent it; empty before."""

    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    due_at = models.DateTimeField(null=True, blank=True)
    """When it is to be sent, or while it is being sent when another process may try; None when it is over."""
    attempts = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, blank=True)
    """When the last attempt began."""
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    """The status of its answer; None without one."""
    milliseconds = models.PositiveIntegerField(null=True, blank=True)
    answer = models.TextField(blank=True)
    """The first characters of its answer, without secrets."""
    problem = models.TextField(blank=True)
    """Why there was no answer."""

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="delivery_due")]

    def __str__(self) -> str:
        return f"delivery {self.pk}"
