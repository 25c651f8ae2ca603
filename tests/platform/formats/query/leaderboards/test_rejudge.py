"""Rejudging: submissions are evaluated again, compared, and published or discarded as a whole."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, NamedTuple

import pytest
from django.db import connection, transaction

from accounts.models import User
from competitions.models import Entry
from core import clock
from core.errors import Refusal
from core.models import Event
from formats.query.leaderboards import services
from formats.query.leaderboards.evaluation_basis import unevaluated
from formats.query.leaderboards.models import Evaluation, Pool, Rejudging, Standing
from formats.query.leaderboards.rejudging import begin_rejudging, discard_rejudging, publish_rejudging, replay_rejudging
from formats.query.leaderboards.rejudging_changes import comparison
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.leaderboards.score_visibility import evaluation_of, public_evaluation_of
from formats.query.leaderboards.scoring import refresh_boards
from formats.query.leaderboards.snapshots_and_freezes import freeze_leaderboards
from formats.query.leaderboards.tasks import sweep
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.pages.board_page_data import public_scores
from submissions.evaluation_refunds import refund_overdue
from submissions.models import QuotaSlot, Submission

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture

FICKLE = {"replayed": 20, "changed": 7, "judged": 6, "denied": 0, "fresh": 6, "fresh_changed": 0, "passed": False}


class Scenario(NamedTuple):
    """The Owls' model with its score of 1, the Doves' with 2, and a rejudging of the Owls' one."""

    env: BoardFixture
    owls: Submission
    doves: Submission
    old: Evaluation
    rejudging: Rejudging

    def play(self, distances: Sequence[float]) -> None:
        for match in Match.objects.filter(repetition=self.rejudging.pk, state="waiting"):
            self.env.play(match, distances)
        sweep()
        self.rejudging.refresh_from_db()

    def new(self) -> Evaluation:
        return self.rejudging.evaluations.get(submission=self.owls)


@pytest.fixture
def scenario(
    env: BoardFixture, entry: Entry, alice: User, olga: User, attack_pool: Pool, the_clock: FakeClock
) -> Scenario:
    owls = env.submission(entry, "model", alice)
    old = env.score(owls, 1.0)
    doves = env.submission(env.entry("doves"), "model", alice)
    env.score(doves, 2.0)
    the_clock.forward(hours=1)
    rejudging = begin_rejudging(competition=env.competition, submissions=[owls], reason="a worker was broken", by=olga)
    return Scenario(env, owls, doves, old, rejudging)


def test_a_rejudging_plays_all_again_and_changes_the_board_when_it_is_published(scenario: Scenario, olga: User) -> None:
    new = scenario.new()
    assert (new.replaces, new.counts, new.pool, new.rules) == (
        scenario.old,
        False,
        scenario.old.pool,
        scenario.old.rules,
    )
    assert Piece.objects.filter(match__in=new.matches.all()).count() == 2 * 3, "all samples of both matches"
    assert not set(new.matches.all()) & set(scenario.old.matches.all())
    before = scenario.env.table("model")
    scenario.play([3.0, 3.0, 3.0, 3.0, 3.0, 1.0])
    assert scenario.rejudging.state == "compared"
    assert scenario.env.table("model") == before
    assert evaluation_of(scenario.owls) == scenario.old
    (row,) = comparison(scenario.rejudging)
    assert (row.submission, row.team.slug, row.changed) == (scenario.owls, "owls", 2 * 5)
    assert (row.value_before, row.value_after, row.rank_before, row.rank_after) == (1.0, 3.0, 2, 1)

    publish_rejudging(rejudging=scenario.rejudging, by=olga, reason="it is correct now")
    assert scenario.rejudging.state == "published"
    assert [row[1] for row in scenario.env.table("model")] == ["owls", "doves"]
    assert evaluation_of(scenario.owls) == new
    told = Event.objects.filter(verb="score", subject=f"submission:{scenario.owls.pk}").order_by("-pk")[0]
    assert told.data == {"evaluation": new.pk}, "webhooks send it"
    scenario.old.refresh_from_db()
    assert (scenario.old.value, scenario.old.counts) == (1.0, True), "the old result is kept"
    assert verify_boards().differences == ()
    (row,) = comparison(scenario.rejudging)
    assert (row.rank_before, row.rank_after) == (2, 1)
    events = Event.objects.filter(subject=f"rejudging:{scenario.rejudging.pk}").order_by("pk")
    assert [(event.verb, event.by) for event in events] == [("rejudge", olga), ("compare", None), ("publish", olga)]


def test_a_rank_changes_when_a_set_is_published_and_not_when_it_was_played(
    scenario: Scenario, olga: User, the_clock: FakeClock
) -> None:
    scenario.play([3.0] * 6)
    the_clock.forward(hours=30)
    publish_rejudging(rejudging=scenario.rejudging, by=olga, reason="it is correct now")
    (shown, _) = public_scores(scenario.env.tracks["model"], 9, None)
    assert (shown.submission, shown.scored_at) == (scenario.owls, the_clock.at), "feeds list it as new"
    ranks = Standing.objects.order_by("rank").values_list("entry__team__slug", "rank", "previous_rank")
    assert list(ranks) == [("owls", 1, 2), ("doves", 2, 1)]


def test_a_discarded_one_changes_nothing_and_keeps_its_rows(scenario: Scenario, olga: User) -> None:
    before = list(Standing.objects.order_by("pk").values())
    first, second = scenario.new().matches.all()
    scenario.env.play(first, [9.0] * 6)
    discard_rejudging(rejudging=scenario.rejudging, by=olga, reason="not needed")
    second.refresh_from_db()
    assert (scenario.rejudging.state, second.state) == ("discarded", "cancelled")
    assert SampleResult.objects.filter(match=first).count() == 6
    sweep()
    refresh_boards()
    assert list(Standing.objects.order_by("pk").values()) == before
    new = scenario.new()
    assert (new.state, new.counts, new.reason) == ("void", False, "discarded")
    assert QuotaSlot.objects.get(submission=scenario.owls).state == "used"
    assert scenario.old.matches.filter(state="played").count() == 2


def test_it_starts_nothing_and_ends_nothing_else(scenario: Scenario) -> None:
    scenario.env.pool("untargeted", "stronger")
    assert set(unevaluated()) == {scenario.owls, scenario.doves}
    scenario.play([3.0] * 6)
    assert evaluation_of(scenario.owls) != scenario.new()
    assert verify_boards().scores == 2


def test_a_new_basis_supersedes_it(scenario: Scenario, olga: User) -> None:
    scenario.env.pool("untargeted", "stronger")
    sweep()
    scenario.play([3.0] * 6)
    publish_rejudging(rejudging=scenario.rejudging, by=olga, reason="right")
    assert Standing.objects.get(entry__team__slug="owls").evaluation == scenario.new()
    newest = evaluation_of(scenario.owls)
    assert newest is not None
    scenario.env.play(newest.matches.get(), [0.5] * 6)
    sweep()
    assert Standing.objects.get(entry__team__slug="owls").evaluation == newest


def test_later_evaluations_reuse_published_matches(scenario: Scenario, olga: User) -> None:
    scenario.play([3.0] * 6)
    publish_rejudging(rejudging=scenario.rejudging, by=olga, reason="right")
    again = services.re_evaluate(submission=scenario.owls, by=olga, reason="look")
    assert set(again.matches.all()) == set(scenario.new().matches.all())


def test_a_platform_error_blocks_it_until_it_is_replayed(scenario: Scenario, olga: User) -> None:
    first, second = scenario.new().matches.all()
    scenario.env.end(first, "failed", {})
    scenario.env.play(second, [3.0] * 6)
    sweep()
    scenario.rejudging.refresh_from_db()
    assert (scenario.rejudging.state, scenario.new().cause) == ("compared", "platform")
    assert QuotaSlot.objects.get(submission=scenario.owls).state == "used", "no slot is refunded"
    with pytest.raises(Refusal, match="a platform error ended") as caught:
        publish_rejudging(rejudging=scenario.rejudging, by=olga, reason="now")
    assert "Replay" in caught.value.fix
    replay_rejudging(rejudging=scenario.rejudging, by=olga, reason="fixed")
    assert scenario.rejudging.state == "playing"
    scenario.play([3.0] * 6)
    publish_rejudging(rejudging=scenario.rejudging, by=olga, reason="now")
    assert scenario.new().value == 3.0
    with pytest.raises(Refusal, match="is published"):
        replay_rejudging(rejudging=scenario.rejudging, by=olga, reason="again")


def test_one_that_is_void_by_its_team_leaves_the_board_when_it_is_published(scenario: Scenario, olga: User) -> None:
    for match in scenario.new().matches.all():
        scenario.env.end(match, "played", FICKLE)
    sweep()
    (row,) = comparison(scenario.rejudging)
    assert (row.value_after, row.rank_before, row.rank_after) == (None, 2, None)
    assert "not a stateless" in row.problem
    assert len(scenario.env.table("model")) == 2
    publish_rejudging(rejudging=scenario.rejudging, by=olga, reason="so it is")
    assert [row[1] for row in scenario.env.table("model")] == ["doves"]


def test_an_attack_is_rejudged_too_and_matches_are_shared(
    env: BoardFixture, entry: Entry, alice: User, olga: User, model_pool: Pool
) -> None:
    attacks = [
        env.submission(entry, "untargeted", alice),
        env.submission(env.entry("doves"), "untargeted", alice),
    ]
    Submission.objects.filter(pk=attacks[1].pk).update(player=attacks[0].player)
    for attack in attacks:
        env.score(attack, 2.0)
    rejudging = begin_rejudging(competition=env.competition, submissions=attacks, reason="all", by=olga)
    assert Match.objects.filter(repetition=rejudging.pk).count() == 2
    for match in Match.objects.filter(repetition=rejudging.pk):
        env.play(match, [1.0] * 6)
    sweep()
    assert [(row.value_after, row.changed) for row in comparison(rejudging)] == [(1.0, 12), (1.0, 12)]


def test_publication_during_frozen_leaderboards_is_hidden(scenario: Scenario, olga: User, the_clock: FakeClock) -> None:
    scenario.play([3.0] * 6)
    the_clock.forward(hours=1)
    freeze_leaderboards(competition=scenario.env.competition, by=olga, reason="the final")
    the_clock.forward(hours=1)
    publish_rejudging(rejudging=scenario.rejudging, by=olga, reason="right")
    owls = Submission.objects.get(pk=scenario.owls.pk)
    assert public_evaluation_of(owls) == scenario.old
    assert evaluation_of(owls) == scenario.new()


@pytest.mark.django_db(transaction=True)
def test_leaderboards_frozen_during_the_publication_hide_it(
    scenario: Scenario, olga: User, the_clock: FakeClock
) -> None:
    scenario.play([3.0] * 6)

    def publish() -> None:
        try:
            publish_rejudging(rejudging=Rejudging.objects.get(), by=olga, reason="right")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            the_clock.forward(hours=1)
            freeze_leaderboards(competition=scenario.env.competition, by=olga, reason="the final")
            published = threads.submit(publish)
            wait([published], timeout=1.0)  # it reaches the locked tracks meanwhile
            the_clock.forward(minutes=1)
        published.result()
    owls = Submission.objects.get(pk=scenario.owls.pk)
    assert (public_evaluation_of(owls), evaluation_of(owls)) == (scenario.old, scenario.new())


def test_a_playing_one_is_never_overdue(scenario: Scenario, the_clock: FakeClock) -> None:
    the_clock.forward(days=8)
    assert refund_overdue() == 0
    assert scenario.new().state == "playing"


def test_it_rejects_what_cannot_be_rejudged(scenario: Scenario, olga: User, alice: User) -> None:
    doves, owls = scenario.doves, scenario.owls

    def rejected(says: str, chosen: list[Submission], by: User = olga) -> None:
        with pytest.raises(Refusal, match=says):
            begin_rejudging(competition=scenario.env.competition, submissions=chosen, reason="no", by=by)
        assert Rejudging.objects.count() == 1, "all or nothing"

    rejected("only organisers", [doves], alice)
    rejected("no submission is chosen", [])
    rejected("is being rejudged", [doves, owls])
    flaws: dict[str, Callable[[], object]] = {
        "not ready, or disqualified": lambda: Submission.objects.filter(pk=doves.pk).update(
            disqualified_at=clock.now()
        ),
        "has no evaluation": lambda: doves.evaluations.update(counts=False),
        "is being evaluated": lambda: doves.evaluations.update(state="playing"),
    }
    for says, flaw in flaws.items():
        with transaction.atomic():
            flaw()
            rejected(says, [Submission.objects.get(pk=doves.pk)])
            transaction.set_rollback(True)


@pytest.mark.django_db(transaction=True)
def test_concurrent_publications_publish_it_once(scenario: Scenario, olga: User) -> None:
    scenario.play([3.0] * 6)

    def publish(_: int) -> bool:
        try:
            publish_rejudging(rejudging=Rejudging.objects.get(), by=olga, reason="now")
        except Refusal:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(publish, range(4))) == 1
    assert Event.objects.filter(verb="publish").count() == 1


def test_it_rejects_publication_before_its_end_and_actions_of_others(
    scenario: Scenario, alice: User, olga: User
) -> None:
    with pytest.raises(Refusal, match="is playing"):
        publish_rejudging(rejudging=scenario.rejudging, by=olga, reason="now")
    for act in (publish_rejudging, discard_rejudging, replay_rejudging):
        with pytest.raises(Refusal, match="only organisers"):
            act(rejudging=scenario.rejudging, by=alice, reason="please")
    with pytest.raises(Refusal, match="no match of it failed"):
        replay_rejudging(rejudging=scenario.rejudging, by=olga, reason="now")
