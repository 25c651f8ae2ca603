"""Publishing a result: the pools become what the preview shows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.base import File
from django.db import OperationalError, connection, connections, transaction
from rich.console import Console

from accounts.models import Team
from competitions.models import Competition, SampleSet
from competitions.sample_set_selectors import overlapping, sample_set_for
from competitions.sample_store import keep_samples
from competitions.selectors import rules_in_force
from core.errors import Refusal
from core.models import Event
from core.object_store import ObjectFolder
from evaluation.formats.query.rules import QueryRules
from formats.query.demo.printed_tables import print_preview
from formats.query.leaderboards.evaluation_basis import basis_in_force
from formats.query.leaderboards.models import Evaluation, Snapshot, Standing
from formats.query.leaderboards.services import set_pool
from formats.query.matches.models import Match
from formats.query.rounds.competition_verification import differing_pools
from formats.query.rounds.models import Decision
from formats.query.rounds.preview import preview
from rounds.models import Round
from rounds.publishing.preview import preview_digest
from rounds.publishing.publication import publish
from rounds.running.dashboard_data import dashboard
from submissions import services as submissions
from submissions.models import Player, Submission

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import RoundFixture


def after(round_: Round) -> dict[str, list[str]]:
    return {view.track.name: [player.title for player in view.pool_after] for view in preview(round_)}


def test_publishing_makes_the_previewed_pools_and_keeps_a_snapshot_of_each_board(env: RoundFixture) -> None:
    env.field(7, 6, 2)
    old = [env.player("targeted", number) for number in (7, 8)]
    set_pool(track=env.tracks["targeted"], players=old, reason="a test")
    round_ = env.scored(env.plan(samples=8))
    expected = after(round_)
    assert expected == {
        "model": [f"model {number}" for number in range(5)],
        "untargeted": [f"untargeted {number}" for number in range(5)],
        "targeted": ["targeted 0", "targeted 1", "targeted 7", "targeted 8"],  # filled up from the pool in force
    }
    publish(round_=round_, by=env.organiser, reason="as it should be")
    assert {kind: env.pool(kind) for kind in env.tracks} == expected
    assert [snapshot.track.name for snapshot in Snapshot.objects.order_by("pk")] == list(expected)
    assert Event.objects.filter(verb="make", by=env.organiser).count() == 3


def test_entries_gone_since_the_freeze_join_no_pool(env: RoundFixture) -> None:
    env.field(7, 3)
    env.submission("twin", "model", 2)  # the same content as mo-2's
    set_pool(track=env.tracks["model"], players=[env.player("model", 0)], reason="a test")
    round_ = env.scored(env.plan(samples=8))
    Submission.objects.filter(title="mo-0 0").update(state="withdrawn")
    Submission.objects.filter(title="mo-1 1").update(disqualified_at=env.clock.at)
    Submission.objects.filter(title="mo-2 2").update(state="withdrawn")
    models = next(view for view in preview(round_) if view.track.name == "model")
    assert [player.title for player in models.pool_after] == [f"model {number}" for number in (2, 3, 4, 5, 6)]
    gone = {row.title: row.gone for row in models.rows if row.gone}
    assert gone == {"mo-0 0": "withdrawn", "mo-1 1": "disqualified", "mo-2 2": "withdrawn"}
    publish(round_=round_, by=env.organiser)
    assert env.pool("model") == [player.title for player in models.pool_after]


@pytest.mark.parametrize("gone", ["disqualified", "withdrawn"])
def test_players_gone_before_the_freeze_do_not_return_to_a_filled_up_pool(env: RoundFixture, gone: str) -> None:
    old = env.submission("owls", "model", 9)
    Player.objects.filter(submissions=old).update(repository=old.repository, baseline="")
    set_pool(track=env.tracks["model"], players=[env.player("model", n) for n in (9, 8)], reason="a test")
    if gone == "withdrawn":
        Submission.objects.filter(pk=old.pk).update(state=Submission.State.WITHDRAWN)
    else:
        submissions.disqualify(submission=old, by=env.organiser, reason="it cheats")
    env.field(2, 2)
    round_ = env.scored(env.plan(samples=8))
    assert after(round_)["model"] == ["model 0", "model 1", "model 8"]


def test_the_current_pool_comes_before_players_without_opponents(env: RoundFixture) -> None:
    env.submission("owls", "model", 1)
    env.submission("bats", "model", 2)
    env.submission("bats", "untargeted", 1)  # meets owls
    env.submission("cats", "untargeted", 2)
    env.submission("owls", "targeted", 1)
    env.submission("bats", "targeted", 2)
    old = [env.player("model", number) for number in (7, 2)]
    set_pool(track=env.tracks["model"], players=old, reason="a test")
    round_ = env.scored(env.plan(samples=8))
    assert after(round_)["model"] == ["model 1", "model 2", "model 7"]
    # as it is for a model whose only attacks were of its own teams
    Decision.objects.filter(player__title="model 2").update(value=None)
    assert after(round_)["model"] == ["model 1", "model 7", "model 2"]
    for title in ("model 1", "model 2"):
        set_pool(track=env.tracks["model"], players=old[:1], reason="a test")
        Decision.objects.filter(player__title=title).update(value=None)
    assert after(round_)["model"] == ["model 7", "model 1", "model 2"]


def test_models_that_are_wrong_on_most_clean_images_join_no_pool(env: RoundFixture) -> None:
    env.field(3, 2)
    set_pool(track=env.tracks["model"], players=[env.player("model", 9)], reason="a test")
    round_ = env.scored(env.plan(samples=8))
    Decision.objects.filter(player__title__in=["model 1", "model 2"]).update(value=0.0)
    assert after(round_)["model"] == ["model 0", "model 9"]
    publish(round_=round_, by=env.organiser)
    assert env.pool("model") == ["model 0", "model 9"]
    assert list(differing_pools(Competition.objects.all())) == []
    Decision.objects.filter(player__title="model 0").update(value=0.0)
    set_pool(track=env.tracks["model"], players=[env.player("model", 0)], reason="a test")
    assert after(round_)["model"] == ["model 0", "model 1", "model 2"], "there is nothing better"


@pytest.mark.django_db(transaction=True)
def test_disqualifications_wait_while_the_pools_are_made(env: RoundFixture) -> None:
    env.field(2, 2)
    round_ = env.scored(env.plan(samples=8))
    submission = Submission.objects.get(title="mo-0 0")

    def disqualify() -> None:
        try:
            submissions.disqualify(submission=submission, by=env.organiser, reason="it cheats")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            publish(round_=round_, by=env.organiser)
            judged = pool.submit(disqualify)
            wait([judged], timeout=1.0)  # it ends in time only where it does not wait for the pools
            assert not judged.done()
        judged.result()
    submission.refresh_from_db()
    assert submission.disqualified_at is not None


def test_a_failed_audit_is_shown(env: RoundFixture) -> None:
    env.field(3, 3)
    round_ = env.scored(env.plan(samples=8))
    for match in Match.objects.filter(model__title="model 1")[:2]:
        Match.objects.filter(pk=match.pk).update(audit={"changed": 9, "passed": False})
    views = preview(round_)
    remarks = [("mo-0 0", ""), ("mo-1 1", "failed its audit in 2 matches"), ("mo-2 2", "")]
    assert [(row.title, row.remark) for row in views[0].rows] == remarks
    console = Console(file=StringIO(), record=True, width=200)
    print_preview("R", views, console)
    assert console.export_text().count("failed its audit in 2 matches") == 1, "the demo prints it too"


def test_it_rejects_an_outdated_preview(env: RoundFixture) -> None:
    env.field(7, 3)
    round_ = env.scored(env.plan(samples=8))
    of = {row.title: row for row in Submission.objects.all()}
    failed = Match.objects.filter(model__title="model 1").earliest("pk")
    other = [env.player("untargeted", 9)]

    def withdraw() -> None:
        Submission.objects.filter(title="mo-2 2").update(state="withdrawn")

    changes: list[Callable[[], object]] = [
        lambda: submissions.disqualify(submission=of["mo-0 0"], by=env.organiser, reason="it cheats"),
        lambda: submissions.reinstate(submission=of["mo-0 0"], by=env.organiser, reason="it does not"),
        withdraw,
        lambda: Match.objects.filter(pk=failed.pk).update(audit={"changed": 9, "passed": False}),
        lambda: set_pool(track=env.tracks["untargeted"], players=other, reason="a test"),
        lambda: Round.objects.filter(pk=round_.pk).update(outcome="0" * 64),
    ]
    for change in changes:
        seen = preview_digest(round_, preview(round_))
        change()
        with pytest.raises(Refusal, match="is out of date") as refusal:
            publish(round_=round_, by=env.organiser, previewed=seen)
        assert "check the preview again" in refusal.value.fix
        round_.refresh_from_db()
        assert (round_.state, env.pool("model")) == ("scored", [])
    publish(round_=round_, by=env.organiser, previewed=preview_digest(round_, preview(round_)))
    assert env.pool("model") == [f"model {number}" for number in (0, 1, 3, 4, 5)]


def test_leaderboard_changes_do_not_change_the_preview(env: RoundFixture) -> None:
    env.field(3, 3)
    round_ = env.scored(env.plan(samples=8))
    pool = set_pool(track=env.tracks["targeted"], players=[env.player("targeted", 1)], reason="a test")
    seen = preview_digest(round_, preview(round_))
    submission = Submission.objects.get(title="mo-2 2")
    evaluation = Evaluation.objects.create(
        submission=submission,
        pool=pool,
        sample_set=env.sources["validation"],
        rules=rules_in_force(env.competition),
        created_at=env.clock.at,
        finished_at=env.clock.at,
    )
    entry = submission.repository.entry
    Standing.objects.create(track=env.tracks["model"], entry=entry, evaluation=evaluation, rank=1)
    Team.objects.filter(pk=entry.team_id).update(name="Renamed")
    assert next(row for view in preview(round_) for row in view.rows if row.rank_before == 1).team == "Renamed"
    publish(round_=round_, by=env.organiser, previewed=seen)
    assert env.pool("model") == [f"model {number}" for number in range(3)]


def test_a_track_where_nobody_played_keeps_its_pool(env: RoundFixture) -> None:
    env.field(3, 3)
    old = set_pool(track=env.tracks["targeted"], players=[env.player("targeted", 7)], reason="a test")
    round_ = env.scored(env.plan(samples=8))
    publish(round_=round_, by=env.organiser)
    assert env.tracks["targeted"].pools.get() == old


def test_it_changes_nothing_where_one_pool_cannot_be_made(env: RoundFixture) -> None:
    env.field(3, 3)
    round_ = env.scored(env.plan(samples=8))
    for entry in round_.entries.filter(track__name="untargeted"):
        Submission.objects.filter(pk=entry.submission_id).update(state="withdrawn")
    with pytest.raises(Refusal, match="the untargeted pool would be empty"):
        publish(round_=round_, by=env.organiser)
    round_.refresh_from_db()
    assert round_.state == "scored"
    assert env.pool("model") == []


def test_with_the_pools_a_new_validation_set_comes_into_force(env: RoundFixture) -> None:
    env.field(3, 3)
    before = basis_in_force(env.tracks["model"])
    round_ = env.scored(env.plan(samples=8))
    publish(round_=round_, by=env.organiser)
    assert before is None
    basis = basis_in_force(env.tracks["model"])
    assert basis is not None
    assert (basis.sample_set.name, basis.sample_set.replaces) == ("validation-2", env.sources["validation"])
    secret = [row for row in env.competition.sample_sets.all() if row != basis.sample_set]
    assert len(secret) == 5
    assert overlapping(basis.sample_set, secret) is None
    assert round_.problem == ""


def test_a_result_is_published_where_the_data_set_has_no_further_images(env: RoundFixture) -> None:
    env.field(3, 3)
    digest, _ = keep_samples(
        source="digits",
        split="validation",
        count=200,
        target_seed=7,
        rules=rules_in_force(env.competition).rules_as(QueryRules),
    )
    SampleSet.objects.filter(name="validation").update(digest=digest, count=200)
    round_ = env.scored(env.plan(samples=8))
    publish(round_=round_, by=env.organiser)
    assert round_.state == "published"
    assert env.pool("model") != []
    assert sample_set_for(env.competition, "validation") == env.sources["validation"]
    why = "the split 'validation' of digits has only 0 images outside all sample sets, but 200 are needed"
    assert why in round_.problem
    assert why in Event.objects.get(verb="keep_validation_set").reason
    assert dashboard(round_).problem == round_.problem


@pytest.mark.parametrize("kind", ["SELECT", "INSERT"])
def test_a_failure_of_the_database_costs_no_new_validation_set(env: RoundFixture, kind: str) -> None:
    """Publishing fails as a whole, and the organiser tries again."""
    env.field(3, 3)
    round_ = env.scored(env.plan(samples=8))

    def fail(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if "competitions_sampleset" in sql and sql.startswith(kind):
            raise OperationalError("the database is shutting down")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail), pytest.raises(OperationalError):
        publish(round_=round_, by=env.organiser)
    round_.refresh_from_db()
    assert round_.state == "scored"
    publish(round_=round_, by=env.organiser)
    assert round_.problem == ""
    assert sample_set_for(env.competition, "validation") != env.sources["validation"]


def test_an_object_store_that_fails_once_costs_no_new_validation_set(
    env: RoundFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.field(3, 3)
    round_ = env.scored(env.plan(samples=8))
    save, failures = ObjectFolder._save, [OSError("an input/output error")]

    def fail(store: ObjectFolder, name: str, content: File[bytes]) -> str:
        if failures:
            raise failures.pop()
        return save(store, name, content)

    monkeypatch.setattr(ObjectFolder, "_save", fail)
    publish(round_=round_, by=env.organiser)
    assert (round_.problem, failures) == ("", [])


def test_a_competition_can_keep_its_validation_set(env: RoundFixture) -> None:
    env.field(3, 3)
    Competition.objects.update(new_validation_set=False)
    round_ = env.scored(env.plan(samples=8))
    publish(round_=round_, by=env.organiser)
    assert sample_set_for(env.competition, "validation") == env.sources["validation"]
    assert (round_.state, round_.problem) == ("published", "")


def test_nothing_is_drawn_for_a_result_that_cannot_be_published(env: RoundFixture) -> None:
    env.field(3, 3)
    round_ = env.scored(env.plan(samples=8))
    for entry in round_.entries.filter(track__name="untargeted"):
        Submission.objects.filter(pk=entry.submission_id).update(state="withdrawn")
    with pytest.raises(Refusal, match="the untargeted pool would be empty"):
        publish(round_=round_, by=env.organiser)
    assert sample_set_for(env.competition, "validation") == env.sources["validation"]
