"""Submissions, withdrawals, judgements, runs, faults, late results, new rules and rounds in any order.

A simple model says who counts on the leaderboard and with which score. `GAUNTLET_STEPS` says how many steps are taken,
and `GAUNTLET_SEED` repeats a run.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from django.db import transaction
from django.test import TestCase
from django.utils import timezone
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from accounts.models import User
from accounts.services import create_team
from competitions.bundled_baselines import bundled_digest
from competitions.models import Competition, RulesVersion
from competitions.services import enter, import_competition
from core import clock
from core.errors import Refusal
from formats.transfer.rounds.competition_verification import differing_places
from formats.transfer.tournaments import pair_totals, run_queue, services, step_notifications, tasks
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Run, Tournament
from formats.transfer.tournaments.ranking import COLUMNS, standings
from formats.transfer.tournaments.run_work import runs
from formats.transfer.tournaments.selectors import KINDS, AnyRun, current_entrants, open_runs
from formats.transfer.tournaments.tournament_verification import differing
from formats.transfer.tracks import ATTACK_TRACKS
from repositories.models import Repository
from rounds.formats import format_of
from rounds.models import Round
from rounds.planning.freeze import freeze
from rounds.publishing.preview import preview_digest
from rounds.publishing.publication import publish
from rounds.running import lifecycle as rounds
from rounds.tasks import advance_round
from submissions import services as submissions
from submissions.models import Player, Submission
from tests.platform.claims import take_run
from tests.platform.conftest import FakeClock
from tests.platform.formats.transfer.tournaments.conftest import content
from tests.platform.formats.transfer.tournaments.play_rounds import plan
from tests.platform.formats.transfer.tournaments.results import is_right, true_result
from workers import queue
from workers.lease import LostClaimError
from workers.models import Priority

STEPS = int(os.environ.get("GAUNTLET_STEPS", "100"))
EACH = int(os.environ.get("GAUNTLET_EACH", "50"))
"""Steps from an empty competition on."""

TEAMS = ("owls", "doves", "geese")
TRACKS = ("attack", "targeted_attack", "defence")
IMAGES = 10
"""Number of images of a sample set, enough for intervals."""

CONTENTS = 4
"""Number of different programs in each track: teams often submit the same."""

numbers = st.integers(0, 10**6)


class Site(RuleBasedStateMachine):
    """The site and its model: the newest submission of each team and track that may take part."""

    competition: Competition
    organiser: User
    clock: FakeClock
    happened: Counter[str]
    sent: list[tuple[str, dict[str, int]]]

    def __init__(self) -> None:
        super().__init__()
        self.undo = transaction.atomic()
        vars(self.undo)["_from_testcase"] = True  # each action within has a transaction of its own, as in other tests
        self.undo.__enter__()
        self.clock.at = timezone.now()
        RulesVersion.objects.update(version=1000)  # room for versions before it
        self.repositories = {}
        for slug in TEAMS:
            captain = User.objects.create_user(slug, f"{slug}@example.org")
            entry = enter(team=create_team(slug=slug, name=slug, captain=captain), competition=self.competition)
            for track in self.competition.tracks.all():
                self.repositories[slug, track.name] = Repository.objects.create(
                    entry=entry, track=track, created_at=clock.now()
                )
        self.held: list[AnyRun] = []

    def teardown(self) -> None:
        try:
            if not any(sys.exc_info()):
                self.settle()
                boards = Tournament.objects.filter(fixed=False)
                assert [each for tournament in boards for each in differing(tournament)] == []
                assert list(differing_places(Competition.objects.all())) == []
        finally:
            transaction.set_rollback(True)
            self.undo.__exit__(None, None, None)

    @initialize(sent=st.lists(st.tuples(st.sampled_from(TEAMS), st.sampled_from(TRACKS)), min_size=2))
    def begin(self, sent: list[tuple[str, str]]) -> None:
        """Some teams have submissions already, and a defence has met an attack."""
        for number, (slug, track) in enumerate([("owls", "attack"), ("doves", "defence"), *sent]):
            self.submit(slug, track, number % CONTENTS)
        self.settle()

    # actions of teams and organisers

    @rule(slug=st.sampled_from(TEAMS), track=st.sampled_from(TRACKS), content=st.integers(0, CONTENTS - 1))
    def submit(self, slug: str, track: str, content: int) -> None:
        """A submission that was built; other teams may have the same content."""
        repository = self.repositories[slug, track]
        player, _ = Player.objects.get_or_create(
            competition=self.competition,
            track_name=track,
            digest=f"sha256:{track}-{content}",
            defaults={"title": f"{track} {content}", "command": ["run.sh"], "repository": repository,
                      "created_at": clock.now()},
        )  # fmt: skip
        number = Submission.objects.count() + 1
        Submission.objects.create(
            repository=repository, commit=f"{number:040}", tag=f"submission-{number}", title=f"{slug} {number}",
            submitted_by=repository.entry.team.memberships.get().user, licence="MIT", received_at=clock.now(),
            state=Submission.State.READY, state_since=clock.now(), player=player,
        )  # fmt: skip
        tasks.sweep()

    @rule(which=numbers)
    def withdraw(self, which: int) -> None:
        if submission := one(Submission.objects.filter(state="ready"), which):
            submissions.withdraw(submission=submission, by=submission.submitted_by)

    @rule(which=numbers, reinstated=st.booleans())
    def judge(self, which: int, reinstated: bool) -> None:
        if submission := one(Submission.objects.filter(disqualified_at__isnull=not reinstated), which):
            act = submissions.reinstate if reinstated else submissions.disqualify
            act(submission=submission, by=self.organiser, reason="we looked into it")

    @rule(epsilon=st.sampled_from([4, 8]), back=st.booleans())
    def change_rules(self, epsilon: int, back: bool) -> None:
        """Other rules come into force; or with `back`, earlier ones again.

        The version of a round's rules stays, as its outcome names it.
        """
        versions = RulesVersion.objects.filter(competition=self.competition).order_by("-version")
        newest = versions[0]
        if back and len(versions) > 1 and not Round.objects.filter(rules=newest).exists():
            lowest = versions.order_by("version")[0].version
            RulesVersion.objects.filter(pk=newest.pk).update(version=lowest - 1)
        else:
            RulesVersion.objects.create(
                competition=self.competition, version=newest.version + 1,
                values=newest.values | {"epsilons": [epsilon]}, created_at=clock.now(),
            )  # fmt: skip

    @rule(wanted=st.booleans())
    def change_baselines(self, wanted: bool) -> None:
        """The competition has the bundled attack, which is built, or no longer."""
        Player.objects.get_or_create(
            competition=self.competition, track_name="attack", digest="sha256:noop",
            defaults={"title": "noop", "command": ["run.sh"], "baseline": "noop", "created_at": clock.now(),
                      "tree_digest": bundled_digest("attack", "noop")},
        )  # fmt: skip
        self.competition.tracks.filter(name="attack").update(baselines=["noop"] if wanted else [])

    # actions of workers

    @rule(count=st.sampled_from([1, 3, 30]))
    def play(self, count: int) -> None:
        for _ in range(count):
            if (run := self.claim()) is None:
                break
            self.commit(run)

    @rule()
    def hold(self) -> None:
        """A worker takes a run, and is slow."""
        if (run := self.claim()) is not None:
            self.held.append(run)

    @rule(which=numbers, advanced=st.booleans())
    def commit_late(self, which: int, advanced: bool) -> None:
        """A slow worker commits; the message that follows may be lost."""
        if self.held:
            with suppress(LostClaimError):
                self.commit(self.held.pop(which % len(self.held)), advanced=advanced)

    @rule(superseded=st.booleans())
    def end_while_played(self, superseded: bool) -> None:
        """A tournament ends while a worker plays in it, which loses its run: other rules, or a cancelled round."""
        if (run := self.claim()) is None:
            return
        if superseded:
            self.change_rules(4, back=False)
        else:
            self.advance_round("cancel")
        tasks.sweep()
        with suppress(LostClaimError):
            self.commit(run)

    @rule(which=numbers)
    def fail(self, which: int) -> None:
        """A host has a platform error; an organiser replays what was given up."""
        if self.held:
            runs.release(self.held.pop(which % len(self.held)), fault="a full disk")
        for kind in KINDS:
            for run in kind.objects.filter(state=Run.State.FAILED):
                runs.replay(run, self.organiser)

    @rule(seconds=st.sampled_from([1, 40, 600]))
    def wait(self, seconds: int) -> None:
        """Workers without a heartbeat lose what they hold after 30 s."""
        self.clock.forward(seconds=seconds)
        queue.expire()

    @rule()
    def sweep(self) -> None:
        tasks.sweep()
        assert [each for tournament in Tournament.objects.all() for each in pair_totals.differing(tournament)] == []
        board = services.make_tournament(self.competition)
        assert {row.pk: [getattr(row, name) for name in COLUMNS] for row in current_entrants(board)} == {
            row.pk: [values[name] for name in COLUMNS] for row, values in standings(board)
        }
        needed = {player for _, player in self.counting()}
        for kind, names in ((AttackRun, ("attack_id",)), (DefenceRun, ("defence_id", "attack_run__attack_id"))):
            waiting = open_runs(kind).filter(state=Run.State.WAITING, priority=Priority.BOARD)
            assert {key for row in waiting.values_list(*names) for key in row} <= needed

    # rounds

    @rule(how=st.sampled_from(["advance", "advance", "advance", "pause", "cancel"]))
    def advance_round(self, how: str) -> None:
        round_ = Round.objects.exclude(state__in=["published", "cancelled"]).first()
        if round_ is None:
            with suppress(Refusal):  # the samples are used up
                plan(self.competition, self.organiser, samples=IMAGES)
            return
        by: dict[str, Any] = {"round_": round_, "by": self.organiser, "reason": "a test"}
        with suppress(Refusal):  # no attack and defence yet, or not in this state
            if how == "cancel":
                rounds.cancel(**by)
            elif round_.state == "planned":
                self.clock.at = max(self.clock.at, round_.window.starts_at)
                freeze(**by)
            elif round_.state == "frozen":
                rounds.start(**by)
            elif round_.state == "paused":
                rounds.resume(**by)
            elif round_.state == "scored":
                publish(
                    round_=round_,
                    by=self.organiser,
                    previewed=preview_digest(round_, format_of(round_).preview(round_)),
                )
            elif how == "pause":
                rounds.pause(**by)
            else:
                tasks.advance(round_.tournament.pk)
                advance_round()
                round_.refresh_from_db()
        Site.happened[f"round {round_.state}"] += 1

    @rule(count=st.sampled_from([0, 1, 30, 30]))
    def hold_round(self, count: int) -> None:
        """Several steps of a round, with `count` runs played after each."""
        for _ in range(4):
            self.advance_round("advance")
            self.play(count)

    @rule(wholly=st.integers(0, 3))
    def rest(self, wholly: int) -> None:
        if wholly == 0:
            self.settle()

    # the model

    @invariant()
    def steps_are_counted(self) -> None:
        Site.happened["steps"] += 1

    @invariant()
    def one_leaderboard_is_open(self) -> None:
        assert Tournament.objects.filter(fixed=False, ended_at=None).count() <= 1

    @invariant()
    def a_finished_round_stays_as_it_is(self) -> None:
        for round_ in Round.objects.filter(state__in=["scored", "published", "cancelled"]):
            if hasattr(round_, "tournament"):
                assert round_.tournament.ended_at is not None

    def claim(self) -> AnyRun | None:
        run = take_run()
        if run is not None:
            assert run.tournament.ended_at is None
            assert not run.tournament.suspended
        return run

    def commit(self, run: AnyRun, *, advanced: bool = True) -> None:
        """Commit the result that follows from the contents."""
        tournament = run.tournament
        run_queue.commit(run, true_result(run))
        Site.happened[f"{'round' if tournament.fixed else 'board'} {type(run).__name__}"] += 1
        assert Tournament.objects.get(pk=tournament.pk).ended_at is None
        self.sent.clear()
        with TestCase.captureOnCommitCallbacks(execute=True):
            step_notifications.announce(run)
        if advanced and ("tournaments.follow_up", {"tournament": tournament.pk}) in self.sent:
            tasks.follow_up(tournament.pk)

    def counting(self) -> set[tuple[int | None, int]]:
        """Return the submissions (None for a baseline) and players that take part, as the docs say."""
        newest: dict[int, Submission] = {}
        for submission in Submission.objects.filter(state="ready", disqualified_at=None).order_by("pk"):
            newest[submission.repository_id] = submission
        found: set[tuple[int | None, int]] = {(each.pk, each.player_id or 0) for each in newest.values()}
        if self.competition.tracks.get(name="attack").baselines:
            found.add((None, Player.objects.get(baseline="noop").pk))
        inside = current_entrants(services.make_tournament(self.competition)).exclude(submission=None)
        for entrant in inside:  # the one before stays until the newest has met everybody
            if entrant.submission and entrant.submission.state == "ready" and not entrant.submission.disqualified_at:
                found.add((entrant.submission_id, entrant.player_id))
        return found

    def settle(self) -> None:
        """Run the site until it is idle, and compare the leaderboard with the model."""
        self.held.clear()
        for _ in range(50):
            self.clock.forward(seconds=180)
            queue.expire()
            self.fail(0)
            tasks.sweep()
            while (run := self.claim()) is not None:
                self.commit(run)
            if not any(open_runs(kind).exclude(state=Run.State.PLAYED).exists() for kind in KINDS):
                break
        else:
            raise AssertionError("it does not become idle")
        tournament = services.make_tournament(self.competition)
        rows = list(current_entrants(tournament))
        expected = self.counting()
        assert {(row.submission_id, row.player_id) for row in rows} == expected
        Site.happened["compared entrants"] += len(rows)
        attacks = {row.player for row in rows if row.track.name in ATTACK_TRACKS}
        for row in rows:
            if row.track.name == "defence" and attacks:
                right = sum(is_right(attack, row.player, image) for attack in attacks for image in range(IMAGES))
                assert (row.raw, row.opponents) == (right, len(attacks))


def one(rows: Any, which: int) -> Any:
    """One of `rows`, or None."""
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    return rows.model.objects.get(pk=keys[which % len(keys)]) if keys else None


@pytest.fixture
def transfer(db: None) -> Competition:
    """The competition, with enough test samples for two rounds."""
    values = content()
    for each in values["sample_sets"]:
        each["count"] = 2 * IMAGES if each["name"] == "test" else IMAGES
    return import_competition(values)


@pytest.mark.slow(20)
@pytest.mark.timeout(max(600, STEPS))
def test_in_any_order_of_events_the_leaderboard_is_what_the_model_says(
    transfer: Competition, olga: User, the_clock: FakeClock, notifications: list[tuple[str, dict[str, int]]]
) -> None:
    number = int(os.environ.get("GAUNTLET_SEED") or random.SystemRandom().randrange(10**9))
    sys.stdout.write(f"GAUNTLET_SEED={number} GAUNTLET_STEPS={STEPS}\n")  # shown where it fails
    transfer.tracks.update(baselines=[])
    Competition.objects.update(new_validation_set=False)  # each takes a second to draw
    Site.competition, Site.organiser, Site.clock, Site.happened = transfer, olga, the_clock, Counter()
    Site.sent = notifications
    run_state_machine_as_test(
        seed(number)(Site),
        settings=settings(
            max_examples=max(1, STEPS // EACH),
            stateful_step_count=EACH,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, *([Phase.shrink] if os.environ.get("GAUNTLET_SHRINK") else [])],
            report_multiple_bugs=False,
        ),
    )
    sys.stdout.write(f"{dict(Site.happened.most_common())}\n")
