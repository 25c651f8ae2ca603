"""Acts on a round that happen at the same time, each in a thread of its own: the outcome is that of some order of them.

`GAUNTLET_RACES` says how often each race is run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connection

from accounts.models import User
from accounts.services import create_team
from competitions.models import Competition, Organiser
from competitions.services import enter, import_competition
from core import clock, event_log
from core.errors import Refusal
from core.models import Event
from formats.transfer.rounds import standings as transfer_standings
from formats.transfer.rounds.competition_verification import differing_places
from formats.transfer.tournaments import run_queue, services, tasks
from formats.transfer.tournaments.models import AttackRun, DefenceRun
from formats.transfer.tournaments.selectors import AnyRun, current_entrants
from formats.transfer.tournaments.tournament_verification import differing
from formats.transfer.tracks import ATTACK_TRACKS
from repositories.models import Repository
from rounds.formats import format_of
from rounds.models import Round
from rounds.publishing.licence_review import refuse_licence
from rounds.publishing.preview import preview_digest
from rounds.publishing.publication import publish
from rounds.running import lifecycle as rounds
from submissions import services as submissions
from submissions.models import Player, Submission
from tests.platform.claims import claim_run
from tests.platform.conftest import FakeClock
from tests.platform.formats.transfer.tournaments.conftest import content
from tests.platform.formats.transfer.tournaments.play_rounds import begin, plan
from tests.platform.formats.transfer.tournaments.results import is_right, true_result
from workers.lease import LostClaimError

RACES = int(os.environ.get("GAUNTLET_RACES", "1"))

IMAGES = 6
FIELD = (("owls", "attack"), ("geese", "targeted_attack"), ("doves", "defence"), ("ducks", "defence"))

pytestmark = pytest.mark.django_db(transaction=True)

Act = Callable[[], object]


class Field:
    """A competition of its own with a round that has begun, and the acts of its organiser and its workers."""

    def __init__(self, the_clock: FakeClock, kind: str = "development") -> None:
        self.competition = import_competition(content())
        self.competition.tracks.update(baselines=[])
        Competition.objects.update(new_validation_set=False)
        self.organiser = User.objects.create_user("olga", "olga@example.org", is_staff=True)
        Organiser.objects.create(competition=self.competition, user=self.organiser)
        self.submissions = [self._submit(slug, track) for slug, track in FIELD]
        source = self.competition.sample_sets.get(name="final" if kind == "final" else "test")
        self.round = plan(self.competition, self.organiser, kind=kind, source=source)
        begin(self.round, self.organiser, the_clock)

    def _submit(self, slug: str, track_name: str) -> Submission:
        captain = User.objects.create_user(slug, f"{slug}@example.org")
        entry = enter(team=create_team(slug=slug, name=slug, captain=captain), competition=self.competition)
        track, now = self.competition.tracks.get(name=track_name), clock.now()
        repository = Repository.objects.create(entry=entry, track=track, created_at=now)
        player = Player.objects.create(
            competition=self.competition, track_name=track_name, digest=f"sha256:{slug}", title=slug,
            command=["run.sh"], repository=repository, created_at=now,
        )  # fmt: skip
        return Submission.objects.create(
            repository=repository, commit=f"{captain.pk:040}", tag="submission-1", title=slug, submitted_by=captain,
            licence="MIT", received_at=now, state=Submission.State.READY, state_since=now, player=player,
        )  # fmt: skip

    @property
    def tournament(self) -> int:
        return self.round.tournament.pk

    def claims(self) -> Iterator[AnyRun]:
        """Claim runs until none waits, requesting those that follow from committed ones."""
        tasks.advance(self.tournament)
        while (run := claim_run("worker")) is not None:
            yield run

    def hold_last(self) -> list[AnyRun]:
        """Play everything but the last runs of defences, which workers hold. They are returned."""
        held: list[AnyRun] = []
        for run in self.claims():
            if isinstance(run, AttackRun):
                self.commit(run)
            else:
                held.append(run)
        assert {type(run) for run in held} == {DefenceRun}
        for run in held[3:]:
            self.commit(run)
        return held[:3]

    def finish(self) -> None:
        """Play what is left, and score the round."""
        for _ in range(3):  # attacks, defences, repeats
            for run in self.claims():
                self.commit(run)
        self.step()

    def commit(self, run: AnyRun) -> None:
        run_queue.commit(run, true_result(run))
        tasks.follow_up(self.tournament)

    def cancel(self) -> None:
        rounds.cancel(round_=Round.objects.get(pk=self.round.pk), by=self.organiser, reason="a test")

    def pause(self) -> None:
        rounds.pause(round_=Round.objects.get(pk=self.round.pk), by=self.organiser)

    def publish(self) -> None:
        shown = Round.objects.get(pk=self.round.pk)
        publish(round_=shown, by=self.organiser, previewed=preview_digest(shown, format_of(shown).preview(shown)))

    def disqualify(self) -> None:
        submission = Submission.objects.get(pk=self.submissions[0].pk)
        submissions.disqualify(submission=submission, by=self.organiser, reason="a test")

    def withdraw(self) -> None:
        submission = Submission.objects.get(pk=self.submissions[2].pk)
        submissions.withdraw(submission=submission, by=submission.submitted_by)

    def step(self) -> None:
        """Take the next step of the round, as its task does."""
        format_of(self.round).advance(Round.objects.select_related("competition").get(pk=self.round.pk))

    def state(self) -> str:
        self.round.refresh_from_db()
        return self.round.state

    def check(self) -> None:
        """Compare the round with what the contents of the players give, whatever happened to it."""
        self.round.refresh_from_db()
        scored = Event.objects.filter(verb="score", subject=event_log.name_of(self.round)).count()
        assert scored == bool(self.round.outcome)
        if self.round.state in ("scored", "published"):
            assert list(differing_places(Competition.objects.filter(pk=self.competition.pk))) == []
            self.check_points()
        if self.round.state not in ("playing", "paused"):
            assert self.round.tournament.ended_at is not None
            assert claim_run("worker") is None

    def check_points(self) -> None:
        entrants = list(current_entrants(self.round.tournament))
        attacks = [each.player for each in entrants if each.track.name in ATTACK_TRACKS]
        for each in entrants:
            if each.track.name not in ATTACK_TRACKS:
                right = sum(is_right(attack, each.player, image) for attack in attacks for image in range(IMAGES))
                assert each.raw == right


@pytest.fixture(params=range(RACES))
def field(db: None, the_clock: FakeClock) -> Field:
    """A round that has begun."""
    return Field(the_clock)


def race(*acts: Act) -> list[bool]:
    """Do everything at the same time; return what was not refused, in the order of `acts`. Other errors are raised."""
    barrier = Barrier(len(acts))

    def do(act: Act) -> bool:
        try:
            barrier.wait(30)
            act()
        except (Refusal, LostClaimError):
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(len(acts)) as pool:
        return [each.result(60) for each in [pool.submit(do, act) for act in acts]]


def committed(field: Field, run: AnyRun) -> Act:
    return partial(field.commit, run)


def test_a_cancellation_during_the_last_results_is_final(field: Field) -> None:
    held = field.hold_last()
    cancelled, stepped, *_ = race(field.cancel, field.step, *(committed(field, run) for run in held))
    assert (cancelled, stepped, field.state()) == (True, True, "cancelled")
    field.finish()
    assert field.state() == "cancelled"
    field.check()


def test_results_that_arrive_together_are_scored_once(field: Field) -> None:
    held = field.hold_last()
    assert all(race(field.step, field.step, field.disqualify, *(committed(field, run) for run in held)))
    field.finish()
    assert field.state() == "scored"
    field.check()


def test_a_pause_during_the_last_results_loses_none(field: Field) -> None:
    held = field.hold_last()
    paused, *others = race(field.pause, field.step, *(committed(field, run) for run in held))
    assert all(others)
    assert paused == (field.state() == "paused")
    if paused:
        assert claim_run("worker") is None
        rounds.resume(round_=field.round, by=field.organiser)
    field.finish()
    assert field.state() == "scored"
    field.check()


@pytest.fixture
def lost(field: Field, the_clock: FakeClock) -> AnyRun:
    """A run that a worker lost and still plays, while the round was scored."""
    run = field.hold_last()[0]
    the_clock.forward(seconds=31)
    field.finish()
    assert field.state() == "scored"
    return run


def test_a_publication_shows_what_was_previewed(field: Field, lost: AnyRun) -> None:
    outcome = field.round.outcome
    published, late, *others = race(field.publish, committed(field, lost), field.disqualify, field.withdraw, field.step)
    assert all(others)
    assert not late
    assert field.state() == ("published" if published else "scored")
    assert field.round.outcome == outcome
    field.check()
    if not published:
        field.publish()
        field.check()


def test_a_round_is_either_published_or_cancelled(field: Field, lost: AnyRun) -> None:
    published, cancelled, late = race(field.publish, field.cancel, committed(field, lost))
    assert (published, late) == (not cancelled, False)
    assert field.state() == ("published" if published else "cancelled")
    field.check()


def test_leaderboards_follow_acts_during_results(field: Field) -> None:
    field.cancel()
    board = services.make_tournament(field.competition)

    def play(run: AnyRun) -> None:
        run_queue.commit(run, true_result(run))
        tasks.follow_up(board.pk)

    services.advance(board)
    held: list[AnyRun] = []
    while (run := claim_run("worker")) is not None:
        held.append(run)
    assert {type(run) for run in held} == {AttackRun}
    acts = [partial(play, run) for run in held]
    # the runs of those that leave are taken from their workers
    assert all(race(field.disqualify, field.withdraw, partial(services.advance, board), *acts)[:3])
    while (run := claim_run("worker")) is not None:
        play(run)
    tasks.advance(board.pk)  # as the change of a submission notifies
    inside = set(current_entrants(board).values_list("submission", flat=True))
    assert inside == {field.submissions[1].pk, field.submissions[3].pk}
    assert list(differing(board)) == []


def test_a_licence_review_during_the_verification_is_no_difference(db: None, the_clock: FakeClock) -> None:
    field = Field(the_clock, kind="final")
    field.finish()
    read = Round.objects.select_related("competition").get(pk=field.round.pk)
    refuse_licence(entries=[read.entries.order_by("pk")[0]], by=field.organiser, reason="it is none")
    assert Round.objects.get(pk=read.pk).outcome != read.outcome
    assert list(transfer_standings.differing(read)) == []
