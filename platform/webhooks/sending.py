"""Sending of deliveries: a few at a time, each within a limit, so that receivers that never answer delay little."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import F, Min, Q

from competitions.models import Announcement
from core import clock, event_log, platform_error_report
from core.errors import Refusal
from submissions.build_logs import clean
from webhooks import delivery_request
from webhooks.delivery_request import Answer
from webhooks.disabled_mail import tell_owners
from webhooks.models import Delivery, Webhook
from webhooks.payload import body_of, subject_of
from webhooks.receiver_address import LOOPBACK, IpNetwork, Receiver, host_of, read_receiver
from webhooks.signatures import secret_of, signature

log = logging.getLogger(__name__)

AT_ONCE = 8
"""Deliveries of one batch, each to another webhook."""
RETRIES = (
    timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1), timedelta(hours=6),
)  # fmt: skip
"""Time after a failed attempt until the next one; the last one gives up."""
LEASE = timedelta(minutes=3)
"""After so long another process may try what one began to send: the resolver of the system has limits of its own."""
FAILING = timedelta(days=7)
"""A webhook that fails for so long is disabled when a delivery is given up."""
KEPT = timedelta(days=30)
"""How long deliveries that are over stay in the log."""
SHOWN = 500
"""Characters of an answer that are kept."""

Post = Callable[..., Answer]


@dataclass(frozen=True)
class _SignedRequest:
    """A claimed delivery with what its attempt sends."""

    delivery: Delivery
    receiver: Receiver
    secret: str
    body: bytes
    headers: dict[str, str]


def send_due(*, post: Post = delivery_request.post, allowed: Sequence[IpNetwork] | None = None) -> bool:
    """Send the deliveries that are due, at most one for each webhook; return whether there may be more.

    Those whose webhook works come first. Safe to call concurrently: each is claimed by one caller.
    """
    networks = _allowed() if allowed is None else allowed
    claimed = _claim()
    requests = [request for each in claimed if (request := _prepared(each)) is not None]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda each: _sent(each, post, networks), requests))
    for request, answer in zip(requests, answers, strict=True):
        _record(request, answer)
    return bool(claimed)


def forget_old() -> int:
    """Delete the deliveries that have been over for a long time; return how many."""
    over = Delivery.objects.filter(due_at=None, at__lt=clock.now() - KEPT)
    return over.filter(Q(sent_at=None) | Q(sent_at__lt=clock.now() - KEPT)).delete()[0]


def _allowed() -> Sequence[IpNetwork]:
    return (*settings.WEBHOOK_NETWORKS, *(LOOPBACK if settings.DEBUG else ()))


def _claim() -> list[Delivery]:
    now = clock.database_now()
    due = Delivery.objects.filter(due_at__lte=now)
    # one of each webhook, however many wait for it
    waiting = due.order_by().values("webhook").annotate(since=Min("due_at"))
    served = waiting.order_by(F("webhook__failing_since").desc(nulls_first=True), "since", "webhook")
    claimed = []
    for webhook in served.values_list("webhook", flat=True)[:AT_ONCE]:
        of_webhook = due.filter(webhook=webhook).select_related("webhook__competition", "webhook__team")
        each = of_webhook.order_by("due_at", "pk").first()
        if each is None:  # another process has claimed it
            continue
        held = Delivery.objects.filter(pk=each.pk, attempts=each.attempts, due_at=each.due_at)
        if held.update(attempts=each.attempts + 1, due_at=now + LEASE, sent_at=now):
            each.attempts, each.due_at, each.sent_at = each.attempts + 1, now + LEASE, now
            claimed.append(each)
    return claimed


def _prepared(delivery: Delivery) -> _SignedRequest | None:
    """Return what to send; None where nothing is sent now, or ever."""
    webhook, now = delivery.webhook, delivery.sent_at or clock.now()
    if delivery.attempts > len(RETRIES) + 1:  # processes ended while they sent it
        _end(delivery, "the site was interrupted while it sent this")
        return None
    if webhook.disabled_at is not None and delivery.asked_at is None:
        _end(delivery, "the webhook was disabled")
        return None
    try:
        if not delivery.body and (later := _later(delivery, now)) is not None:
            Delivery.objects.filter(pk=delivery.pk).update(attempts=F("attempts") - 1, due_at=later, sent_at=None)
            return None
        body = delivery.body or body_of(delivery)
        if body is None:
            _end(delivery, "its subject is no longer visible")
            return None
        receiver = read_receiver(webhook.address)
    except Refusal as refusal:
        _end(delivery, refusal.problem)
        return None
    except Exception as error:  # any error: the others are still sent, and this one is tried again
        platform_error_report.report(log, error, "%s cannot be sent", delivery)
        return None
    if not delivery.body:
        Delivery.objects.filter(pk=delivery.pk).update(body=body)
    secret = secret_of(webhook.nonce)
    content = body.encode()
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": "Gauntlet-Webhook",
        "Gauntlet-Event": delivery.event,
        "Gauntlet-Delivery": str(delivery.key),
        "Gauntlet-Signature": signature(secret, int(now.timestamp()), content),
    }
    return _SignedRequest(delivery, receiver, secret, content, headers)


def _later(delivery: Delivery, now: datetime) -> datetime | None:
    """Return when an announcement is published, if that was put off meanwhile."""
    subject = subject_of(delivery)
    return subject.published_at if isinstance(subject, Announcement) and subject.published_at > now else None


def _sent(request: _SignedRequest, post: Post, allowed: Sequence[IpNetwork]) -> Answer:
    try:
        return post(request.receiver, request.body, request.headers, allowed=allowed)
    except Exception as error:  # any error: it is ours, and the others are still sent
        platform_error_report.report(log, error, "%s cannot be sent", request.delivery)
        return Answer(0, problem="platform error")


def _record(request: _SignedRequest, answer: Answer) -> None:
    delivery, now = request.delivery, clock.database_now()
    over = answer.succeeded or delivery.attempts > len(RETRIES)
    given_up = over and not answer.succeeded
    state = Delivery.State.DELIVERED if answer.succeeded else Delivery.State.GIVEN_UP
    with transaction.atomic():
        held = Delivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts)
        written = held.update(
            state=state if over else Delivery.State.WAITING,
            due_at=None if over else now + RETRIES[delivery.attempts - 1],
            status=answer.status,
            milliseconds=answer.milliseconds,
            answer=_redacted(answer.text, request),
            problem=_redacted(answer.problem, request),  # may quote the receiver, too
        )
        if not written:  # removed, or sent by another process meanwhile
            return
        webhook = Webhook.objects.filter(pk=delivery.webhook_id)
        if answer.succeeded:
            webhook.exclude(failing_since=None).update(failing_since=None)
            return
        webhook.filter(failing_since=None).update(failing_since=delivery.sent_at)
        if given_up and webhook.filter(failing_since__lte=now - FAILING, disabled_at=None).update(disabled_at=now):
            event_log.record("disable_webhook", delivery.webhook, host=host_of(delivery.webhook.address))
            transaction.on_commit(partial(tell_owners, delivery.webhook))


def _redacted(text: str, request: _SignedRequest) -> str:
    """Return the beginning of an answer without what signs, which a receiver may send back."""
    for secret in (request.secret, request.headers["Gauntlet-Signature"].partition("v1=")[2]):
        text = text.replace(secret, "[removed]")
    return "\n".join(clean(line) for line in text.splitlines())[:SHOWN]


def _end(delivery: Delivery, problem: str) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(state=Delivery.State.GIVEN_UP, due_at=None, problem=problem)
