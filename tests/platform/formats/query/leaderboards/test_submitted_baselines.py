"""Submissions that organisers made baselines: without a rank, measured and met as baselines are, with their team."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.models import Competition, Entry
from core import clock
from core.errors import Refusal
from core.models import Event
from formats.query.leaderboards import tasks
from formats.query.leaderboards.choose_submission import choosable
from formats.query.leaderboards.evaluation_basis import pool_in_force, unevaluated
from formats.query.leaderboards.models import Pool
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.leaderboards.score_visibility import baselines_of
from pages.player_names import names_of
from submissions.models import Submission
from submissions.services import disqualify, end_baseline, make_baseline, withdraw
from submissions.unused_image_removal import needed_players

if TYPE_CHECKING:
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


@pytest.fixture
def sent(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> list[Submission]:
    """Two models of the Owls with scores, the older one first."""
    found = [env.submission(entry, "model", alice) for _ in range(2)]
    for submission, distance in zip(found, (3.0, 1.0), strict=True):
        env.score(submission, distance)
    return found


def counted(env: BoardFixture) -> list[tuple[int | None, int]]:
    """Return rank and submission of each row of the stored leaderboard of models."""
    tasks.score(track=env.tracks["model"].pk)
    return list(env.tracks["model"].standings.order_by("place").values_list("rank", "evaluation__submission"))


def members(env: BoardFixture) -> list[int]:
    pool = pool_in_force(env.tracks["model"])
    return list(pool.places.order_by("place").values_list("player", flat=True)) if pool else []


def test_a_baseline_has_a_score_and_no_rank_and_the_next_submission_of_its_team_counts(
    env: BoardFixture, sent: list[Submission], olga: User
) -> None:
    older, newer = sent
    assert counted(env) == [(1, newer.pk)]
    make_baseline(submission=newer, by=olga, reason="everybody knows it")
    assert counted(env) == [(1, older.pk)]
    ((listed, evaluation),) = baselines_of(env.tracks["model"], inside=False)
    assert evaluation is not None
    assert (listed, listed.repository.entry.team.name, evaluation.value) == (newer, "The Owls", 1.0)
    assert set(choosable()) == {older}
    assert verify_boards(env.competition).differences == ()
    end_baseline(submission=newer, by=olga, reason="nobody knows it")
    assert counted(env) == [(1, newer.pk)]
    assert baselines_of(env.tracks["model"], inside=False) == []
    assert [event.sentence for event in Event.objects.filter(verb__contains="baseline").order_by("pk")] == [
        f"olga made submission {newer.pk} a baseline.",
        f"olga ended that submission {newer.pk} is a baseline.",
    ]


def test_it_is_measured_again_against_each_new_pool(env: BoardFixture, sent: list[Submission], olga: User) -> None:
    make_baseline(submission=sent[0], by=olga, reason="known")
    env.pool("untargeted", "stronger")
    assert set(unevaluated()) == set(sent)


def test_it_joins_a_pool_with_room_beside_another_submission_of_its_team_and_stays(
    env: BoardFixture, entry: Entry, alice: User, olga: User
) -> None:
    first, second = [env.submission(entry, "model", alice) for _ in range(2)]
    tasks.sweep()
    assert members(env) == [first.player_id]
    make_baseline(submission=second, by=olga, reason="known")
    tasks.sweep()
    assert members(env) == [first.player_id, second.player_id]
    make_baseline(submission=first, by=olga, reason="known, too")
    tasks.sweep()
    assert members(env) == [first.player_id, second.player_id]
    disqualify(submission=second, by=olga, reason="it reads the clock")
    tasks.sweep()
    assert members(env) == [first.player_id]


def test_pages_name_it_with_its_team_and_as_a_baseline(
    env: BoardFixture, sent: list[Submission], olga: User, client: Client
) -> None:
    Competition.objects.update(public=True)
    make_baseline(submission=sent[1], by=olga, reason="only for the team")
    player = sent[1].player
    assert player is not None
    name = names_of([player.pk])[player.pk]
    assert (str(name), name.baseline) == (f"{sent[1].title} by The Owls", True)
    shown = client.get(reverse("pages:board", args=[env.competition.slug, "model"])).content.decode()
    assert "Submissions that the organisers made baselines" in shown
    assert sent[1].title in shown
    page = reverse("pages:submission", args=[sent[1].pk])
    public = client.get(page).content.decode()
    assert "Baseline since" in public
    assert "only for the team" not in public
    client.force_login(sent[1].submitted_by)
    assert "only for the team" in client.get(page).content.decode()


def test_the_page_of_its_team_says_why_nothing_has_a_rank(
    env: BoardFixture, sent: list[Submission], olga: User, client: Client
) -> None:
    Competition.objects.update(public=True)
    withdraw(submission=sent[0], by=sent[0].submitted_by)
    make_baseline(submission=sent[1], by=olga, reason="known")
    counted(env)
    page = client.get(reverse("pages:team", args=["owls"])).content.decode()
    assert "a submission on this track is a baseline" in page
    assert page.count("No score yet.") == 2


def test_its_image_is_kept(sent: list[Submission], olga: User) -> None:
    player = sent[0].player
    assert player is not None
    assert player.digest not in needed_players()
    make_baseline(submission=sent[0], by=olga, reason="known")
    assert player.digest in needed_players()


def test_it_rejects_what_cannot_be_a_baseline_and_changes_nothing(
    sent: list[Submission], olga: User, alice: User
) -> None:
    older, newer = sent
    with pytest.raises(Refusal, match="only organisers of Digits"):
        make_baseline(submission=newer, by=alice, reason="please")
    with pytest.raises(Refusal, match="needs a reason"):
        make_baseline(submission=newer, by=olga, reason=" ")
    with pytest.raises(Refusal, match="is not a baseline"):
        end_baseline(submission=newer, by=olga, reason="")
    disqualify(submission=newer, by=olga, reason="it reads the clock")
    with pytest.raises(Refusal, match="is disqualified"):
        make_baseline(submission=newer, by=olga, reason="known")
    make_baseline(submission=older, by=olga, reason="known")
    with pytest.raises(Refusal, match="is already a baseline"):
        make_baseline(submission=older, by=olga, reason="again")
    older.refresh_from_db()
    assert older.baseline_for == "known"
    withdraw(submission=newer, by=alice)
    Submission.objects.filter(pk=newer.pk).update(disqualified_at=None)
    with pytest.raises(Refusal, match="is withdrawn"):
        make_baseline(submission=newer, by=olga, reason="known")
    Competition.objects.update(archived_at=clock.now())
    with pytest.raises(Refusal, match="archived"):
        end_baseline(submission=older, by=olga, reason="")


def test_a_format_without_baselines_refuses(sent: list[Submission], olga: User) -> None:
    Competition.objects.update(format="curves")
    submission = Submission.objects.get(pk=sent[1].pk)
    with pytest.raises(Refusal, match="has no baselines"):
        make_baseline(submission=submission, by=olga, reason="known")


def test_the_admin_says_since_when_and_why(sent: list[Submission], olga: User, client: Client) -> None:
    make_baseline(submission=sent[1], by=olga, reason="known before")
    client.force_login(User.objects.create_superuser("root"))
    shown = client.get(reverse("admin:submissions_submission_change", args=[sent[1].pk])).content.decode()
    assert '<h2 id="why">Baseline</h2>' in shown
    assert ": known before</p>" in shown
