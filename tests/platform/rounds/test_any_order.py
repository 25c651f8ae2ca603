"""Pushes, builds, matches, withdrawals, windows, rounds, rejudgings, frozen leaderboards and releases in any order.

A simple model of the site says what each person must see. `GAUNTLET_STEPS` says how many steps are taken, and
`GAUNTLET_SEED` repeats a run.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from accounts.models import Membership, User
from competitions.board_freezes import frozen_since
from competitions.freeze_windows import plan_window
from competitions.models import Competition, FreezeWindow
from core import clock
from core.errors import Refusal
from core.models import Event
from formats.query.leaderboards import services as boards
from formats.query.leaderboards import snapshots_and_freezes
from formats.query.leaderboards.evaluation_basis import NEWEST, unresolved
from formats.query.leaderboards.models import Evaluation, Rejudging, Standing
from formats.query.leaderboards.rejudging import (
    begin_rejudging,
    discard_rejudging,
    publish_rejudging,
    replay_rejudging,
    settle_rejudgings,
)
from formats.query.leaderboards.score_visibility import board, public_evaluation_of
from formats.query.leaderboards.scoring import refresh_boards, score_finished
from formats.query.leaderboards.snapshots_and_freezes import freeze_leaderboards
from formats.query.leaderboards.tasks import sweep
from formats.query.matches import piece_queue
from formats.query.matches.models import Match
from formats.query.matches.piece_work import pieces
from formats.query.matches.services import replay_failed
from formats.query.rounds.preview import preview
from repositories.models import Repository
from rounds.models import Release, Round
from rounds.planning.freeze import freeze_due
from rounds.publishing.publication import publish
from rounds.release.released_parts import release
from rounds.release.released_parts import withdraw as take_back
from rounds.running import lifecycle as rounds
from rounds.site_verification import verify
from submissions import build_queue, quota_ledger
from submissions import services as submissions
from submissions.admission import check_may_submit
from submissions.models import Player, QuotaSlot, Submission
from tests.platform.claims import claim_piece
from tests.platform.rounds.conftest import RoundFixture, digest_of, distance_of
from workers.fault_record import MAX_FAULTS, PAUSES

STEPS = int(os.environ.get("GAUNTLET_STEPS", "120"))
EACH = 50
"""Steps from an empty competition on."""

TEAMS = ("owls", "doves", "geese", "crows")
KINDS = ("model", "untargeted")
MANIFEST = """[submission]
track = "{kind}"
title = "{kind} {number}"
licence = "MIT"
run = "python main.py"
"""
COMMITS = 30
"""Commits of each repository: more than any run of `EACH` steps pushes."""

numbers = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, list[str]]]:
    """By kind a bare repository, and commits in it that differ."""
    made = {}
    for kind in KINDS:
        path = tmp_path_factory.mktemp("git") / f"{kind}.git"
        subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
        lines = []
        for number in range(COMMITS):
            files = {
                "submission.toml": MANIFEST.format(kind=kind, number=number),
                "main.py": f"print({number})\n",
            }
            by = f"committer A <a@example.org> {number} +0000"
            lines.append(f"commit refs/heads/main\nmark :{number + 1}\n{by}\ndata 0\n")
            lines += [f"M 100644 inline {name}\ndata {len(text)}\n{text}\n" for name, text in files.items()]
        marks = path / "marks"
        importing = ["git", "-C", str(path), "fast-import", "--quiet", f"--export-marks={marks}"]
        subprocess.run(importing, input="".join(lines).encode(), check=True)
        known = dict(line.split() for line in marks.read_text().splitlines())
        made[kind] = (path, [known[f":{number + 1}"] for number in range(COMMITS)])
    return made


class Site(RuleBasedStateMachine):
    """The site and its model: who had left when, and what was public when leaderboards were frozen."""

    env: RoundFixture
    commits: dict[str, tuple[Path, list[str]]]
    client: Client
    noon: datetime
    factor = 1.0
    happened: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.undo = transaction.atomic()
        vars(self.undo)["_from_testcase"] = True  # each action within has a transaction of its own, as in other tests
        self.undo.__enter__()
        cache.clear()
        self.env.clock.at = self.noon
        self.captains = {slug: self._captain(slug) for slug in TEAMS}
        self.pushed = dict.fromkeys(((slug, kind) for slug in TEAMS for kind in KINDS), 0)
        self.late: list[tuple[QuotaSlot, User]] = []
        self.players = count()
        self.frozen: dict[object, Any] | None = None
        self.ready: dict[int, datetime] = {}
        self.takes: dict[tuple[int, int], int] = {}
        Site.factor = 1.0

    def teardown(self) -> None:
        try:
            if not any(sys.exc_info()):
                self.settle()
                assert verify().differences == ()
            Site.happened.update(Event.objects.values_list("verb", flat=True))
        finally:  # otherwise rows of a failure would stay for the next example
            transaction.set_rollback(True)
            self.undo.__exit__(None, None, None)

    def _captain(self, slug: str) -> User:
        entry = self.env.entry(slug)
        user = User.objects.create_user(slug, f"{slug}@example.org", None)
        Membership.objects.create(team=entry.team, user=user, role="captain", joined_at=clock.now())
        for kind in KINDS:
            repository = Repository.objects.create(entry=entry, track=self.env.tracks[kind], created_at=clock.now())
            repository.path.parent.mkdir(parents=True, exist_ok=True)
            if repository.path.is_symlink():
                repository.path.unlink()
            repository.path.symlink_to(self.commits[kind][0])
        return user

    @initialize(baselines=st.booleans(), sent=st.lists(st.tuples(st.sampled_from(TEAMS), st.sampled_from(KINDS))))
    def begin(self, baselines: bool, sent: list[tuple[str, str]]) -> None:
        """Pools of two baselines each, or of the first submissions; some teams have scores already."""
        if baselines:
            for kind in KINDS:
                players = [self.env.player(kind, number) for number in (100, 101)]
                boards.set_pool(track=self.env.tracks[kind], players=players, reason="the bundled baselines")
        for slug, kind in sent:
            self.submit(slug, kind)
        self.settle()

    # actions of teams

    @rule(slug=st.sampled_from(TEAMS), kind=st.sampled_from(KINDS))
    def submit(self, slug: str, kind: str) -> None:
        """A push, with a free builder."""
        self.push(slug, kind, late=False)
        self.build("ready")

    @rule(slug=st.sampled_from(TEAMS), kind=st.sampled_from(KINDS), late=st.booleans())
    def push(self, slug: str, kind: str, late: bool) -> None:
        """A push between whose hooks some time may pass."""
        repository = Repository.objects.get(entry__team__slug=slug, track__name=kind)
        number = self.pushed[slug, kind]
        commit, tag = self.commits[kind][1][number % COMMITS], f"submission-{number}"
        may = self._may_push(repository)
        with _refused(unless=may):
            check_may_submit(repository, self.captains[slug], commit)
            slot = quota_ledger.reserve(
                repository=repository, commit=commit, tag=tag, by=self.captains[slug], title="A player", licence="MIT"
            )
            self.pushed[slug, kind] += 1
            self.late.append((slot, self.captains[slug]))
        if not late and may:
            self.arrive(-1)

    @precondition(lambda self: self.late)
    @rule(which=numbers)
    def arrive(self, which: int) -> None:
        """The second hook of a push: it needs its own slot if that of the first was refunded."""
        slot, user = self.late.pop(which % len(self.late))
        slot.refresh_from_db()
        may = slot.state == "reserved" or self._may_push(slot.repository)
        with _refused(unless=may):
            quota_ledger.bind(slot=slot, by=user)

    @rule(how=st.sampled_from(["ready", "ready", "rejected", "fault"]))
    def build(self, how: str) -> None:
        """The oldest submission that waits is built: ready, rejected, or failed by a platform error three times."""
        submission = Submission.objects.filter(state="received").order_by("pk").first()
        if submission is None:
            return
        for _ in range(MAX_FAULTS if how == "fault" else 1):
            build = build_queue.claim(submission.pk, "builder")
            assert build is not None
            if how == "fault":
                build_queue.release_claim(build, "fault", "a full disk")
            elif how == "rejected":
                build_queue.refuse(build, "build_failed", "it does not build", "fix it")
            else:
                assert build_queue.begin_checks(build, timedelta(minutes=5))
                assert build_queue.succeed(build, self._player(submission), [])
                self.ready[submission.pk] = clock.now()

    def _player(self, submission: Submission) -> Player:
        kind = submission.repository.track.name
        return Player.objects.create(
            competition=self.env.competition,
            track_name=kind,
            digest=digest_of(kind, next(self.players)),
            title=f"{submission.repository} {submission.tag}",
            command=["python", "main.py"],
            repository=submission.repository,
            created_at=clock.now(),
        )

    @rule(which=numbers)
    def withdraw(self, which: int) -> None:
        submission = _one(Submission.objects.exclude(state__in=["withdrawn", "rejected"]), which)
        if submission is not None:
            submissions.withdraw(submission=submission, by=self.captains[submission.repository.entry.team.slug])

    # actions of workers

    @rule(share=st.sampled_from([1, 3, 100]))
    def play(self, share: int) -> None:
        """Workers play some of the pieces that wait."""
        for _ in range(share):
            if (claim := claim_piece(self.env.worker())) is None:
                break
            piece_queue.commit(claim, self.env.played(claim))

    @rule()
    def fail(self) -> None:
        """A piece fails three times, on two hosts."""
        for name, pause in (("arena-1/play/0", PAUSES[0]), ("arena-2/play/0", PAUSES[1]), ("arena-1/play/0", None)):
            if claim := claim_piece(self.env.worker(name)):
                pieces.release(claim, fault="a full disk")
                self.env.clock.forward(seconds=pause.total_seconds() if pause else 0.0)

    @rule(factor=st.sampled_from([1.0, 0.5, 2.0]))
    def err(self, factor: float) -> None:
        """Make the workers measure wrong distances, or correct ones again."""
        Site.factor = factor

    @rule()
    def sweep(self) -> None:
        quota_ledger.settle_reservations()
        sweep()
        freeze_due()

    @rule(minutes=st.sampled_from([1, 10, 60, 600, 1500]))
    def wait(self, minutes: int) -> None:
        self.env.clock.forward(minutes=minutes)

    # actions of organisers

    @rule(which=numbers, reinstated=st.booleans())
    def judge(self, which: int, reinstated: bool) -> None:
        submission = _one(Submission.objects.filter(disqualified_at__isnull=not reinstated), which)
        if submission is not None:
            act = submissions.reinstate if reinstated else submissions.disqualify
            act(submission=submission, by=self.env.organiser, reason="we looked into it")

    @rule(which=numbers)
    def re_evaluate(self, which: int) -> None:
        submission = _one(Submission.objects.filter(state="ready"), which)
        if submission is None:
            return
        held = submission.evaluations.filter(rejudging__state__in=["playing", "compared"]).exists()
        try:
            boards.re_evaluate(submission=submission, by=self.env.organiser, reason="a test")
        except Refusal:
            return
        assert not held, "what is rejudged is not measured at the same time"

    @rule(which=numbers, size=st.integers(1, 3))
    def rejudge(self, which: int, size: int) -> None:
        chosen = list(Submission.objects.filter(state="ready").order_by("pk"))
        random.Random(which).shuffle(chosen)
        before = Rejudging.objects.count()
        try:
            begin_rejudging(
                competition=self.env.competition, submissions=chosen[:size], reason="a fault", by=self.env.organiser
            )
        except Refusal:
            assert Rejudging.objects.count() == before

    @rule(which=numbers, how=st.sampled_from(["publish", "publish", "discard", "replay"]))
    def end_rejudging(self, which: int, how: str) -> None:
        settle_rejudgings()
        rejudging = _one(Rejudging.objects.filter(state__in=["playing", "compared"]), which)
        if rejudging is None:
            return
        failed = rejudging.evaluations.filter(state="void", cause="platform").exists()
        by: dict[str, Any] = {"rejudging": rejudging, "by": self.env.organiser, "reason": "a test"}
        if how == "discard":
            discard_rejudging(**by)
        elif how == "replay":
            with _refused(unless=failed):
                replay_rejudging(**by)
        else:
            with _refused(unless=rejudging.state == "compared" and not failed):
                publish_rejudging(**by)
                for match in Match.objects.filter(repetition=rejudging.pk, state="played"):
                    pair = match.model_id, match.attack_id
                    self.takes[pair] = max(match.repetition, self.takes.get(pair, 0))

    @rule(which=numbers, size=st.integers(1, 3))
    def correct(self, which: int, size: int) -> None:
        """A complete rejudging."""
        self.rejudge(which, size)
        self.play(100)
        score_finished()
        self.end_rejudging(which, "publish")

    @rule()
    def stop_boards(self) -> None:
        with _refused(unless=self.frozen is None):
            seen = self._known()
            freeze_leaderboards(competition=self.env.competition, by=self.env.organiser, reason="the final")
            self.frozen = seen

    @rule()
    def unfreeze_leaderboards(self) -> None:
        with _refused(unless=self.frozen is not None):
            snapshots_and_freezes.unfreeze_leaderboards(
                competition=self.env.competition, by=self.env.organiser, reason="it is over"
            )
            self.frozen = None

    @rule(hours=st.integers(1, 20))
    def close(self, hours: int) -> None:
        """A freeze window without a round."""
        now = clock.now()
        with _refused(unless=not self._overlaps(now, now + timedelta(hours=hours))):
            plan_window(
                competition=self.env.competition,
                starts_at=now,
                ends_at=now + timedelta(hours=hours),
                reason="maintenance",
                by=self.env.organiser,
            )

    @rule(source=st.sampled_from(["test", "test-2", "final"]))
    def plan(self, source: str) -> None:
        starts = clock.now() + timedelta(hours=1)
        drawn = Round.objects.filter(sample_set__drawn_from=self.env.sources[source]).exclude(state="cancelled")
        played = Match.objects.filter(sample_set__drawn_from=self.env.sources[source]).exists()
        free = not drawn.exists() and not played and not self._overlaps(starts, starts + timedelta(hours=10))
        with _refused(unless=free):
            self.env.plan("final" if source == "final" else "development", samples=8, source=source)

    @rule(how=st.sampled_from(["advance", "advance", "advance", "pause", "cancel"]))
    def advance_round(self, how: str) -> None:
        """The next step of the round under way."""
        round_ = Round.objects.filter(state__in=Round.UNDER_WAY).first()
        if round_ is None:
            if planned := Round.objects.filter(state="planned").last():
                self.env.clock.at = max(self.env.clock.at, planned.window.starts_at)
                freeze_due()
            return
        by: dict[str, Any] = {"round_": round_, "by": self.env.organiser, "reason": "a test"}
        if how == "cancel":
            rounds.cancel(**by)
        elif round_.state == "frozen":
            rounds.start(**by)
        elif round_.state == "paused":
            rounds.resume(**by)
        elif round_.state == "scored":
            self._publish(round_)
        elif how == "pause":
            rounds.pause(**by)
        else:
            for match in Match.objects.filter(round_match__round=round_, state="failed"):
                replay_failed(match, self.env.organiser)
            self.env.run(round_)

    @rule(source=st.sampled_from(["test", "test-2", "final"]))
    def hold(self, source: str) -> None:
        """A round from its plan on, if the calendar is free."""
        self.plan(source)
        for _ in range(4):
            self.advance_round("advance")

    def _publish(self, round_: Round) -> None:
        entries = list(round_.entries.select_related("submission"))
        late = [each for each in entries if self.ready[each.submission_id] > round_.window.starts_at]
        assert not late, "what was ready after the start of the window is in the round"
        nobody = any(view.rows and not view.pool_after for view in preview(round_))
        with _refused(unless=not nobody):
            publish(round_=round_, by=self.env.organiser)
        if nobody:
            return
        for track in {each.track for each in entries}:
            pool = track.pools.first()
            assert pool is not None
            for player in pool.players.filter(baseline=""):
                assert player.submissions.filter(disqualified_at=None).exclude(state="withdrawn").exists(), "gone"

    @rule(which=numbers, part=st.sampled_from(Release.Part.values))
    def release(self, which: int, part: str) -> None:
        round_ = _one(Round.objects.filter(state="published"), which)
        if round_ is None or part == "code":
            return
        out = round_.releases.filter(part=part, withdrawn_at=None).first()
        if out is not None:
            take_back(release=out, by=self.env.organiser, reason="a test")
            return
        with _refused(unless=part != "bundle" or self.frozen is None):
            release(round_=round_, part=part, by=self.env.organiser, reason="the end")

    # invariants

    @invariant()
    def steps_are_counted(self) -> None:
        Site.happened["step"] += 1

    @invariant()
    def frozen_leaderboards_show_what_was_known(self) -> None:
        if self.frozen is not None:
            seen = self._public()
            assert {key: seen[key] for key in self.frozen} == self.frozen
            for key in seen.keys() - self.frozen.keys():
                assert seen[key] is None, "a later score is shown"

    @precondition(lambda self: self.frozen is not None)
    @rule()
    def look_at_rounds(self) -> None:
        """The order of a frozen board is visible in the first panel only, and nowhere else before a bundle."""
        since = frozen_since(Competition.objects.get())
        assert since is not None
        for round_ in Round.objects.filter(state="published", window__starts_at__gte=since):
            page = self.client.get(f"/competitions/digits/rounds/{round_.number}?track=model")
            assert page.status_code == 200
            assert page.context["results"].bracket.columns[0].panel is None

    @rule(wholly=st.integers(0, 2))
    def rest(self, wholly: int) -> None:
        if wholly == 0:
            self.settle()

    def settle(self) -> None:
        """Run the site until it is idle, without rounds, and compare it with the model."""
        for _ in range(20):
            before = list(Evaluation.objects.values_list("pk", "state")), Match.objects.filter(state="played").count()
            quota_ledger.settle_reservations()
            sweep()
            self.env.play()
            score_finished()
            if failed := list(unresolved()):
                self.env.clock.forward(hours=1)
                for evaluation in failed:
                    self._measure_again(evaluation.submission)
            if before == (
                list(Evaluation.objects.values_list("pk", "state")),
                Match.objects.filter(state="played").count(),
            ):
                break
        else:
            raise AssertionError("it does not become idle")
        refresh_boards()
        for kind in KINDS:
            self._compare(kind)

    def _measure_again(self, submission: Submission) -> None:
        """What organisers do for a submission that stays without a score: an open set of it has to end first."""
        by: dict[str, Any] = {"by": self.env.organiser, "reason": "a test"}
        for rejudging in Rejudging.objects.filter(
            state__in=["playing", "compared"], evaluations__submission=submission
        ).distinct():
            discard_rejudging(rejudging=rejudging, **by)
        boards.re_evaluate(submission=submission, **by)

    def _compare(self, kind: str) -> None:
        """The board of a track: the newest submission of each team that counts, measured on the current basis by
        the newest published match of each pair, and ranked by value."""
        pool = self.env.tracks["untargeted" if kind == "model" else "model"].pools.first()
        rows = list(Standing.objects.filter(track=self.env.tracks[kind]).select_related("evaluation").order_by("rank"))
        expected = {}
        for submission in Submission.objects.filter(
            repository__track__name=kind, state="ready", disqualified_at=None
        ).order_by("pk"):
            expected[submission.repository.entry_id] = submission
        if pool is None:
            assert not rows
            return
        opponents = [place.player for place in pool.places.select_related("player__repository")]
        if kind != "model":  # an attack is not measured by models of its own team alone
            owners = [player.repository.entry_id if player.repository else None for player in opponents]
            for entry in list(expected):
                if set(owners) == {entry}:
                    del expected[entry]
                    rows = [row for row in rows if row.entry_id != entry]
        assert {row.entry_id: row.evaluation.submission_id for row in rows} == {
            entry: submission.pk for entry, submission in expected.items()
        }
        for row in rows:
            own = expected[row.entry_id].player
            assert own is not None
            pairs = [(own.pk, other.pk) if kind == "model" else (other.pk, own.pk) for other in opponents]
            played = row.evaluation.matches.values_list("model", "attack", "repetition")
            assert row.evaluation.pool == pool
            assert {(model, attack): repetition for model, attack, repetition in played} == {
                pair: self.takes.get(pair, 0) for pair in pairs
            }
        assert all(row.rank for row in rows)
        values = [row.evaluation.value or 0.0 for row in rows]
        assert values == sorted(values, reverse=kind == "model")

    def _public(self) -> dict[object, Any]:
        """Return the public leaderboard of each track and the public score of each submission."""
        seen: dict[object, Any] = {}
        for kind in KINDS:
            track = self.env.tracks[kind]
            track.refresh_from_db()
            seen[kind] = [(row.team, row.value, row.rank) for row in board(track).rows]
        for submission in Submission.objects.select_related("repository__entry__competition"):
            evaluation = public_evaluation_of(submission)
            seen[submission.pk] = evaluation.value if evaluation else None
        return seen

    def _known(self) -> dict[object, Any]:
        """Like `_public`, but a submission in evaluation has its previous score."""
        seen = self._public()
        for submission in Submission.objects.all():
            ended = submission.evaluations.filter(counts=True, finished_at__isnull=False).order_by(*NEWEST).first()
            seen[submission.pk] = ended.value if ended else None
        return seen

    def _may_push(self, repository: Repository) -> bool:
        taken = QuotaSlot.objects.filter(repository=repository, reserved_at__gt=clock.now() - timedelta(hours=24))
        closed = FreezeWindow.objects.filter(
            starts_at__lte=clock.now(), ends_at__gt=clock.now(), called_off_at__isnull=True
        )
        return not closed.exists() and taken.exclude(state="refunded").count() < 5

    def _overlaps(self, starts: datetime, ends: datetime) -> bool:
        windows = FreezeWindow.objects.filter(called_off_at__isnull=True, ends_at__gt=clock.now())
        return windows.filter(starts_at__lt=ends, ends_at__gt=starts).exists()


def _one(rows: Any, which: int) -> Any:
    """One of `rows`, or None."""
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    return rows.model.objects.get(pk=keys[which % len(keys)]) if keys else None


@contextmanager
def _refused(*, unless: bool) -> Iterator[None]:
    """Check that the action is rejected exactly if the model says so."""
    refused = None
    try:
        yield
    except Refusal as refusal:
        refused = refusal
    assert (refused is None) is unless, refused or "not refused"


@pytest.mark.slow(30)
@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.timeout(max(7200, STEPS))
def test_in_any_order_of_events_everyone_sees_what_the_model_says(
    env: RoundFixture, commits: dict[str, tuple[Path, list[str]]], client: Client, part: int
) -> None:
    number = int(os.environ.get("GAUNTLET_SEED") or random.SystemRandom().randrange(10**9))
    sys.stdout.write(f"GAUNTLET_SEED={number} GAUNTLET_STEPS={STEPS}\n")  # shown where it fails
    Site.env, Site.commits, Site.client, Site.noon = env, commits, client, env.clock.at
    env.distance = lambda model, attack, sample: Site.factor * distance_of(_near(model), _near(attack), sample)
    Site.happened = Counter()
    Competition.objects.update(new_validation_set=False)  # each takes a second to draw
    run_state_machine_as_test(
        seed(number + part)(Site),
        settings=settings(
            max_examples=max(1, STEPS // EACH // 2),
            stateful_step_count=EACH,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, *([Phase.shrink] if os.environ.get("GAUNTLET_SHRINK") else [])],
            report_multiple_bugs=False,
        ),
    )
    sys.stdout.write(f"{dict(Site.happened.most_common())}\n")


def _near(digest: str) -> str:
    """Players of all numbers are of about equal strength."""
    return f"{digest[:-8]}{int(digest[-8:]) % 10:08d}"
