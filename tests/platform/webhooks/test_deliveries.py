"""Deliveries: written with what they tell, sent with a signature, repeated, and given up."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import connections, transaction
from pytest_django import DjangoCaptureOnCommitCallbacks

from accounts.models import Team, User
from competitions.models import Announcement, Competition, Entry, FreezeWindow, Organiser, SampleSet
from competitions.organiser_pages import announce, announce_once, change_announcement, remove_announcement
from competitions.selectors import announcements_of
from core import clock, event_log
from core.models import Event
from core.roles import OrganiserRole
from core.time_format import for_programs
from repositories.models import Repository
from rounds.models import Round
from submissions.models import QuotaSlot, Submission
from tests.platform.conftest import FakeClock
from tests.platform.webhooks.conftest import TestReceiver
from webhooks import services
from webhooks.models import Delivery, Webhook, WebhookEvent
from webhooks.sending import FAILING, KEPT, LEASE, RETRIES, forget_old
from webhooks.signatures import secret_of

Send = Callable[[], bool]


@pytest.fixture
def submission(repositories: dict[str, Repository], bob: User, the_clock: FakeClock) -> Submission:
    """A submission of the Owls."""
    repository, at = repositories["model"], the_clock.at
    values: dict[str, Any] = {"commit": "0" * 40, "tag": "submission-1", "title": "Owl", "licence": "MIT"}
    made = Submission.objects.create(
        repository=repository, submitted_by=bob, received_at=at, state_since=at, **values, deadline=at
    )
    QuotaSlot.objects.create(
        repository=repository, reserved_by=bob, reserved_at=at, state=QuotaSlot.State.USED, submission=made, **values
    )
    return made


@pytest.fixture
def planned(sample_sets: dict[str, SampleSet], competition: Competition, the_clock: FakeClock) -> Round:
    """A planned round."""
    at, later = the_clock.at, the_clock.at + timedelta(days=3)
    window = FreezeWindow.objects.create(competition=competition, starts_at=at, ends_at=later, reason="round 1")
    return Round.objects.create(
        competition=competition, number=1, title="Round 1", kind=Round.Kind.DEVELOPMENT, window=window,
        sample_set=sample_sets["validation"], salt="the secret salt", commitment="c0ffee", planned_at=at,
        state_since=at,
    )  # fmt: skip


def hook_of_organisers(competition: Competition, by: User, address: str) -> Webhook:
    return services.add_competition_webhook(
        competition=competition, address=address, events=WebhookEvent.values, by=by
    )[0]


def bodies(receiver: TestReceiver) -> list[dict[str, Any]]:
    return [json.loads(body) for _, _, body in receiver.requests]


def test_a_delivery_tells_what_happened_and_is_signed(
    webhook: Webhook, submission: Submission, receiver: TestReceiver, send: Send, the_clock: FakeClock
) -> None:
    event_log.record("submit", submission)
    assert send()
    ((_, headers, body),) = receiver.requests
    told = json.loads(body)
    delivery = Delivery.objects.get()
    assert told["object"]["number"] == submission.pk
    assert told["object"]["commit"] == submission.commit
    assert {name: told[name] for name in told if name != "object"} == {
        "id": str(delivery.key), "event": "submission.accepted", "time": for_programs(the_clock.at),
        "site": settings.SITE_ADDRESS, "competition": "digits", "team": "owls",
    }  # fmt: skip
    assert headers["Gauntlet-Event"] == "submission.accepted"
    assert headers["Gauntlet-Delivery"] == told["id"]
    seconds = int(the_clock.at.timestamp())
    signed = hmac.new(secret_of(webhook.nonce).encode(), f"{seconds}.".encode() + body, hashlib.sha256)
    assert headers["Gauntlet-Signature"] == f"t={seconds},v1={signed.hexdigest()}"
    assert (delivery.state, delivery.status, delivery.due_at) == (Delivery.State.DELIVERED, 204, None)
    assert not send()


def test_a_host_whose_clock_is_ahead_delays_no_delivery(
    webhook: Webhook, submission: Submission, alice: User, olga: User, receiver: TestReceiver, send: Send,
    the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    competition = submission.repository.entry.competition
    monkeypatch.setattr(clock, "now", lambda: the_clock.at + timedelta(minutes=5))
    event_log.record("submit", submission)
    services.ask_for_test(webhook=webhook, by=alice)
    announce_once(competition=competition, title="News", text="Today.", published_at=None, by=olga)
    monkeypatch.setattr(clock, "now", lambda: the_clock.at)  # that of the sender
    while send():
        pass
    assert [each["event"] for each in bodies(receiver)] == ["submission.accepted", "test", "announcement.published"]
    assert announcements_of(competition).exists()


def test_the_program_of_the_documentation_verifies_it(
    webhook: Webhook, alice: User, receiver: TestReceiver, send: Send, root: Path
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "webhooks.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own
    verify = names["verify"]
    services.ask_for_test(webhook=webhook, by=alice)
    send()
    ((_, headers, body),) = receiver.requests
    secret, header = secret_of(webhook.nonce), headers["Gauntlet-Signature"]
    assert json.loads(body)["object"] is None
    assert verify(secret, header, body)
    assert not verify(secret, header, body + b" ")
    assert not verify(secret + "x", header, body)
    assert not verify(secret, header, body, most_seconds=-1)


def test_a_change_that_is_undone_tells_nothing(webhook: Webhook, submission: Submission) -> None:
    with transaction.atomic():
        event_log.record("submit", submission)
        assert Delivery.objects.exists()
        transaction.set_rollback(True)
    assert not Delivery.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_webhook_that_is_removed_meanwhile_undoes_nothing(
    webhook: Webhook, submission: Submission, alice: User
) -> None:
    def remove() -> None:
        try:
            services.remove(webhook=webhook, by=alice)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            event_log.record("submit", submission)
            removed = pool.submit(remove)
            wait([removed], timeout=1.0)
        removed.result()
    assert Event.objects.filter(verb="submit").exists()
    assert not Webhook.objects.exists()


def test_each_event_goes_to_those_who_chose_it_and_may_know(
    webhook: Webhook, submission: Submission, planned: Round, competition: Competition, olga: User, the_clock: FakeClock
) -> None:
    organisers = hook_of_organisers(competition, olga, webhook.address)
    other_team = Team.objects.create(slug="crows", name="The Crows", created_at=the_clock.at)
    Entry.objects.create(team=other_team, competition=competition, joined_at=the_clock.at)
    crows = Webhook.objects.create(
        competition=competition, team=other_team, address=webhook.address, events=WebhookEvent.values, nonce="n",
        made_at=the_clock.at, made_by=olga,
    )  # fmt: skip
    crows_rounds = Webhook.objects.create(
        competition=competition, team=other_team, address=webhook.address, events=["round.published"], nonce="m",
        made_at=the_clock.at, made_by=olga,
    )  # fmt: skip
    for verb in ("submit", "ready", "refuse", "score", "withdraw"):
        event_log.record(verb, submission)
    for verb in ("freeze", "start", "publish"):
        event_log.record(verb, planned)
    announce(competition=competition, title="News", text="!", published_at=the_clock.at, by=olga)
    of_submissions = {"submission.accepted", "submission.ready", "submission.rejected", "submission.scored"}
    of_all = {"round.frozen", "round.published", "announcement.published"}
    expected = {
        webhook: of_submissions | of_all, organisers: of_submissions | of_all, crows: of_all,
        crows_rounds: {"round.published"},
    }  # fmt: skip
    for each, events in expected.items():
        assert set(each.deliveries.values_list("event", flat=True)) == events, each


def test_a_round_and_an_announcement_are_as_everyone_sees_them(
    webhook: Webhook, planned: Round, competition: Competition, olga: User, receiver: TestReceiver, send: Send,
    the_clock: FakeClock,
) -> None:  # fmt: skip
    event_log.record("freeze", planned)
    announce(competition=competition, title="News", text="**!**", published_at=the_clock.at, by=olga)
    while send():
        pass
    first, second = (each["object"] for each in bodies(receiver))
    assert (first["number"], first["standings"], first["outcome"]) == (1, {}, None)
    assert planned.salt not in json.dumps(first)
    assert (second["title"], second["text"]) == ("News", "**!**")


def test_an_announcement_is_sent_when_it_is_published(
    webhook: Webhook, competition: Competition, olga: User, receiver: TestReceiver, send: Send, the_clock: FakeClock
) -> None:
    later = the_clock.at + timedelta(hours=2)
    made = announce(competition=competition, title="News", text="!", published_at=later, by=olga)
    removed = announce(competition=competition, title="An error", text="!", published_at=later, by=olga)
    assert not send()
    the_clock.forward(hours=1)
    change_announcement(announcement=made, title="Better", text="!", published_at=later + timedelta(hours=1), by=olga)
    remove_announcement(announcement=removed, by=olga)
    the_clock.forward(hours=1)
    while send():
        pass
    assert receiver.requests == []
    the_clock.forward(hours=1)
    assert send()
    assert [each["object"]["title"] for each in bodies(receiver)] == ["Better"]
    assert not Announcement.objects.filter(pk=removed.pk).exists()


def test_an_announcement_that_is_brought_forward_is_sent_then(
    webhook: Webhook, competition: Competition, olga: User, receiver: TestReceiver, send: Send, the_clock: FakeClock
) -> None:
    later = the_clock.at + timedelta(days=2)
    made = announce(competition=competition, title="News", text="!", published_at=later, by=olga)
    the_clock.forward(hours=1)
    change_announcement(announcement=made, title="News", text="!", published_at=the_clock.at, by=olga)
    assert send()
    assert [each["object"]["title"] for each in bodies(receiver)] == ["News"]
    change_announcement(announcement=made, title="News!", text="!", published_at=the_clock.at, by=olga)
    assert not send()


def test_a_team_hears_nothing_of_a_competition_that_is_hidden_by_then(
    webhook: Webhook, submission: Submission, competition: Competition, receiver: TestReceiver, send: Send
) -> None:
    event_log.record("submit", submission)
    Competition.objects.update(public=False)
    send()
    assert receiver.requests == []
    assert Delivery.objects.get().state == Delivery.State.GIVEN_UP


def test_a_failed_delivery_is_repeated_with_the_same_id_and_content_then_given_up(
    webhook: Webhook, submission: Submission, receiver: TestReceiver, send: Send, the_clock: FakeClock
) -> None:
    receiver.status, receiver.text = 503, b"busy"
    event_log.record("submit", submission)
    assert send()
    Submission.objects.update(state=Submission.State.READY)
    for pause in RETRIES:
        assert not send()
        the_clock.forward(seconds=pause.total_seconds())
        assert send()
    assert len(receiver.requests) == len(RETRIES) + 1
    assert len({(headers["Gauntlet-Delivery"], body) for _, headers, body in receiver.requests}) == 1
    assert len({headers["Gauntlet-Signature"] for _, headers, _ in receiver.requests}) == len(RETRIES) + 1
    found = Delivery.objects.get()
    assert (found.state, found.status, found.answer, found.due_at) == (Delivery.State.GIVEN_UP, 503, "busy", None)
    webhook.refresh_from_db()
    assert (webhook.failing_since is not None, webhook.disabled_at) == (True, None)


def test_a_success_ends_the_failure(
    webhook: Webhook, submission: Submission, receiver: TestReceiver, send: Send, the_clock: FakeClock
) -> None:
    receiver.status = 500
    event_log.record("submit", submission)
    send()
    receiver.status = 200
    the_clock.forward(seconds=RETRIES[0].total_seconds())
    send()
    webhook.refresh_from_db()
    assert (webhook.failing_since, Delivery.objects.get().state) == (None, Delivery.State.DELIVERED)


def test_a_webhook_that_failed_for_a_week_is_disabled_until_its_captain_enables_it(
    webhook: Webhook, submission: Submission, alice: User, receiver: TestReceiver, send: Send, the_clock: FakeClock,
    mailoutbox: list[EmailMessage], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:  # fmt: skip
    receiver.status = 404
    Webhook.objects.update(failing_since=the_clock.at - FAILING)
    event_log.record("submit", submission)
    event_log.record("ready", submission)
    Delivery.objects.filter(event="submission.accepted").update(attempts=len(RETRIES))
    with django_capture_on_commit_callbacks(execute=True):
        send()
    webhook.refresh_from_db()
    assert webhook.disabled_at == the_clock.at
    assert Event.objects.get(verb="disable_webhook").data == {"host": "hooks.example"}
    (mail,) = mailoutbox
    assert (mail.to, "The webhook at hooks.example is disabled" in mail.subject) == ([alice.email], True)
    assert "every attempt had failed for a week" in mail.body
    send()
    assert Delivery.objects.get(event="submission.ready").problem == "the webhook was disabled"
    event_log.record("refuse", submission)
    assert Delivery.objects.count() == 2
    services.enable(webhook=webhook, by=alice)
    event_log.record("refuse", submission)
    receiver.status = 200
    send()
    assert Delivery.objects.first().state == Delivery.State.DELIVERED  # type: ignore[union-attr] # the newest


def test_the_organiser_of_a_disabled_webhook_gets_an_email(
    competition: Competition, submission: Submission, olga: User, receiver: TestReceiver, send: Send,
    the_clock: FakeClock, mailoutbox: list[EmailMessage],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:  # fmt: skip
    paul = User.objects.create_user("paul", "paul@example.org")
    added = Organiser.objects.create(competition=competition, user=paul)
    hook_of_organisers(competition, paul, "https://hooks.example/all")
    Organiser.objects.filter(user=olga).update(role=OrganiserRole.OWNER)
    receiver.status = 404
    for role in (OrganiserRole.ORGANISER, OrganiserRole.HELPER):  # a helper runs nothing
        Organiser.objects.filter(pk=added.pk).update(role=role)
        Webhook.objects.update(failing_since=the_clock.at - FAILING, disabled_at=None)
        event_log.record("submit", submission)
        Delivery.objects.filter(state=Delivery.State.WAITING).update(attempts=len(RETRIES))
        with django_capture_on_commit_callbacks(execute=True):
            send()
    assert [mail.to for mail in mailoutbox] == [[paul.email], [olga.email]]
    assert "the webhook of the organisers of Digits at hooks.example" in mailoutbox[0].body
    assert "The page of the webhook in the admin has the last answers" in mailoutbox[0].body


def test_an_attempt_that_a_process_did_not_end_is_repeated_after_its_lease(
    webhook: Webhook, submission: Submission, receiver: TestReceiver, send: Send, the_clock: FakeClock
) -> None:
    event_log.record("submit", submission)
    Delivery.objects.update(attempts=1, due_at=the_clock.at + LEASE)
    assert not send()
    the_clock.forward(seconds=LEASE.total_seconds())
    assert send()
    assert len(receiver.requests) == 1


def test_webhooks_that_fail_come_after_others(
    webhook: Webhook, submission: Submission, alice: User, olga: User, receiver: TestReceiver, send: Send,
    the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("webhooks.sending.AT_ONCE", 1)
    Webhook.objects.update(failing_since=the_clock.at)
    services.add_team_webhook(
        entry=submission.repository.entry, address=receiver.address + "&second", events=WebhookEvent.values, by=alice
    )
    event_log.record("submit", submission)
    send()
    assert [path for path, _, _ in receiver.requests] == ["/gauntlet?room=7&second"]


def test_the_log_keeps_no_secret_that_a_receiver_sends_back(
    webhook: Webhook, submission: Submission, receiver: TestReceiver, send: Send
) -> None:
    receiver.text, receiver.status = f"your secret is {secret_of(webhook.nonce)}\x00\x1b[1m".encode() + b"." * 999, 200
    event_log.record("submit", submission)
    send()
    answer = Delivery.objects.get().answer
    assert answer.startswith("your secret is [removed]...")
    assert len(answer) == 500


def test_the_log_quotes_a_receiver_that_speaks_no_http_without_control_characters_and_secrets(
    webhook: Webhook, submission: Submission, receiver: TestReceiver, send: Send
) -> None:
    secret = secret_of(webhook.nonce)
    receiver.first_line = b"\x00\x1b[1m" + secret.encode() + b"." * 999
    event_log.record("submit", submission)
    send()
    made = Delivery.objects.get()
    assert (made.state, made.attempts, made.status) == (Delivery.State.WAITING, 1, None)
    assert made.problem.startswith("no answer: [removed]...")
    assert len(made.problem) == 500


def test_a_row_that_cannot_be_shown_costs_others_nothing(
    webhook: Webhook, submission: Submission, receiver: TestReceiver, send: Send, competition: Competition, olga: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    hook_of_organisers(competition, olga, receiver.address)
    event_log.record("submit", submission)
    first = Delivery.objects.earliest("pk")

    def fail(delivery: Delivery) -> str:
        if delivery.pk == first.pk:
            raise RuntimeError
        return "{}"

    monkeypatch.setattr("webhooks.sending.body_of", fail)
    send()
    assert [each.state for each in Delivery.objects.order_by("pk")] == ["waiting", "delivered"]


def test_old_deliveries_are_deleted(webhook: Webhook, submission: Submission, send: Send, the_clock: FakeClock) -> None:
    event_log.record("submit", submission)
    send()
    event_log.record("ready", submission)
    the_clock.forward(seconds=KEPT.total_seconds() + 1)
    forget_old()
    assert Delivery.objects.get().event == "submission.ready"


def test_many_deliveries_to_one_webhook_delay_no_other(
    webhook: Webhook, submission: Submission, competition: Competition, olga: User, receiver: TestReceiver, send: Send,
    the_clock: FakeClock,
) -> None:  # fmt: skip
    """Hundreds of submissions are measured again, and the receiver of the organisers takes its time."""
    organisers = hook_of_organisers(competition, olga, receiver.address + "&organisers")
    at, subject = the_clock.at, event_log.name_of(submission)
    Delivery.objects.bulk_create(
        Delivery(webhook=organisers, key=uuid.uuid4(), event="submission.scored", subject=subject, at=at, due_at=at)
        for _ in range(300)
    )
    the_clock.forward(seconds=1)
    event_log.record("submit", submission)
    send()
    assert sorted(path for path, _, _ in receiver.requests) == ["/gauntlet?room=7", "/gauntlet?room=7&organisers"]
