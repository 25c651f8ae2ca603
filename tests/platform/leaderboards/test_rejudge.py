"""Rejudging: submissions are played once more, compared, and applied or dropped as a whole."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, NamedTuple

import pytest
from django.db import connection, transaction

from accounts.models import User
from competitions.models import Entry
from core import clock
from core.errors import Refusal
from core.models import Event
from leaderboards import services
from leaderboards.models import Evaluation, Pool, Rejudging, Standing
from leaderboards.selectors import comparison, evaluation_of, public_evaluation_of, unevaluated
from leaderboards.tasks import sweep
from matches.models import Match, Piece, SampleResult
from submissions.models import QuotaSlot, Submission

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.platform.conftest import FakeClock
    from tests.platform.leaderboards.conftest import Arena

FICKLE = {"replayed": 20, "changed": 7, "judged": 6, "denied": 0, "fresh": 6, "fresh_changed": 0, "passed": False}


class Stage(NamedTuple):
    """The Owls' model with its score of 1, the Doves' with 2, and a rejudging of the Owls' one."""

    arena: Arena
    owls: Submission
    doves: Submission
    old: Evaluation
    rejudging: Rejudging

    def play(self, distances: Sequence[float]) -> None:
        for match in Match.objects.filter(repetition=self.rejudging.pk, state="waiting"):
            self.arena.play(match, distances)
        sweep()
        self.rejudging.refresh_from_db()

    def new(self) -> Evaluation:
        return self.rejudging.evaluations.get(submission=self.owls)


@pytest.fixture
def stage(arena: Arena, entry: Entry, alice: User, olga: User, attack_pool: Pool, the_clock: FakeClock) -> Stage:
    owls = arena.submission(entry, "model", alice)
    old = arena.score(owls, 1.0)
    doves = arena.submission(arena.entry("doves"), "model", alice)
    arena.score(doves, 2.0)
    the_clock.forward(hours=1)
    rejudging = services.begin_rejudging(
        competition=arena.competition, submissions=[owls], reason="a worker was broken", by=olga
    )
    return Stage(arena, owls, doves, old, rejudging)


def test_it_works(stage: Stage, olga: User) -> None:
    new = stage.new()
    assert (new.replaces, new.counts, new.pool, new.rules) == (stage.old, False, stage.old.pool, stage.old.rules)
    assert Piece.objects.filter(match__in=new.matches.all()).count() == 2 * 3, "all samples of both matches"
    assert not set(new.matches.all()) & set(stage.old.matches.all())
    before = stage.arena.table("model")
    stage.play([3.0, 3.0, 3.0, 3.0, 3.0, 1.0])
    assert stage.rejudging.state == "compared"
    assert stage.arena.table("model") == before
    assert evaluation_of(stage.owls) == stage.old
    (row,) = comparison(stage.rejudging)
    assert (row.submission, row.team.slug, row.changed) == (stage.owls, "owls", 2 * 5)
    assert (row.value_before, row.value_after, row.rank_before, row.rank_after) == (1.0, 3.0, 2, 1)

    services.publish_rejudging(rejudging=stage.rejudging, by=olga, reason="it is right now")
    assert stage.rejudging.state == "published"
    assert [row[1] for row in stage.arena.table("model")] == ["owls", "doves"]
    assert evaluation_of(stage.owls) == new
    stage.old.refresh_from_db()
    assert (stage.old.value, stage.old.counts) == (1.0, True), "the old result is kept"
    assert services.verify_boards().differences == ()
    (row,) = comparison(stage.rejudging)
    assert (row.rank_before, row.rank_after) == (2, 1)
    events = Event.objects.filter(subject=f"rejudging:{stage.rejudging.pk}").order_by("pk")
    assert [(event.verb, event.by) for event in events] == [("rejudge", olga), ("compare", None), ("apply", olga)]


def test_a_rank_changes_when_a_set_is_applied_and_not_when_it_was_played(
    stage: Stage, olga: User, the_clock: FakeClock
) -> None:
    stage.play([3.0] * 6)
    the_clock.forward(hours=30)
    services.publish_rejudging(rejudging=stage.rejudging, by=olga, reason="it is right now")
    ranks = Standing.objects.order_by("rank").values_list("entry__team__slug", "rank", "previous_rank")
    assert list(ranks) == [("owls", 1, 2), ("doves", 2, 1)]


def test_a_dropped_one_changes_nothing_and_keeps_its_rows(stage: Stage, olga: User) -> None:
    before = list(Standing.objects.order_by("pk").values())
    first, second = stage.new().matches.all()
    stage.arena.play(first, [9.0] * 6)
    services.discard_rejudging(rejudging=stage.rejudging, by=olga, reason="not needed")
    second.refresh_from_db()
    assert (stage.rejudging.state, second.state) == ("discarded", "cancelled")
    assert SampleResult.objects.filter(match=first).count() == 6
    sweep()
    services.refresh_boards()
    assert list(Standing.objects.order_by("pk").values()) == before
    new = stage.new()
    assert (new.state, new.counts, new.reason) == ("void", False, "discarded")
    assert QuotaSlot.objects.get(submission=stage.owls).state == "used"
    assert stage.old.matches.filter(state="played").count() == 2


def test_it_measures_nothing_by_itself_and_ends_nothing_else(stage: Stage) -> None:
    stage.arena.pool("untargeted", "stronger")
    assert set(unevaluated()) == {stage.owls, stage.doves}
    stage.play([3.0] * 6)
    assert evaluation_of(stage.owls) != stage.new()
    assert services.verify_boards().scores == 2


def test_terms_that_came_meanwhile_supersede_it(stage: Stage, olga: User) -> None:
    stage.arena.pool("untargeted", "stronger")
    sweep()
    stage.play([3.0] * 6)
    services.publish_rejudging(rejudging=stage.rejudging, by=olga, reason="right")
    assert Standing.objects.get(entry__team__slug="owls").evaluation == stage.new()
    newest = evaluation_of(stage.owls)
    assert newest is not None
    stage.arena.play(newest.matches.get(), [0.5] * 6)
    sweep()
    assert Standing.objects.get(entry__team__slug="owls").evaluation == newest


def test_what_is_applied_is_what_later_evaluations_reuse(stage: Stage, olga: User) -> None:
    stage.play([3.0] * 6)
    services.publish_rejudging(rejudging=stage.rejudging, by=olga, reason="right")
    again = services.re_evaluate(submission=stage.owls, by=olga, reason="look")
    assert set(again.matches.all()) == set(stage.new().matches.all())


def test_our_failure_blocks_it_until_it_is_replayed(stage: Stage, olga: User) -> None:
    first, second = stage.new().matches.all()
    stage.arena.end(first, "failed", {})
    stage.arena.play(second, [3.0] * 6)
    sweep()
    stage.rejudging.refresh_from_db()
    assert (stage.rejudging.state, stage.new().cause) == ("compared", "platform")
    assert QuotaSlot.objects.get(submission=stage.owls).state == "used", "no slot is given back"
    with pytest.raises(Refusal, match="our side failed") as caught:
        services.publish_rejudging(rejudging=stage.rejudging, by=olga, reason="now")
    assert "Replay" in caught.value.fix
    services.replay_rejudging(rejudging=stage.rejudging, by=olga, reason="mended")
    assert stage.rejudging.state == "playing"
    stage.play([3.0] * 6)
    services.publish_rejudging(rejudging=stage.rejudging, by=olga, reason="now")
    assert stage.new().value == 3.0
    with pytest.raises(Refusal, match="is published"):
        services.replay_rejudging(rejudging=stage.rejudging, by=olga, reason="again")


def test_one_that_is_void_by_its_team_leaves_the_board_when_it_is_applied(stage: Stage, olga: User) -> None:
    for match in stage.new().matches.all():
        stage.arena.end(match, "played", FICKLE)
    sweep()
    (row,) = comparison(stage.rejudging)
    assert (row.value_after, row.rank_before, row.rank_after) == (None, 2, None)
    assert "not a stateless" in row.problem
    assert len(stage.arena.table("model")) == 2
    services.publish_rejudging(rejudging=stage.rejudging, by=olga, reason="so it is")
    assert [row[1] for row in stage.arena.table("model")] == ["doves"]


def test_an_attack_is_rejudged_too_and_matches_are_shared(
    arena: Arena, entry: Entry, alice: User, olga: User, model_pool: Pool
) -> None:
    attacks = [
        arena.submission(entry, "untargeted", alice),
        arena.submission(arena.entry("doves"), "untargeted", alice),
    ]
    Submission.objects.filter(pk=attacks[1].pk).update(player=attacks[0].player)
    for attack in attacks:
        arena.score(attack, 2.0)
    rejudging = services.begin_rejudging(competition=arena.competition, submissions=attacks, reason="all", by=olga)
    assert Match.objects.filter(repetition=rejudging.pk).count() == 2
    for match in Match.objects.filter(repetition=rejudging.pk):
        arena.play(match, [1.0] * 6)
    sweep()
    assert [(row.value_after, row.changed) for row in comparison(rejudging)] == [(1.0, 12), (1.0, 12)]


def test_what_is_applied_while_boards_stand_still_is_hidden(stage: Stage, olga: User, the_clock: FakeClock) -> None:
    stage.play([3.0] * 6)
    the_clock.forward(hours=1)
    services.freeze_leaderboards(competition=stage.arena.competition, by=olga, reason="the final")
    the_clock.forward(hours=1)
    services.publish_rejudging(rejudging=stage.rejudging, by=olga, reason="right")
    owls = Submission.objects.get(pk=stage.owls.pk)
    assert public_evaluation_of(owls) == stage.old
    assert evaluation_of(owls) == stage.new()


@pytest.mark.django_db(transaction=True)
def test_boards_that_come_to_stand_still_while_it_is_applied_hide_it(
    stage: Stage, olga: User, the_clock: FakeClock
) -> None:
    stage.play([3.0] * 6)

    def apply() -> None:
        try:
            services.publish_rejudging(rejudging=Rejudging.objects.get(), by=olga, reason="right")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            the_clock.forward(hours=1)
            services.freeze_leaderboards(competition=stage.arena.competition, by=olga, reason="the final")
            applied = threads.submit(apply)
            wait([applied], timeout=1.0)  # it comes to the locked tracks meanwhile
            the_clock.forward(minutes=1)
        applied.result()
    owls = Submission.objects.get(pk=stage.owls.pk)
    assert (public_evaluation_of(owls), evaluation_of(owls)) == (stage.old, stage.new())


def test_a_playing_one_is_never_overdue(stage: Stage, the_clock: FakeClock) -> None:
    the_clock.forward(days=8)
    sweep()
    assert stage.new().state == "playing"


@pytest.mark.parametrize("flaw", ["stranger", "none", "rejudged", "disqualified", "unmeasured", "playing"])
def test_it_rejects_what_cannot_be_rejudged(stage: Stage, olga: User, alice: User, flaw: str) -> None:
    chosen, by = [stage.doves], olga
    if flaw == "stranger":
        by = alice
    elif flaw == "none":
        chosen = []
    elif flaw == "rejudged":
        chosen = [stage.doves, stage.owls]
    elif flaw == "disqualified":
        Submission.objects.filter(pk=stage.doves.pk).update(disqualified_at=clock.now())
    elif flaw == "unmeasured":
        stage.doves.evaluations.all().update(counts=False)
    else:
        stage.doves.evaluations.update(state="playing")
    says = {
        "stranger": "only organisers",
        "none": "no submission is chosen",
        "rejudged": "is being rejudged",
        "disqualified": "not ready, or disqualified",
        "unmeasured": "was never measured",
        "playing": "is being evaluated",
    }
    with pytest.raises(Refusal, match=says[flaw]):
        services.begin_rejudging(competition=stage.arena.competition, submissions=chosen, reason="no", by=by)
    assert Rejudging.objects.count() == 1, "whole or not at all"


@pytest.mark.django_db(transaction=True)
def test_two_who_apply_at_once_apply_it_once(stage: Stage, olga: User) -> None:
    stage.play([3.0] * 6)

    def apply(_: int) -> bool:
        try:
            services.publish_rejudging(rejudging=Rejudging.objects.get(), by=olga, reason="now")
        except Refusal:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(apply, range(4))) == 1
    assert Event.objects.filter(verb="apply").count() == 1


def test_it_rejects_applying_before_it_is_played_and_acts_of_others(stage: Stage, alice: User, olga: User) -> None:
    with pytest.raises(Refusal, match="is playing"):
        services.publish_rejudging(rejudging=stage.rejudging, by=olga, reason="now")
    for act in (services.publish_rejudging, services.discard_rejudging, services.replay_rejudging):
        with pytest.raises(Refusal, match="only organisers"):
            act(rejudging=stage.rejudging, by=alice, reason="please")
    with pytest.raises(Refusal, match="nothing of it failed"):
        services.replay_rejudging(rejudging=stage.rejudging, by=olga, reason="now")
