"""Submission page and build log."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import User
from competitions.models import Competition
from competitions.pseudonyms import public_name
from core import clock, event_log
from formats.query.leaderboards.models import Evaluation, Standing
from formats.query.matches.models import Match, Piece
from submissions.models import Build, LogChunk, Player, QuotaSlot, Submission
from workers.models import Host, WorkerTime


def page_of(submission: Submission) -> str:
    """Return the address of the page."""
    return reverse("pages:submission", args=[submission.pk])


def add_lines(build: Build, first: int, count: int) -> None:
    """Add `count` lines to the log, starting with number `first`."""
    text = "\n".join(f"printed {number}" for number in range(first, first + count))
    LogChunk.objects.create(build=build, stage="smoke", first_line=first, lines=count, text=text, at=build.started_at)


def test_a_scored_submission_shows_its_score_interval_opponents_and_rules(
    client: Client, shown: dict[str, Submission]
) -> None:
    page = client.get(page_of(shown["scored"])).content.decode()
    for text in (
        "<b>1.25</b>",
        "1.12 to 1.50",
        "Boundary attack",
        "strongest opponent",
        "2 of 6",
        "version 1",
        "The Owls",
    ):
        assert text in page
    assert "hx-get" not in page


def test_the_team_sees_the_public_identifier_and_never_the_digest(
    client: Client, shown: dict[str, Submission], bob: User
) -> None:
    player = Player.objects.create(
        competition=shown["scored"].repository.entry.competition, track_name="model", digest=f"sha256:{'b' * 64}",
        title="Wise owl", command=[], baseline="x", created_at=bob.date_joined,
    )  # fmt: skip
    Submission.objects.filter(pk=shown["scored"].pk).update(player=player)
    name = public_name(player.competition, player.digest)
    assert name not in client.get(page_of(shown["scored"])).content.decode()
    client.force_login(bob)
    page = client.get(page_of(shown["scored"])).content.decode()
    assert name in page
    assert "b" * 12 not in page


def test_the_log_grows_and_lines_have_permanent_links(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    build = shown["building"].builds.get()
    page = client.get(page_of(shown["building"])).content.decode()
    assert 'id="L3"' in page
    assert "after=3&amp;stage=smoke" in page
    log = reverse("pages:log_after", args=[shown["building"].pk])
    assert client.get(f"{log}?attempt=1&after=3").status_code == 204
    add_lines(build, 4, 2)
    more = client.get(f"{log}?attempt=1&after=3&stage=smoke").content.decode()
    assert 'id="L4"' in more
    assert 'id="L5"' in more
    assert 'id="L3"' not in more
    assert "Smoke test" not in more
    assert "after=5" in more
    Build.objects.update(finished_at=build.started_at)
    last = client.get(f"{log}?attempt=1&after=5").content.decode()
    assert "hx-get" not in last
    assert 'id="L5"' in client.get(page_of(shown["building"])).content.decode()


def test_an_open_page_follows_the_build(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    page = client.get(page_of(shown["building"])).content.decode()
    assert 'hx-trigger="every 1s"' in page.split("data-live")[1].split(">")[0]
    again = page.split('data-live hx-get="')[1].split('"')[0].replace("&amp;", "&")
    htmx = {"HX-Request": "true"}
    assert client.get(again, headers=htmx).status_code == 204
    Submission.objects.filter(pk=shown["building"].pk).update(state=Submission.State.CHECKING)
    changed = client.get(again, headers=htmx)
    assert "The submission is checking." in changed.content.decode()
    Build.objects.update(finished_at=shown["building"].received_at)
    assert client.get(again, headers=htmx).headers["HX-Refresh"] == "true"


def test_a_long_log_has_pages_and_links_lead_to_them(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    add_lines(shown["rejected"].builds.get(), 4, 1500)
    page = client.get(page_of(shown["rejected"])).content.decode()
    assert 'id="L1000"' in page
    assert 'id="L1001"' not in page
    assert "after=1000" in page
    second = client.get(f"{page_of(shown['rejected'])}?after=1000").content.decode()
    assert "?attempt=1&amp;after=1000#L1200" in second
    file = client.get(reverse("pages:log_file", args=[shown["rejected"].pk]))
    assert b"".join(file).decode().splitlines()[-1] == "printed 1503"
    assert "attachment" in file.headers["Content-Disposition"]


def test_a_build_that_waits_for_a_sandbox_says_so(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    now = clock.database_now()
    Build.objects.all().update(finished_at=now)
    waiting = shown["building"]
    Submission.objects.filter(pk=waiting.pk).update(state=Submission.State.RECEIVED, state_since=now)
    host = Host.objects.create(name="b1", out_since=now, problem="no Docker engine answers at /var/run/docker.sock")
    assert "No builder can start" not in client.get(page_of(waiting)).content.decode(), "it has just begun to wait"
    Submission.objects.filter(pk=waiting.pk).update(state_since=now - timedelta(minutes=2))
    page = client.get(page_of(waiting)).content.decode()
    assert "No builder can start submissions now" in page
    assert "docker.sock" not in page
    build = shown["rejected"].builds.get()
    Build.objects.filter(pk=build.pk).update(lease_until=now)
    assert "No builder can start" not in client.get(page_of(waiting)).content.decode(), "another one is built"
    Build.objects.filter(pk=build.pk).update(lease_until=None)
    Host.objects.filter(pk=host.pk).update(out_since=None)
    assert "No builder can start" not in client.get(page_of(waiting)).content.decode()


def test_build_output_is_escaped(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    LogChunk.objects.filter(first_line=1).update(text="<script>alert(1)</script>\nprinted 2")
    assert "<script>alert" not in client.get(page_of(shown["rejected"])).content.decode()


def test_it_shows_progress_and_place_in_the_queue(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    evaluation = Evaluation.objects.get()
    player = evaluation.worst_opponent
    assert player
    match = Match.objects.create(
        rules=evaluation.rules,
        sample_set=evaluation.sample_set,
        model=player,
        attack=player,
        seed=1,
        created_at=evaluation.created_at,
    )
    for number in range(4):
        state = Piece.State.PLAYED if number == 0 else Piece.State.WAITING
        Piece.objects.create(match=match, number=number, first=number, count=1, state=state, seconds=2.0)
    Evaluation.objects.update(state=Evaluation.State.PLAYING)
    evaluation.matches.add(match)
    page = client.get(page_of(shown["scored"])).content.decode()
    assert "1 of 4 pieces played" in page
    assert "Next in the queue" in page
    assert "No worker for these pieces is online" in page
    assert 'hx-trigger="every 10s"' in page


def test_it_shows_why_an_evaluation_waits(
    client: Client, shown: dict[str, Submission], bob: User, settings: Settings
) -> None:
    client.force_login(bob)
    evaluation = Evaluation.objects.get()
    player, now = evaluation.worst_opponent, clock.now()
    assert player
    match = Match.objects.create(
        rules=evaluation.rules, sample_set=evaluation.sample_set, model=player, attack=player, seed=1, created_at=now
    )
    entry = shown["scored"].repository.entry
    Piece.objects.create(match=match, number=0, first=0, count=1, entry=entry)
    hour = now.replace(minute=0, second=0, microsecond=0)
    WorkerTime.objects.create(role="play", entry=entry, hour=hour, seconds=60.0)
    Evaluation.objects.update(state=Evaluation.State.PLAYING)
    Submission.objects.filter(evaluations=evaluation).update(overdue_at=now)
    evaluation.matches.add(match)
    over_limit, overdue = "has used its share of worker time", "Not played within 7 days"
    page = client.get(page_of(shown["scored"])).content.decode()
    assert (over_limit in page, overdue in page) == (False, True)
    settings.TEAM_WORKER_SECONDS = 60
    assert over_limit in client.get(page_of(shown["scored"])).content.decode()
    client.logout()
    page = client.get(page_of(shown["scored"])).content.decode()
    assert (over_limit in page, overdue in page) == (False, False)


def test_it_shows_why_a_build_waits(
    client: Client, shown: dict[str, Submission], bob: User, settings: Settings
) -> None:
    client.force_login(bob)
    waiting, built, now = shown["building"], shown["scored"], clock.now()
    Submission.objects.filter(pk=waiting.pk).update(state=Submission.State.RECEIVED)
    Build.objects.filter(submission=waiting).update(finished_at=now, started_at=now, outcome="host")
    WorkerTime.objects.create(
        role="build",
        entry=built.repository.entry,
        hour=now.replace(minute=0, second=0, microsecond=0),
        seconds=60.0,
    )
    QuotaSlot.objects.update_or_create(
        submission=waiting,
        defaults={
            "repository": waiting.repository,
            "commit": waiting.commit,
            "tag": waiting.tag,
            "reserved_by": bob,
            "reserved_at": now,
            "state": QuotaSlot.State.REFUNDED,
            "reason": "overdue",
        },
    )
    over_limit = "has used its share of build time"
    page = client.get(page_of(waiting)).content.decode()
    assert "Next in the build queue." in page
    assert "No builder was free within 24 hours" in page
    assert over_limit not in page
    settings.TEAM_BUILD_SECONDS = 60
    assert over_limit in client.get(page_of(waiting)).content.decode()


def steps_of(page: str) -> list[str]:
    """Return the steps of the submission with their status, as a screen reader reads them."""
    steps = re.findall(r"<li[^>]*>(.*?)</li>", page.split('class="steps"')[1].split("</ol>")[0])
    return [re.sub("<[^>]+>", "", step) for step in steps]


def badges_of(page: str) -> list[str]:
    """Return the states that the page shows."""
    return re.findall(r'<span class="badge[^>]*>([^<]*)<', page)


def test_a_submission_withdrawn_during_its_evaluation_shows_one_state(
    client: Client, shown: dict[str, Submission], bob: User
) -> None:
    client.force_login(bob)
    Evaluation.objects.update(state=Evaluation.State.PLAYING, finished_at=None, value=None)
    assert badges_of(client.get(page_of(shown["scored"])).content.decode()) == ["playing"]
    client.post(reverse("pages:withdraw", args=[shown["scored"].pk]))
    for state, problem in ((Evaluation.State.PLAYING, ""), (Evaluation.State.VOID, "The submission was withdrawn.")):
        Evaluation.objects.update(state=state, problem=problem)
        page = client.get(page_of(shown["scored"])).content.decode()
        assert badges_of(page) == ["withdrawn"]
        assert steps_of(page) == [
            "Received, done",
            "Build, done",
            "Smoke test, done",
            "Evaluation, ended here",
            "Score, not started",
        ]
        for text in ("pieces played", "in the queue", "done in about", "hx-get", "notice-error"):
            assert text not in page


@pytest.mark.parametrize(
    ("state", "cause", "began", "ended"),
    [
        (Submission.State.REJECTED, Submission.Cause.PLATFORM, True, "Smoke test, ended here"),
        (Submission.State.REJECTED, Submission.Cause.PLATFORM, False, "Build, ended here"),
        (Submission.State.REJECTED, Submission.Cause.PLATFORM, None, "Received, ended here"),
        (Submission.State.WITHDRAWN, "", True, "Smoke test, ended here"),
        (Submission.State.WITHDRAWN, "", False, "Build, ended here"),
        (Submission.State.WITHDRAWN, "", None, "Received, ended here"),
    ],
)
def test_steps_before_the_end_of_a_submission_stay_done(
    client: Client, shown: dict[str, Submission], state: str, cause: str, began: bool | None, ended: str
) -> None:
    """`began`: whether the smoke test started; None: it was not built."""
    submission = shown["building"]
    Submission.objects.filter(pk=submission.pk).update(state=state, cause=cause, deadline=None)
    if began is None:
        submission.builds.all().delete()
    elif began:
        submission.builds.update(checks=[], checks_began_at=submission.received_at)
    else:
        submission.builds.update(checks=[], checks_began_at=None)
    steps = steps_of(client.get(page_of(submission)).content.decode())
    at = steps.index(ended)
    assert all(step.endswith(", done") for step in steps[:at])
    assert all(step.endswith(", not started") for step in steps[at + 1 :])


def test_a_member_withdraws_it(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    answer = client.post(reverse("pages:withdraw", args=[shown["building"].pk]), follow=True)
    assert "is withdrawn" in answer.content.decode()
    shown["building"].refresh_from_db()
    assert shown["building"].state == Submission.State.WITHDRAWN
    again = client.post(reverse("pages:withdraw", args=[shown["building"].pk]), follow=True)
    assert "is already withdrawn" in again.content.decode()


@pytest.mark.parametrize(("name", "most"), [("scored", 25), ("rejected", 16), ("building", 16)])
def test_it_takes_a_bounded_number_of_queries(
    client: Client,
    shown: dict[str, Submission],
    bob: User,
    name: str,
    most: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    client.force_login(bob)
    add_lines(shown["rejected"].builds.get(), 4, 900)
    with django_assert_max_num_queries(most):
        answer = client.get(page_of(shown[name]))
    assert answer.status_code == 200


def test_it_rejects_an_unknown_submission_and_attempt(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    assert client.get("/submissions/999999").status_code == 404
    assert client.get(f"{page_of(shown['rejected'])}?attempt=7").status_code == 404
    assert client.get(f"{page_of(shown['rejected'])}?after=-1").status_code == 200


def set_refusal(submission: Submission, **values: str) -> None:
    """Set fields of the rejected submission."""
    Submission.objects.filter(pk=submission.pk).update(**values)


def test_a_refusal_has_a_headline_and_an_item_for_each_fix(
    client: Client, shown: dict[str, Submission], bob: User
) -> None:
    client.force_login(bob)
    set_refusal(
        shown["rejected"],
        problem="numpy.linalg.LinAlgError: no (main.py, line 4)\nstep 3 of 4\n  <b>E</b>: none",
        fix="correct `main.py` at line 4\nadd it to `requirements.txt`",
        reason="check_failed",
    )
    page = client.get(page_of(shown["rejected"])).content.decode()
    notice = page.split('class="notice notice-error refusal"')[1].split("</div>")[0]
    assert "<strong>numpy.linalg.LinAlgError: no (main.py, line 4)</strong>" in notice
    assert "step 3 of 4\n  &lt;b&gt;E&lt;/b&gt;: none" in notice
    assert "<li>Correct <code>main.py</code> at line 4</li>" in notice
    assert "<li>Add it to <code>requirements.txt</code></li>" in notice
    assert "The smoke test failed." in notice


@pytest.mark.parametrize("reason", ["inconsistent", "exited_in_setup", "build_too_slow"])
def test_no_raw_name_of_a_reason_is_shown(client: Client, shown: dict[str, Submission], bob: User, reason: str) -> None:
    client.force_login(bob)
    set_refusal(shown["rejected"], reason=reason)
    page = client.get(page_of(shown["rejected"])).content.decode()
    assert reason not in page
    assert reason.replace("_", " ") not in page


def test_checks_that_did_not_run_have_no_tick(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    build = shown["rejected"].builds.get()
    build.checks = [
        {"name": "rules", "passed": False, "seen": "it ended", "headline": "", "fix": ""},
        {"name": "accuracy", "passed": None, "seen": "not reached", "headline": "", "fix": ""},
    ]
    build.save()
    page = client.get(page_of(shown["rejected"])).content.decode()
    row = page.split('<li class="not-reached">')[1].split("</li>")[0]
    assert "accuracy" in row
    assert "not reached" in row
    assert "Passed" not in row


def test_a_slot_that_awaits_an_organiser_is_shown(client: Client, shown: dict[str, Submission], bob: User) -> None:
    submission = shown["building"]
    Submission.objects.filter(pk=submission.pk).update(
        state="rejected", cause="platform", reason="fault", problem="Platform error.", deadline=None
    )
    slot = {
        "repository": submission.repository,
        "commit": submission.commit,
        "tag": submission.tag,
        "reserved_by": bob,
        "reserved_at": submission.received_at,
        "state": "used",
        "reason": "awaits_organiser",
    }
    QuotaSlot.objects.update_or_create(submission=submission, defaults=slot)
    client.force_login(bob)
    page = client.get(page_of(submission)).content.decode()
    assert "An organiser decides whether the slot is refunded." in page
    assert ", an organiser decides about a refund" in page
    assert "It does not count against your quota" not in page


def next_steps(client: Client, submission: Submission) -> str:
    """Return what the page tells the team to do next."""
    page = " ".join(client.get(page_of(submission)).content.decode().split())
    return page.split("What to do next</h3>")[1].split("</div>")[0]


def test_it_says_to_the_team_what_to_do_next(client: Client, shown: dict[str, Submission], bob: User) -> None:
    assert "What to do next" not in client.get(page_of(shown["rejected"])).content.decode()
    client.force_login(bob)
    refused = next_steps(client, shown["rejected"])
    assert "gauntlet check --competition http://testserver/competitions/digits ." in refused
    assert 'href="/teams/owls?track=model#submit">new tag' in refused
    assert "Nothing. This page follows the submission; if a check fails" in next_steps(client, shown["building"])
    assert "Compare it" in next_steps(client, shown["scored"])
    Submission.objects.filter(pk=shown["rejected"].pk).update(cause=Submission.Cause.PLATFORM, reason="fault")
    assert "The submission is not the problem" in next_steps(client, shown["rejected"])
    Submission.objects.filter(pk=shown["building"].pk).update(state=Submission.State.WITHDRAWN)
    assert "To take part again" in next_steps(client, shown["building"])
    Evaluation.objects.update(state=Evaluation.State.PLAYING)
    assert "the score appears here" in next_steps(client, shown["scored"])


def test_it_asks_for_no_submission_after_the_end(client: Client, shown: dict[str, Submission], bob: User) -> None:
    client.force_login(bob)
    assert "Submit the next one" in next_steps(client, shown["scored"])
    Competition.objects.update(ends_at=clock.now())
    assert "Submit the next one" not in next_steps(client, shown["scored"])
    refused = next_steps(client, shown["rejected"])
    assert "The competition has ended; no more submissions are possible." in refused
    assert "new tag" not in refused


def test_a_scored_submission_leads_to_its_hardest_match(
    client: Client, shown: dict[str, Submission], bob: User, played_match: Match
) -> None:
    client.force_login(bob)
    assert f'href="/matches/{played_match.pk}">Match against the strongest opponent' in next_steps(
        client, shown["scored"]
    )


def test_it_has_the_rank_or_the_submission_that_counts_instead(client: Client, shown: dict[str, Submission]) -> None:
    assert "Rank 1" in client.get(page_of(shown["scored"])).content.decode()
    newer = Submission.objects.get(pk=shown["building"].pk)
    evaluation = Evaluation.objects.get()
    evaluation.pk, evaluation.submission = None, newer
    evaluation.save()
    Standing.objects.update(evaluation=evaluation)
    page = " ".join(client.get(page_of(shown["scored"])).content.decode().split())
    assert f'<a href="/submissions/{newer.pk}">Submission {newer.pk}</a> is newer and counts' in page
    assert "Rank 1" not in page


def test_organisers_see_what_went_wrong_on_the_platform(
    client: Client, shown: dict[str, Submission], bob: User, olga: User
) -> None:
    refused = shown["rejected"]
    Submission.objects.filter(pk=refused.pk).update(cause=Submission.Cause.PLATFORM, reason="fault")
    event_log.record("fault", refused, reason="fault", attempt=2, detail="no space left on <host-7>")
    event_log.record("fault", shown["building"], reason="fault", attempt=1, detail="of another one")
    for user, seen in ((bob, False), (olga, True)):
        client.force_login(user)
        page = client.get(f"/submissions/{refused.pk}").content.decode()
        assert ("no space left on &lt;host-7&gt;" in page) == seen
        assert "of another one" not in page
