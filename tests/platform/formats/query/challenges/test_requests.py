"""What a team may challenge, when, and how often."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from accounts.models import Membership, User
from competitions.models import Competition
from core import clock
from core.errors import Refusal, RefusedForNow
from core.models import Event
from formats.query.challenges.models import Challenge
from formats.query.challenges.opponents import opponents_of
from formats.query.challenges.services import challenge, challenges_left
from formats.query.leaderboards.models import Evaluation, Standing
from formats.query.matches.models import Match
from repositories.models import Repository
from submissions import services as submissions
from submissions.models import Submission
from tests.platform.conftest import NOON, FakeClock
from tests.platform.formats.query.challenges.requests import other_team, ready, release
from workers.models import Priority


def refusal(submission: Submission, opponent: str, by: User) -> Refusal:
    """Request what is not accepted, and check that nothing is stored; return why."""
    before = Challenge.objects.count(), Event.objects.count()
    with pytest.raises(Refusal) as refused:
        challenge(submission=submission, opponent=opponent, by=by)
    assert (Challenge.objects.count(), Event.objects.count()) == before
    assert isinstance(refused.value, RefusedForNow) or refused.value.fix
    return refused.value


def test_a_member_challenges_a_bundled_attack(
    model: Submission,
    bob: User,
    notifications: list[str],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        made = challenge(submission=model, opponent="gaussian-noise", by=bob)
    assert (made.opponent_track, made.baseline, made.opponent, made.by) == ("untargeted", "gaussian-noise", None, bob)
    assert (made.priority, made.entry) == (Priority.UNRANKED, model.repository.entry)
    assert (made.sample_set.purpose, made.samples) == ("development", 10)
    assert notifications == ["workers.play"]
    event = Event.objects.get(verb="challenge")
    assert event.scope == f"competition:{made.rules.competition_id}"
    assert not Match.objects.exists()
    assert not Evaluation.objects.exists()
    assert not Standing.objects.exists()


def test_only_bundled_baselines_of_the_other_side_can_be_challenged(
    model: Submission, repositories: dict[str, Repository], alice: User
) -> None:
    assert [each.name for each in opponents_of(model)] == [
        "gaussian-noise",
        "salt-and-pepper",
        "targeted-interpolation",
    ]
    attack = ready(repositories["untargeted"], alice)
    assert [each.name for each in opponents_of(attack)] == ["numpy-classifier"]
    track = repositories["untargeted"].track
    track.baselines = ["gaussian-noise", "secret-attack"]
    track.own_baselines = {"secret-attack": {"directory": "/d", "archive": "a", "digest": "b"}}
    track.save()
    assert [each.name for each in opponents_of(model)] == ["gaussian-noise", "targeted-interpolation"]


def test_a_submission_can_be_challenged_while_its_code_is_released(model: Submission, alice: User) -> None:
    other = other_team(model.repository, "targeted")
    attack = ready(other, other.entry.team.members.get())
    before = refusal(model, str(attack.pk), alice)
    assert before.problem == f"there is no submission {attack.pk} of the other side whose code is released"
    assert before.fix == "choose one of gaussian-noise, salt-and-pepper, targeted-interpolation"
    code = release(attack)
    made = challenge(submission=model, opponent=str(attack.pk), by=alice)
    assert (made.opponent, made.attack_track, made.opponent_name) == (attack, "targeted", str(attack.pk))
    code.withdrawn_at = clock.now()
    code.save()
    refusal(model, str(attack.pk), alice)


@pytest.mark.parametrize(
    ("track", "opponent", "problem"),
    [
        ("model", "numpy-classifier", "numpy-classifier is on the same side as submission {own}: a model challenges"),
        ("model", "{own}", "is on the same side"),
        ("untargeted", "salt-and-pepper", "an attack challenges models"),
        ("untargeted", "targeted-interpolation", "an attack challenges models"),
        ("model", "boundary", "'boundary' is neither a bundled baseline of this competition nor the number"),
        ("model", "", "'' is neither"),
        ("model", "9" * 30, "is neither"),
        ("model", "²", "is neither"),
        ("model", "99999", "there is no submission 99999 of the other side"),
    ],
)
def test_it_rejects_an_opponent_of_the_same_side_or_that_is_not_public(
    model: Submission, repositories: dict[str, Repository], alice: User, track: str, opponent: str, problem: str
) -> None:
    own = model if track == "model" else ready(repositories[track], alice)
    found = refusal(own, opponent.format(own=own.pk), alice)
    assert problem.format(own=own.pk) in found.problem
    assert found.fix.startswith("choose one of ")


def test_it_rejects_a_submission_of_another_team(model: Submission, charlie: User, bob: User) -> None:
    assert "is not a member of The Owls" in refusal(model, "gaussian-noise", charlie).problem
    Membership.objects.filter(user=bob).delete()
    refusal(model, "gaussian-noise", bob)


@pytest.mark.parametrize("state", [each for each in Submission.State if each != Submission.State.READY])
def test_it_rejects_a_submission_that_is_not_ready(model: Submission, alice: User, state: str) -> None:
    Submission.objects.update(state=state)
    found = refusal(model, "gaussian-noise", alice)
    assert found.problem == f"submission {model.pk} is {state}"
    waits = state in {"received", "building", "checking"}
    assert found.fix == ("wait until its smoke test has passed" if waits else "choose a submission that is ready")


def test_it_rejects_a_disqualified_submission(model: Submission, alice: User) -> None:
    Submission.objects.update(disqualified_at=clock.now())
    assert "is disqualified" in refusal(model, "gaussian-noise", alice).problem


@pytest.mark.parametrize(
    ("dates", "problem", "for_now"),
    [
        ({"starts_at": NOON + timedelta(days=9)}, "Digits starts at", True),
        ({"ends_at": NOON - timedelta(days=1)}, "Digits ended at", False),
        ({"archived_at": NOON}, "Digits was archived at", False),
    ],
)
def test_it_rejects_a_competition_that_is_not_under_way(
    model: Submission, alice: User, the_clock: FakeClock, dates: dict[str, datetime], problem: str, for_now: bool
) -> None:
    Competition.objects.update(**dates)
    found = refusal(Submission.objects.get(pk=model.pk), "gaussian-noise", alice)
    assert problem in found.problem
    assert isinstance(found, RefusedForNow) == for_now


def test_a_team_has_a_small_number_in_any_24_hours(
    model: Submission, alice: User, bob: User, the_clock: FakeClock, settings: Settings
) -> None:
    settings.TEAM_CHALLENGES = 2
    entry, first = model.repository.entry, the_clock.at
    challenge(submission=model, opponent="gaussian-noise", by=alice)
    the_clock.forward(hours=1)
    failed = challenge(submission=model, opponent="salt-and-pepper", by=bob)
    assert challenges_left(entry) == 0
    found = refusal(model, "targeted-interpolation", bob)
    assert isinstance(found, RefusedForNow)
    assert found.problem == "all 2 challenges of The Owls in 24 hours are used"
    assert found.accepted_from == first + timedelta(hours=24)
    Challenge.objects.filter(pk=failed.pk).update(state=Challenge.State.FAILED)
    assert challenges_left(entry) == 1, "platform errors count for nothing"
    challenge(submission=model, opponent="targeted-interpolation", by=bob)
    the_clock.forward(hours=23)
    assert challenges_left(entry) == 1
    settings.TEAM_CHALLENGES = 0
    assert refusal(model, "salt-and-pepper", bob).problem == "this site plays no challenges"


def test_a_second_click_requests_nothing(model: Submission, alice: User) -> None:
    made = challenge(submission=model, opponent="gaussian-noise", by=alice)
    assert (
        refusal(model, "gaussian-noise", alice).problem == f"{made} of {model} against gaussian-noise is not played yet"
    )
    Challenge.objects.update(state=Challenge.State.PLAYED)
    challenge(submission=model, opponent="gaussian-noise", by=alice)


def test_a_challenge_of_a_withdrawn_submission_is_cancelled(model: Submission, alice: User) -> None:
    made = challenge(submission=model, opponent="gaussian-noise", by=alice)
    assert made.progress == "waiting"
    submissions.withdraw(submission=model, by=alice)
    assert Challenge.objects.get().progress == "cancelled"
