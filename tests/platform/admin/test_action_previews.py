"""Before an action on several rows, its page shows what it would do: without doing it, and bound to what it showed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.models import AccountRequest, User
from core.models import Event
from submissions.models import Submission

SUBMISSIONS = reverse("admin:submissions_submission_changelist")


def shown(client: Client, address: str, action: str, *rows: Any) -> Any:
    """Return the page that asks about an action on rows of a list."""
    return client.post(address, {"action": action, "_selected_action": [row.pk for row in rows]})


def confirm(client: Client, address: str, page: Any) -> list[str]:
    """Confirm what a page asks, as a browser does; return the messages."""
    form: dict[str, Any] = {"reason": "It reads the clock."}
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.content.decode()):
        form.setdefault(name, []).append(value)
    done = client.post(address, form)
    return [str(message) for message in get_messages(done.wsgi_request)]


def test_it_shows_the_rows_that_change_and_those_that_are_refused_and_changes_none(
    as_organiser: Client, rows: Any
) -> None:
    first, second = rows.more(), rows.more()
    Submission.objects.filter(pk=first.pk).update(state="rejected", player=None)
    events = Event.objects.count()
    page = shown(as_organiser, SUBMISSIONS, "retry", first, second)
    assert [each.row for each in page.context["rows"]] == [first]
    (refused,) = page.context["refused"]
    assert refused.row == second
    assert refused.refusal == f"submission {second.pk} is ready (fix: you can retry only a rejected submission)"
    assert "worker time for 1 build with smoke test." in page.content.decode()
    first.refresh_from_db()
    assert first.state == Submission.State.REJECTED
    assert Event.objects.count() == events
    assert confirm(as_organiser, SUBMISSIONS, page) == ["1 of 1 queued for a new build."]
    first.refresh_from_db()
    assert first.state == Submission.State.RECEIVED


def test_a_row_that_changed_in_between_is_refused_and_the_others_change(as_organiser: Client, rows: Any) -> None:
    first, second = rows.more(), rows.more()
    page = shown(as_organiser, SUBMISSIONS, "disqualify", first, second)
    Submission.objects.filter(pk=second.pk).update(title="another")
    second.refresh_from_db()
    refused, done = confirm(as_organiser, SUBMISSIONS, page)
    assert "has changed since you looked at it, so nothing was done" in refused
    assert done == "1 of 2 disqualified."
    assert list(Submission.objects.exclude(disqualified_at=None)) == [first]


def test_where_everything_is_refused_there_is_nothing_to_confirm(as_organiser: Client, rows: Any) -> None:
    ready = rows.more()
    page = as_organiser.get(reverse("admin:submissions_submission_reinstate", args=[ready.pk]))
    assert [each.refusal for each in page.context["refused"]] == [
        f"submission {ready.pk} is not disqualified (fix: no action needed)"
    ]
    assert 'name="reason"' not in page.content.decode()
    assert 'name="confirmed"' not in page.content.decode()


@pytest.mark.usefixtures("olga")
def test_an_action_with_an_e_mail_is_not_rehearsed(as_superuser: Client, rows: Any) -> None:
    rows.more()
    waiting = AccountRequest.objects.get()
    User.objects.filter(pk=waiting.user_id).update(email="new@example.org")
    page = as_superuser.get(reverse("admin:accounts_accountrequest_approve", args=[waiting.pk]))
    assert [each.row for each in page.context["rows"]] == [waiting]
    assert mail.outbox == []
