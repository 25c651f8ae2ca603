"""Evaluations that start or end during a rejudging, and evaluations that share its matches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import pytest
from django.db import connection, transaction

from accounts.models import User
from competitions.models import Entry
from core.errors import Refusal
from core.models import Event
from formats.query.leaderboards import scoring, services
from formats.query.leaderboards.models import Evaluation, Pool, PoolPlace, Rejudging, Resamples, Standing
from formats.query.leaderboards.rejudging import begin_rejudging, publish_rejudging, settle_rejudgings
from formats.query.leaderboards.rejudging_changes import comparison, scored_again
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.leaderboards.score_visibility import evaluation_of
from formats.query.leaderboards.scoring import recompute, refresh_boards, score_finished
from formats.query.leaderboards.tasks import sweep
from formats.query.matches.models import Match
from submissions.models import Submission
from submissions.services import disqualify, reinstate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from submissions.models import Player
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture

FICKLE = {"replayed": 20, "changed": 7, "judged": 6, "denied": 0, "fresh": 6, "fresh_changed": 0, "passed": False}


@pytest.fixture
def owl(env: BoardFixture, entry: Entry, alice: User, attack_pool: Pool) -> Submission:
    """The Owls' model with its score of 1."""
    owl = env.submission(entry, "model", alice)
    env.score(owl, 1.0)
    return owl


def begin(env: BoardFixture, by: User, *submissions: Submission, distance: float = 3.0) -> Rejudging:
    """Start a rejudging and play it to its end, with the same distance everywhere."""
    rejudging = begin_rejudging(
        competition=env.competition, submissions=submissions, reason="a worker was broken", by=by
    )
    play(env, Match.objects.filter(repetition=rejudging.pk), distance)
    settle_rejudgings()
    rejudging.refresh_from_db()
    assert rejudging.state == "compared"
    return rejudging


def play(env: BoardFixture, matches: Iterable[Match], distance: float) -> None:
    for match in matches:
        if match.state == "waiting":
            env.play(match, [distance] * 6)
    score_finished()


def renew_pool(env: BoardFixture, kind: str, *more: str, without: int = 0) -> Pool:
    """Make a new pool: the previous one without its first players, plus `more`."""
    players = [place.player for place in PoolPlace.objects.filter(pool=env.tracks[kind].pools.first())]
    players = [*players[without:], *(env.player(kind, title) for title in more)]
    return services.set_pool(track=env.tracks[kind], players=players, reason="a round")


def publish(rejudging: Rejudging, by: User) -> None:
    publish_rejudging(rejudging=rejudging, by=by, reason="it is correct now")
    score_finished()


def shown(submission: Submission) -> tuple[float | None, int | None]:
    """Return the value and rank on the leaderboard."""
    standing = Standing.objects.select_related("evaluation").get(entry=submission.repository.entry)
    return standing.evaluation.value, standing.rank


def test_nothing_is_measured_again_while_a_set_that_holds_it_is_open(
    env: BoardFixture, owl: Submission, olga: User
) -> None:
    rejudging = begin(env, olga, owl)
    with pytest.raises(Refusal, match="is being rejudged") as caught:
        services.re_evaluate(submission=owl, by=olga, reason="look")
    assert "publish or discard" in caught.value.fix
    publish(rejudging, olga)
    services.re_evaluate(submission=owl, by=olga, reason="look")
    score_finished()
    assert shown(owl) == (3.0, 1)


def test_a_pool_that_keeps_its_opponents_does_not_bring_back_what_was_replaced(
    env: BoardFixture, owl: Submission, olga: User
) -> None:
    rejudging = begin(env, olga, owl)
    renewed = renew_pool(env, "untargeted")
    sweep()
    score_finished()
    assert shown(owl) == (1.0, 1)
    publish(rejudging, olga)
    assert shown(owl) == (3.0, 1)
    newest = evaluation_of(owl)
    assert newest is not None
    assert newest.pool == renewed
    assert Event.objects.get(verb="publish").data["scored_again"] == [owl.pk]
    superseded = newest.replaces
    assert superseded is not None, "the old result is kept"
    assert (superseded.value, superseded.counts) == (1.0, True)


def test_what_plays_already_gets_the_new_matches_in_exchange(env: BoardFixture, owl: Submission, olga: User) -> None:
    rejudging = begin(env, olga, owl)
    renew_pool(env, "untargeted", "stronger", without=1)
    sweep()
    publish(rejudging, olga)
    assert shown(owl)[0] == 3.0
    play(env, Match.objects.filter(attack__title="stronger"), 4.0)
    assert shown(owl) == (3.0, 1)
    assert Event.objects.filter(verb="exchange").count() == 1


def test_a_score_that_was_computed_of_replaced_matches_is_not_written(
    env: BoardFixture, owl: Submission, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejudging = begin(env, olga, owl)
    renew_pool(env, "untargeted")
    services.evaluate(owl)
    compute = scoring._ending

    def interrupted(evaluation: Evaluation) -> scoring._Ending:
        ending = compute(evaluation)
        if rejudging.state == "compared":
            publish_rejudging(rejudging=rejudging, by=olga, reason="between computing and writing")
        return ending

    monkeypatch.setattr(scoring, "_ending", interrupted)
    assert score_finished() == 0
    assert score_finished() == 1
    assert shown(owl) == (3.0, 1)


@pytest.mark.django_db(transaction=True)
def test_an_evaluation_that_starts_while_the_set_is_published_waits_for_it(
    env: BoardFixture, owl: Submission, olga: User
) -> None:
    rejudging = begin(env, olga, owl)
    renew_pool(env, "untargeted")

    def evaluate() -> None:
        try:
            services.evaluate(owl)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            publish_rejudging(rejudging=rejudging, by=olga, reason="now")
            begun = threads.submit(evaluate)
            wait([begun], timeout=1.0)  # it reaches the locked competition meanwhile
        begun.result()
    score_finished()
    assert shown(owl) == (3.0, 1)


@pytest.fixture
def both(env: BoardFixture, entry: Entry, alice: User) -> tuple[Submission, Submission]:
    """A model and an attack of two teams, each in the pool that the other meets, with scores of 1."""
    model = env.submission(entry, "model", alice)
    attack = env.submission(env.entry("doves"), "untargeted", alice)
    for submission, kind in ((model, "model"), (attack, "untargeted")):
        player: Player | None = submission.player
        assert player is not None
        services.set_pool(track=env.tracks[kind], players=[player], reason="a round")
    for submission in (model, attack):
        env.score(submission, 1.0)
    return model, attack


def test_one_pair_has_one_result_on_two_boards(
    env: BoardFixture, both: tuple[Submission, Submission], olga: User
) -> None:
    model, attack = both
    rejudging = begin(env, olga, model)
    assert (shown(model), shown(attack)) == ((1.0, 1), (1.0, 1))
    publish(rejudging, olga)
    assert (shown(model), shown(attack)) == ((3.0, 1), (3.0, 1))
    assert Event.objects.get(verb="publish").data["scored_again"] == [attack.pk]


def test_sets_that_share_a_match_end_with_the_newest_of_each_pair(
    env: BoardFixture, both: tuple[Submission, Submission], olga: User
) -> None:
    model, attack = both
    first = begin(env, olga, model, distance=3.0)
    second = begin(env, olga, attack, distance=5.0)
    publish(second, olga)
    assert (shown(model), shown(attack)) == ((5.0, 1), (5.0, 1))
    publish(first, olga)
    assert (shown(model), shown(attack)) == ((5.0, 1), (5.0, 1))


def test_a_score_on_an_earlier_basis_never_hides_a_later_one(env: BoardFixture, owl: Submission, olga: User) -> None:
    doves = env.submission(env.entry("doves"), "untargeted", owl.submitted_by)
    assert doves.player is not None
    assert owl.player is not None
    services.set_pool(track=env.tracks["untargeted"], players=[doves.player], reason="a round")
    sweep()  # the Owls have an old score and one that plays against the Doves' attack
    services.set_pool(track=env.tracks["model"], players=[owl.player], reason="a round")
    noise = Match.objects.get(attack__title="noise").attack
    shared = env.submission(env.entry("geese"), "untargeted", owl.submitted_by)
    Submission.objects.filter(pk=shared.pk).update(player=noise)
    env.score(shared, 1.0)
    rejudging = begin(env, olga, shared, distance=0.5)  # it replaces the old match of the Owls against noise
    publish(rejudging, olga)
    assert shown(owl) == (0.5, None), "the old score follows, too"
    play(env, Match.objects.filter(attack=doves.player), 4.0)
    assert shown(owl) == (4.0, 1)
    assert evaluation_of(owl) == Standing.objects.get(entry=owl.repository.entry).evaluation


def test_a_model_found_inconsistent_by_a_replaced_match_counts_again(
    env: BoardFixture, owl: Submission, olga: User
) -> None:
    renew_pool(env, "untargeted", "stronger", without=2)
    renew_pool(env, "untargeted", "other")
    sweep()
    evaluation = evaluation_of(owl)
    assert evaluation is not None
    for match in evaluation.matches.all():
        env.end(match, "played", FICKLE)
    score_finished()
    assert not Standing.objects.exists()
    publish(begin(env, olga, owl), olga)
    assert shown(owl) == (3.0, 1)


def test_a_reinstated_submission_has_the_new_score(env: BoardFixture, owl: Submission, olga: User) -> None:
    rejudging = begin(env, olga, owl)
    renew_pool(env, "untargeted")
    sweep()
    score_finished()
    disqualify(submission=owl, by=olga, reason="we look into it")
    publish(rejudging, olga)
    reinstate(submission=owl, by=olga, reason="all is well")
    refresh_boards()
    assert shown(owl) == (3.0, 1)


def test_the_sweep_finds_what_was_missed_and_does_it_once(env: BoardFixture, owl: Submission, olga: User) -> None:
    rejudging = begin(env, olga, owl)
    renew_pool(env, "untargeted")
    sweep()
    score_finished()
    rejudging.evaluations.update(counts=True)
    Rejudging.objects.update(state="published", settled_at=rejudging.made_at)  # as before it was done in one step
    assert shown(owl) == (1.0, 1)
    sweep()
    sweep()
    assert shown(owl) == (3.0, 1)
    assert Event.objects.filter(verb="supersede").count() == 1
    count = Evaluation.objects.count()
    sweep()
    assert Evaluation.objects.count() == count


def test_a_verification_finds_an_evaluation_that_brings_back_what_was_replaced(
    env: BoardFixture, owl: Submission, olga: User
) -> None:
    old = owl.evaluations.get()
    publish(begin(env, olga, owl), olga)
    assert verify_boards().differences == ()
    # planted: an evaluation that started before the set was published and was numbered later
    later = Evaluation.objects.get(pk=old.pk)
    later.pk = None
    later.save()
    later.matches.set(old.matches.all())
    Resamples.objects.create(evaluation=later, medians=old.resamples.medians)
    recompute(env.tracks["model"])
    assert shown(owl) == (1.0, 1)
    (difference,) = verify_boards().differences
    assert difference.subject == f"{later} of {owl}"
    assert "it uses matches that a rejudging replaced" in difference.problem
    verify_boards(repair=True)
    assert shown(owl) == (3.0, 1)
    assert verify_boards().differences == ()


def test_a_verification_finds_a_pair_with_two_results(
    env: BoardFixture, both: tuple[Submission, Submission], olga: User
) -> None:
    model, attack = both
    publish(begin(env, olga, model), olga)
    Standing.objects.filter(entry=attack.repository.entry).delete()
    attack.evaluations.filter(replaces__isnull=False).delete()  # as the other leaderboard was left before
    recompute(env.tracks["untargeted"])
    assert (shown(model), shown(attack)) == ((3.0, 1), (1.0, 1))
    (difference,) = verify_boards(repair=True).differences
    assert f"of {attack}" in difference.subject
    assert (shown(model), shown(attack)) == ((3.0, 1), (3.0, 1))


def test_the_comparison_names_what_is_scored_again(
    env: BoardFixture, both: tuple[Submission, Submission], olga: User
) -> None:
    model, attack = both
    rejudging = begin(env, olga, model)
    assert [row.submission for row in comparison(rejudging)] == [model]
    assert scored_again(rejudging) == [attack]
    publish(rejudging, olga)
    assert scored_again(rejudging) == []
