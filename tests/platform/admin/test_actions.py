"""Admin actions ask for confirmation and a reason, call the service for each row, and show refusals."""

from __future__ import annotations

import html
import re
from datetime import date
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.forms import DateField
from django.test import Client
from django.urls import reverse
from unfold.widgets import UnfoldAdminDateWidget

from accounts.models import User
from competitions.models import Competition, Track
from core import clock
from core.administration.confirmed_actions import AdminAction, ReasonForm, confirmed_action
from core.models import Event
from formats.query.leaderboards.models import Evaluation
from formats.query.matches.models import Match
from submissions.admin import SubmissionAdmin
from submissions.models import QuotaSlot, Submission
from workers.models import Host

SUBMISSIONS = reverse("admin:submissions_submission_changelist")
HOSTS = reverse("admin:workers_host_changelist")


def selected(action: str, *rows: Any, **more: str) -> dict[str, Any]:
    """Return the form of a list with `rows` selected."""
    return {"action": action, "_selected_action": [row.pk for row in rows], **more}


def confirmed(action: str, *rows: Any, reason: str = "It reads the clock.") -> dict[str, Any]:
    """Return the form of the confirmation page."""
    return selected(action, *rows, confirmed="yes", reason=reason)


def shown_messages(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


def test_chosen_submissions_are_disqualified_after_confirmation_and_can_be_reinstated(
    as_organiser: Client, olga: User, rows: Any
) -> None:
    first, second = rows.more(), rows.more()
    asked = as_organiser.post(SUBMISSIONS, selected("disqualify", first, second))
    page = asked.content.decode()
    assert "Disqualify: 2 submissions" in page
    assert "Its team sees the reason" in page
    assert not Submission.objects.exclude(disqualified_at=None).exists()

    done = as_organiser.post(SUBMISSIONS, confirmed("disqualify", first, second))
    assert done.status_code == 302
    assert shown_messages(done) == ["2 of 2 disqualified."]
    first.refresh_from_db()
    assert first.disqualified_for == "It reads the clock."
    events = Event.objects.filter(verb="disqualify", by=olga, reason="It reads the clock.")
    assert {event.subject for event in events} == {f"submission:{first.pk}", f"submission:{second.pk}"}

    done = as_organiser.post(SUBMISSIONS, confirmed("reinstate", first))
    assert shown_messages(done)[-1] == "1 of 1 reinstated."


def test_an_action_on_the_page_of_a_row_acts_after_confirmation(as_superuser: Client, rows: Any) -> None:
    submission = rows.more()
    assert (
        "/disqualify/"
        in as_superuser.get(reverse("admin:submissions_submission_change", args=[submission.pk])).content.decode()
    )
    page = reverse("admin:submissions_submission_disqualify", args=[submission.pk])
    assert "Disqualify: 1 submission" in as_superuser.get(page).content.decode()
    submission.refresh_from_db()
    assert submission.disqualified_at is None
    assert as_superuser.post(page, {"confirmed": "yes", "reason": "unfair"}, follow=True).status_code == 200
    submission.refresh_from_db()
    assert submission.disqualified_for == "unfair"


def test_a_hidden_submission_has_its_title_on_its_page_alone(as_organiser: Client, rows: Any) -> None:
    submission = rows.more()
    title = submission.title
    asked = as_organiser.post(SUBMISSIONS, selected("hide", submission)).content.decode()
    assert "Hide: 1 submission" in asked
    assert "its code and the images that it made are no longer public" in asked
    assert not Submission.objects.exclude(hidden_at=None).exists()
    done = as_organiser.post(SUBMISSIONS, confirmed("hide", submission, reason="It names a password."))
    assert shown_messages(done) == ["1 of 1 hidden."]
    page = as_organiser.get(reverse("admin:submissions_submission_change", args=[submission.pk])).content.decode()
    assert f"with the title “{title}”: It names a password." in page
    done = as_organiser.post(SUBMISSIONS, confirmed("show_again", submission))
    assert shown_messages(done)[-1] == "1 of 1 shown again."
    submission.refresh_from_db()
    assert (submission.title, submission.given_title) == (title, "")


def test_a_rejected_submission_is_retried(as_superuser: Client, rows: Any) -> None:
    submission = rows.more()
    Submission.objects.update(state="rejected", player=None)
    done = as_superuser.post(SUBMISSIONS, confirmed("retry", submission))
    assert shown_messages(done) == ["1 of 1 queued for a new build."]
    assert Submission.objects.get().state == Submission.State.RECEIVED


def test_a_submission_is_evaluated_again(as_superuser: Client, rows: Any, tracks: dict[str, Track]) -> None:
    rows.more()
    evaluation = Evaluation.objects.get()
    done = as_superuser.post(reverse("admin:leaderboards_evaluation_changelist"), confirmed("re_evaluate", evaluation))
    assert shown_messages(done) == ["1 of 1 started again."]
    assert Evaluation.objects.filter(submission=evaluation.submission).count() == 2


def test_a_failed_match_is_replayed(as_organiser: Client, olga: User, rows: Any) -> None:
    rows.more()
    match = Match.objects.get()
    page = reverse("admin:matches_match_replay", args=[match.pk])
    done = as_organiser.post(page, {"confirmed": "yes", "reason": "The disk has room again."})
    assert shown_messages(done) == ["1 of 1 queued for a replay."]
    assert Match.objects.get().state == Match.State.WAITING
    assert Event.objects.get(verb="replay", by=olga).reason == "The disk has room again."


def test_replaying_a_match_links_to_the_evaluations_that_stay_void(as_organiser: Client, rows: Any) -> None:
    """Void is final: a replay plays the match, but scores change only after a re-evaluation."""
    rows.more()
    match = Match.objects.get()
    evaluation = Evaluation.objects.get()
    Evaluation.objects.update(state="void", cause="platform", reason="fault")
    page = as_organiser.get(reverse("admin:matches_match_replay", args=[match.pk])).content.decode()
    assert "has no score until its submission is evaluated again" in page
    (link,) = re.findall(r'<p class="font-semibold">.*?<a[^>]* href="([^"]+)">1</a>', page)
    listed = as_organiser.get(html.unescape(link))
    assert list(listed.context["cl"].queryset) == [evaluation]
    done = as_organiser.post(link.partition("?")[0], confirmed("re_evaluate", evaluation))
    assert shown_messages(done) == ["1 of 1 started again."]
    match.refresh_from_db()
    assert match.state == Match.State.WAITING, "a re-evaluation replays what failed"


def test_a_submission_is_evaluated_again_on_its_page(as_organiser: Client, rows: Any) -> None:
    rows.more()
    Evaluation.objects.update(state="void", cause="platform", reason="fault")
    voided = Evaluation.objects.get()
    page = reverse("admin:submissions_submission_re_evaluate", args=[voided.submission_id])
    assert page in as_organiser.get(page.replace("re_evaluate", "change")).content.decode()
    answer = {"confirmed": "yes", "reason": "The host was broken."}
    assert shown_messages(as_organiser.post(page, answer)) == ["1 of 1 started again."]
    again = Evaluation.objects.exclude(pk=voided.pk).get()
    assert again.submission == voided.submission
    Competition.objects.update(format="transfer")
    *_, said = shown_messages(as_organiser.post(page, answer))
    assert "a competition of the transfer format, which has no evaluations" in said
    assert Evaluation.objects.count() == 2


def test_replaying_a_match_without_evaluations_shows_no_note(as_organiser: Client, rows: Any) -> None:
    rows.more()
    Match.objects.get().evaluations.clear()
    page = as_organiser.get(reverse("admin:matches_match_replay", args=[Match.objects.get().pk])).content.decode()
    assert "without a score" not in page


class DayForm(ReasonForm):
    """Form with a day."""

    day = DateField(widget=UnfoldAdminDateWidget)


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Calls of the action "disqualify", replaced by one whose form asks for a day."""
    calls: list[Any] = []

    def record_call(row: Submission, by: User, reason: str, **fields: Any) -> None:
        calls.append((row.pk, by.username, reason, fields))

    dated = AdminAction("Date", "Each gets a day.", "dated", record_call, form=DayForm)
    monkeypatch.setattr(SubmissionAdmin, "disqualify", confirmed_action(dated))
    return calls


def test_an_action_can_ask_for_more_than_a_reason(as_superuser: Client, rows: Any, days: list[Any]) -> None:
    first, second = rows.more(), rows.more()
    asked = as_superuser.post(SUBMISSIONS, selected("disqualify", first, second)).content.decode()
    assert asked.index('name="day"') < asked.index('name="reason"')
    done = as_superuser.post(SUBMISSIONS, confirmed("disqualify", first, second) | {"day": "2026-11-22"})
    assert shown_messages(done) == ["2 of 2 dated."]
    expected = ("root", "It reads the clock.", {"day": date(2026, 11, 22)})
    assert sorted(days) == [(row.pk, *expected) for row in (first, second)]


@pytest.mark.parametrize("day", ["", "some day"])
def test_it_rejects_invalid_form_values(as_superuser: Client, rows: Any, days: list[Any], day: str) -> None:
    submission = rows.more()
    asked = as_superuser.post(SUBMISSIONS, confirmed("disqualify", submission) | {"day": day})
    page = asked.content.decode()
    assert asked.context["form"].errors.keys() == {"day"}
    assert "It reads the clock." in page
    assert f'name="_selected_action" value="{submission.pk}"' in page
    assert not days


@pytest.mark.parametrize("reason", ["", "   "])
def test_it_rejects_an_action_without_a_reason(as_superuser: Client, rows: Any, reason: str) -> None:
    submission = rows.more()
    asked = as_superuser.post(SUBMISSIONS, confirmed("disqualify", submission, reason=reason))
    assert asked.status_code == 200
    assert "This field is required" in asked.content.decode()
    submission.refresh_from_db()
    assert submission.disqualified_at is None


def test_it_shows_the_refusal_of_the_service(as_superuser: Client, rows: Any) -> None:
    first, second = rows.more(), rows.more()
    as_superuser.post(SUBMISSIONS, confirmed("disqualify", first))
    done = as_superuser.post(SUBMISSIONS, confirmed("disqualify", first, second))
    refused, succeeded = shown_messages(done)[-2:]
    assert refused.startswith(f"{first}: ")
    assert "(fix: " in refused
    assert succeeded == "1 of 2 disqualified."


def test_it_rejects_rows_of_another_competition(as_organiser: Client, olga: User, rows: Any) -> None:
    submission = rows.more()
    olga.organiser_roles.all().delete()
    assert as_organiser.post(SUBMISSIONS, confirmed("disqualify", submission)).status_code == 403
    page = reverse("admin:submissions_submission_disqualify", args=[submission.pk])
    assert as_organiser.post(page, {"confirmed": "yes", "reason": "mine"}).status_code == 403
    submission.refresh_from_db()
    assert submission.disqualified_at is None


def test_an_organiser_refunds_a_slot_after_a_platform_error(as_organiser: Client, olga: User, rows: Any) -> None:
    waits, other = rows.more(), rows.more()
    Submission.objects.filter(pk=waits.pk).update(state="rejected", cause="platform", reason="fault")
    slot = {
        "repository": waits.repository,
        "commit": waits.commit,
        "tag": waits.tag,
        "reserved_by": olga,
        "reserved_at": waits.received_at,
        "state": "used",
        "reason": "awaits_organiser",
    }
    QuotaSlot.objects.update_or_create(submission=waits, defaults=slot)
    done = as_organiser.post(SUBMISSIONS, confirmed("refund", waits, other))
    assert any("1 of 2 refunded" in each for each in shown_messages(done))
    assert QuotaSlot.objects.get(submission=waits).state == "refunded"
    assert Event.objects.filter(verb="refund_fault", by=olga, subject=f"submission:{waits.pk}").exists()


def test_a_superuser_returns_a_drained_host_to_service(as_superuser: Client) -> None:
    drained = Host.objects.create(name="bad", out_since=clock.now(), problem="its labels differ")
    failed = Host.objects.create(name="other", out_since=clock.now(), check_due_at=clock.now())
    page = as_superuser.post(HOSTS, selected("return_to_service", drained)).content.decode()
    assert "What it played before stays listed for rejudging." in page
    done = as_superuser.post(HOSTS, confirmed("return_to_service", drained, failed, reason="New memory."))
    assert "1 of 2 returned to service." in shown_messages(done)
    assert any("other is not drained" in message for message in shown_messages(done))
    drained.refresh_from_db()
    assert not drained.is_drained
    assert Event.objects.get(verb="return_host").reason == "New memory."
