"""Choosing which submission of a team counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import transaction

from accounts.models import User
from competitions.models import Competition, Entry, RulesVersion, Track
from core import clock
from core.errors import Refusal, RefusedForNow
from core.models import Event
from formats.query.leaderboards import tasks
from formats.query.leaderboards.boards_over_time import history_of, scores_of
from formats.query.leaderboards.choose_submission import choose, choose_newest
from formats.query.leaderboards.evaluation_basis import unevaluated
from formats.query.leaderboards.models import Evaluation, Pool, SubmissionChoice
from formats.query.leaderboards.past_boards import board_at
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.leaderboards.score_visibility import board
from formats.query.leaderboards.scoring import recompute
from formats.query.leaderboards.snapshots_and_freezes import freeze_leaderboards
from submissions.extension_points import players_in_use
from submissions.models import Player, Submission
from submissions.services import disqualify, reinstate, withdraw

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


@pytest.fixture
def choice_allowed(rules: RulesVersion) -> RulesVersion:
    """Rules under which teams choose."""
    rules.values["counting_submission"] = "chosen"
    rules.save()
    return rules


@pytest.fixture
def sent(
    the_clock: FakeClock, env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool, choice_allowed: RulesVersion
) -> list[Submission]:
    """Two models of the Owls, the older one better, an hour apart, and an hour later."""
    found = []
    for distance in (3.0, 1.0):
        found.append(env.submission(entry, "model", alice))
        env.score(found[-1], distance)
        the_clock.forward(hours=1)
    return found


def counted(env: BoardFixture) -> list[tuple[int, bool]]:
    """The submissions on the stored leaderboard of models, and whether they are chosen there."""
    tasks.score(track=env.tracks["model"].pk)
    rows = env.tracks["model"].standings.order_by("place", "entry")
    return list(rows.values_list("evaluation__submission", "chosen"))


def test_the_chosen_submission_counts_until_the_team_chooses_the_newest(
    env: BoardFixture, sent: list[Submission], bob: User
) -> None:
    older, newer = sent
    assert counted(env) == [(newer.pk, False)]
    choose(submission=older, by=bob)
    assert counted(env) == [(older.pk, True)]
    assert board(env.tracks["model"]).rows[0].chosen
    event = Event.objects.get(verb="choose")
    assert (event.subject, event.by_id, event.data) == (
        f"repository:{older.repository_id}", bob.pk, {"submission": older.pk},
    )  # fmt: skip
    choose_newest(repository=older.repository, by=bob)
    assert counted(env) == [(newer.pk, False)]
    assert list(SubmissionChoice.objects.order_by("pk").values_list("submission", "made_by")) == [
        (older.pk, bob.pk), (None, bob.pk),
    ]  # fmt: skip


def test_nothing_is_chosen_in_an_archived_competition(env: BoardFixture, sent: list[Submission], bob: User) -> None:
    older, newer = sent
    Competition.objects.update(archived_at=clock.now())
    with pytest.raises(Refusal, match="was archived at"):
        choose(submission=older, by=bob)
    with pytest.raises(Refusal, match="was archived at"):
        choose_newest(repository=older.repository, by=bob)
    assert counted(env) == [(newer.pk, False)]


def test_later_submissions_do_not_replace_it(env: BoardFixture, sent: list[Submission], alice: User) -> None:
    choose(submission=sent[0], by=alice)
    env.score(env.submission(sent[0].repository.entry, "model", alice), 9.0)
    assert counted(env) == [(sent[0].pk, True)]
    assert verify_boards(env.competition).differences == ()


def test_the_chosen_one_can_be_the_newest(env: BoardFixture, sent: list[Submission], alice: User) -> None:
    choose(submission=sent[1], by=alice)
    assert counted(env) == [(sent[1].pk, True)]


@pytest.mark.parametrize("left", ["withdrawn", "disqualified"])
def test_without_the_chosen_one_the_newest_counts(
    env: BoardFixture, sent: list[Submission], alice: User, olga: User, left: str
) -> None:
    choose(submission=sent[0], by=alice)
    if left == "withdrawn":
        withdraw(submission=sent[0], by=alice)
    else:
        disqualify(submission=sent[0], by=olga, reason="it remembers images")
    assert counted(env) == [(sent[1].pk, False)]
    if left == "disqualified":
        reinstate(submission=sent[0], by=olga, reason="it does not")
        assert counted(env) == [(sent[0].pk, True)]


def test_an_old_score_is_measured_again(env: BoardFixture, sent: list[Submission], alice: User) -> None:
    env.pool("untargeted", "stronger")
    assert list(unevaluated()) == [sent[1]], "the one that counts"
    choose(submission=sent[0], by=alice)
    evaluation = Evaluation.objects.get(submission=sent[0], state="playing")
    assert evaluation.pool.number == 2
    assert list(unevaluated()) == [], "the newer one does not count"
    choose_newest(repository=sent[0].repository, by=alice)
    assert Evaluation.objects.filter(submission=sent[1], state="playing", pool__number=2).exists()


def test_one_whose_image_was_removed_is_refused(
    env: BoardFixture, sent: list[Submission], alice: User, the_clock: FakeClock
) -> None:
    the_clock.forward(days=20)
    Player.objects.update(image=f"sha256:{'1' * 64}")
    with pytest.raises(Refusal, match="superseded for more than 14 days: its image was removed") as refused:
        choose(submission=Submission.objects.get(pk=sent[0].pk), by=alice)
    assert refused.value.fix == "commit its files again, and push the commit with a new tag"
    assert counted(env) == [(sent[1].pk, False)]


def test_its_image_is_kept(sent: list[Submission], alice: User) -> None:
    choose(submission=sent[0], by=alice)
    kept = {player for players in players_in_use.answers() for player in players}
    assert sent[0].player in kept
    choose_newest(repository=sent[0].repository, by=alice)
    kept = {player for players in players_in_use.answers() for player in players}
    assert sent[0].player not in kept


def test_past_leaderboards_and_histories_show_what_counted_then(
    the_clock: FakeClock, env: BoardFixture, sent: list[Submission], alice: User
) -> None:
    track, times = env.tracks["model"], [the_clock.at]
    the_clock.forward(hours=1)
    choose(submission=sent[0], by=alice)
    times.append(the_clock.forward(minutes=1))
    the_clock.forward(hours=1)
    choose_newest(repository=sent[0].repository, by=alice)
    times.append(the_clock.forward(minutes=1))
    expected = [(sent[1].pk, False), (sent[0].pk, True), (sent[1].pk, False)]
    assert [(row.submission, row.chosen) for at in times for row in board_at(track, at).rows()] == expected
    history = history_of(track, None)
    assert [row.submission for rows in history.at(times, 1) for row, _ in rows] == [pk for pk, _ in expected]
    assert [[row.submission for row in rows] for rows in scores_of(track, ["owls"], None)] == [
        [sent[0].pk, sent[1].pk, sent[0].pk, sent[1].pk]
    ]


def test_the_rules_in_force_decide(
    the_clock: FakeClock, env: BoardFixture, sent: list[Submission], alice: User, choice_allowed: RulesVersion
) -> None:
    """A version without choices ends them; one that allows them again brings them back."""
    choose(submission=sent[0], by=alice)
    track = env.tracks["model"]
    for version, value, expected in ((2, "newest", sent[1]), (3, "chosen", sent[0])):
        values = choice_allowed.values | {"counting_submission": value}
        RulesVersion.objects.create(
            competition=env.competition, version=version, values=values, created_at=the_clock.forward(hours=1)
        )
        recompute(track)
        assert [row.submission for row in board(track).rows] == [expected.pk]
        assert [row.submission for row in board_at(track, the_clock.at).rows()] == [expected.pk]


def test_frozen_leaderboards_stay(
    the_clock: FakeClock, env: BoardFixture, sent: list[Submission], alice: User, olga: User
) -> None:
    freeze_leaderboards(competition=env.competition, by=olga, reason="the final")
    choose(submission=sent[0], by=alice)
    assert counted(env) == [(sent[0].pk, True)]
    track = env.tracks["model"]
    assert SubmissionChoice.objects.get().made_at > env.competition.frozen_leaderboards.since
    track.refresh_from_db()
    assert [(row.submission, row.chosen) for row in board(track).rows] == [(sent[1].pk, False)]


def test_it_rejects_a_choice_that_the_rules_do_not_allow(
    sent: list[Submission], alice: User, choice_allowed: RulesVersion
) -> None:
    del choice_allowed.values["counting_submission"]
    choice_allowed.save()
    with pytest.raises(Refusal, match="under version 1 of the rules the newest submission counts"):
        choose(submission=sent[0], by=alice)


def test_it_rejects_a_submission_that_cannot_count(env: BoardFixture, sent: list[Submission], alice: User) -> None:
    rows, evaluations = Submission.objects.filter(pk=sent[0].pk), Evaluation.objects.filter(submission=sent[0])
    flaws: list[tuple[str, Callable[[], object]]] = [
        ("is withdrawn", lambda: rows.update(state="withdrawn")),
        ("is rejected", lambda: rows.update(state="rejected")),
        ("is building", lambda: rows.update(state="building")),
        ("is disqualified", lambda: rows.update(disqualified_at=clock.now())),
        ("has no score", lambda: evaluations.update(state="void", cause="team")),
        ("has no score", lambda: evaluations.update(state="playing")),
    ]
    for words, flaw in flaws:
        with transaction.atomic():
            flaw()
            with pytest.raises(Refusal) as caught:
                choose(submission=Submission.objects.get(pk=sent[0].pk), by=alice)
            assert str(caught.value.problem) == f"submission {sent[0].pk} {words}"
            assert not SubmissionChoice.objects.exists()
            transaction.set_rollback(True)
    choose(submission=sent[0], by=alice)


def test_it_rejects_people_outside_the_team(sent: list[Submission], charlie: User, olga: User) -> None:
    for person in (charlie, olga):
        with pytest.raises(Refusal, match="only members of The Owls"):
            choose(submission=sent[0], by=person)
        with pytest.raises(Refusal, match="only members of The Owls"):
            choose_newest(repository=sent[0].repository, by=person)


def test_it_rejects_a_choice_after_the_end(
    the_clock: FakeClock, competition: Competition, sent: list[Submission], alice: User
) -> None:
    the_clock.at = competition.ends_at
    with pytest.raises(Refusal, match="ended at"):
        choose(submission=sent[0], by=alice)


def test_it_rejects_a_choice_that_changes_nothing(sent: list[Submission], alice: User) -> None:
    with pytest.raises(Refusal, match="newest submission counts already"):
        choose_newest(repository=sent[0].repository, by=alice)
    choose(submission=sent[0], by=alice)
    with pytest.raises(Refusal, match="already the one that counts"):
        choose(submission=sent[0], by=alice)


def test_it_rejects_more_choices_than_slots(the_clock: FakeClock, sent: list[Submission], alice: User) -> None:
    """Each may cost an evaluation. A return to the newest is always possible."""
    first = clock.now()
    for number in range(5):
        choose(submission=sent[number % 2], by=alice)
        the_clock.forward(minutes=1)
    with pytest.raises(RefusedForNow) as caught:
        choose(submission=sent[1], by=alice)
    assert caught.value.accepted_from == first + timedelta(hours=24)
    choose_newest(repository=sent[0].repository, by=alice)
    the_clock.at = caught.value.accepted_from
    choose(submission=sent[1], by=alice)


def test_a_team_with_one_slot_chooses_once(the_clock: FakeClock, sent: list[Submission], alice: User) -> None:
    Track.objects.filter(pk=sent[0].repository.track_id).update(quota=1)
    choose(submission=sent[0], by=alice)
    with pytest.raises(RefusedForNow, match="has chosen once in 24 hours"):
        choose(submission=Submission.objects.get(pk=sent[1].pk), by=alice)
