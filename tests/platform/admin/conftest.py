"""Rows of every model, and clients that view them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib import admin
from django.test import Client

from accounts.models import AccessToken, AccountRequest, DeviceLogin, Invitation, SignUpLink, User
from competitions.models import (
    Announcement,
    CompetitionOrigin,
    DataSetUpload,
    FreezeWindow,
    FrozenLeaderboards,
    Page,
    RulesVersion,
    SampleSet,
    TermsAcceptance,
    TermsVersion,
    Track,
    UploadedDataSet,
)
from core import event_log
from core.models import SiteIdentity
from formats.curves.models import Benchmark, Improvement, ModelScore, Proof
from formats.query.challenges.models import Challenge
from formats.query.leaderboards.models import (
    Evaluation,
    Pool,
    PoolPlace,
    Rejudging,
    Resamples,
    Snapshot,
    Standing,
    SubmissionChoice,
)
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.rounds.models import Decision, RoundMatch, RoundStage, RoundWarning
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant, PairTotal, RepeatRun, Tournament
from repositories.models import PushCost, Repository
from rounds.models import Objection, Release, Round, RoundEntry, SigningKey
from submissions.models import Build, LogChunk, Player, QuotaSlot, Submission
from webhooks.models import Delivery, Webhook
from workers.models import Host, HostComparison, HostCredential, Worker, WorkerTime


@pytest.fixture(autouse=True, scope="session")
def _pages() -> None:
    """Register the pages of all apps, as the addresses of the site do: some tests go through them before a request."""
    admin.autodiscover()


@pytest.fixture
def superuser(db: None) -> User:
    """A superuser, who sees everything."""
    return User.objects.create_superuser("root", "root@example.org", "a long enough password")


@pytest.fixture
def as_superuser(superuser: User, client: Client) -> Client:
    """A client logged in as the superuser."""
    client.force_login(superuser)
    return client


@pytest.fixture
def as_organiser(olga: User, client: Client) -> Client:
    """A client logged in as Olga, an organiser who is staff."""
    olga.is_staff = True
    olga.save()
    client.force_login(olga)
    return client


@pytest.fixture(autouse=True)
def _no_sidebar(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages lack their sidebar, whose 70 links take a third of their time, but in tests that use `sidebar`."""
    if "sidebar" not in request.fixturenames:
        monkeypatch.setattr("unfold.sites.UnfoldAdminSite.get_sidebar_list", lambda site, request: [{"items": []}])


@pytest.fixture
def sidebar() -> None:
    """For a test of the sidebar, or of whole pages; see `_no_sidebar`."""


class Rows:
    """Factory for a row of each model, in addition to the shared fixtures; each call of `more` adds a set of rows."""

    def __init__(self, repositories: dict[str, Repository], rules: RulesVersion, sets: dict[str, SampleSet]) -> None:
        self.repositories, self.rules, self.sets = repositories, rules, sets
        self.rounds = 0
        self.by = User.objects.get(username="alice")
        self.at = rules.created_at

    def more(self) -> Submission:
        """Create a row of each model that grows during a competition; return the submission."""
        self.rounds += 1
        players = {track_name: self._player(track_name) for track_name in ("model", "untargeted")}
        submission = self._submission(players["model"])
        match = self._match(players)
        self._tournament(submission, players)
        self._benchmark(submission)
        Challenge.objects.create(
            submission=submission, by=self.by, requested_at=self.at, opponent_track="untargeted",
            baseline="gaussian-noise", rules=self.rules, sample_set=self.sets["validation"], samples=2, seed=1,
            state="failed",
        )  # fmt: skip
        evaluation = self._evaluation(submission, players, match)
        if self.rounds == 1:
            SiteIdentity.objects.create(value="a" * 32, made_at=self.at)
            UploadedDataSet.objects.create(
                name="birds",
                licence="CC BY 4.0",
                splits={"all": 100},
                class_names=["owl", "heron"],
                shape=[8, 8, 3],
                bytes=20_000,
                digest="d" * 64,
                repeated=0,
                uploaded_by=self.by,
                uploaded_at=self.at,
            )
            DataSetUpload.objects.create(name="herons", licence="CC BY 4.0", file_name="f.zip", uploaded_at=self.at)
            repository = submission.repository
            FrozenLeaderboards.objects.create(competition=repository.track.competition, since=self.at)
            CompetitionOrigin.objects.create(
                competition=repository.track.competition, slug="digits", address="https://old.example.org",
                version="1.0.0", signing_keys=[], exported_at=self.at, imported_at=self.at,
            )  # fmt: skip
            Standing.objects.create(track=repository.track, entry=repository.entry, evaluation=evaluation, rank=1)
        SubmissionChoice.objects.create(
            repository=submission.repository, submission=submission, made_by=self.by, made_at=self.at
        )
        Invitation.objects.create(
            team=submission.repository.entry.team,
            username=f"invited-{self.rounds}",
            user=self.by,
            invited_by=self.by,
            made_at=self.at,
            expires_at=self.at + timedelta(days=14),
        )
        PushCost.objects.create(team=submission.repository.entry.team, begun_at=self.at, ended_at=self.at, seconds=1.5)
        self._written(submission.repository)
        applicant = User.objects.create_user(f"applicant-{self.rounds}", is_active=False)
        AccountRequest.objects.create(user=applicant, made_at=self.at)
        SignUpLink.objects.create(
            note="a friend", made_by=self.by, made_at=self.at, expires_at=self.at + timedelta(days=14)
        )
        AccessToken.objects.create(
            user=self.by,
            name="laptop",
            scopes=["read"],
            digest=f"{self.rounds:064x}",
            start="gtl_abcd",
            created_at=self.at,
            expires_at=self.at + timedelta(days=30),
        )
        DeviceLogin.objects.create(
            client="gauntlet", address="192.0.2.1", device_digest=f"{self.rounds:064x}",
            user_digest=f"{self.rounds:064x}", made_at=self.at, expires_at=self.at, interval=5,
        )  # fmt: skip
        self._round(submission, players, match)
        self._webhook()
        event_log.record("submit", submission, by=self.by)
        return submission

    def _webhook(self) -> None:
        webhook = Webhook.objects.create(
            competition=self.rules.competition, address="https://bot.example/", events=["round.published"], nonce="n",
            made_at=self.at, made_by=self.by,
        )  # fmt: skip
        Delivery.objects.create(webhook=webhook, key=UUID(int=self.rounds), event="round.published", at=self.at)

    def _written(self, repository: Repository) -> None:
        competition, text = self.rules.competition, {"text": "Be fair."}
        Page.objects.get_or_create(competition=competition, name="prizes", defaults=text | {"changed_at": self.at})
        Announcement.objects.create(
            competition=competition, title="News", **text, published_at=self.at, changed_at=self.at
        )
        terms = TermsVersion.objects.create(
            competition=competition, version=self.rounds, **text, digest="d" * 64, created_at=self.at
        )
        TermsAcceptance.objects.create(entry=repository.entry, terms=terms, user=self.by, accepted_at=self.at)

    def _player(self, track_name: str) -> Player:
        return Player.objects.create(
            competition=self.rules.competition,
            track_name=track_name,
            digest=f"sha256:{self.rounds:064x}",
            title=f"a {track_name}",
            command=["python", "main.py"],
            repository=self.repositories[track_name],
            created_at=self.at,
        )

    def _submission(self, player: Player) -> Submission:
        common: dict[str, Any] = {
            "repository": self.repositories["model"],
            "commit": f"{self.rounds:040x}",
            "tag": f"submission-{self.rounds}",
        }
        submission = Submission.objects.create(
            **common,
            submitted_by=self.by,
            received_at=self.at,
            title="a model",
            licence="MIT",
            state="ready",
            state_since=self.at,
            player=player,
        )
        QuotaSlot.objects.create(
            **common, reserved_by=self.by, reserved_at=self.at, state=QuotaSlot.State.USED, submission=submission
        )
        build = Build.objects.create(
            submission=submission, attempt=1, worker="here", started_at=self.at, finished_at=self.at
        )
        LogChunk.objects.create(build=build, stage="build", first_line=1, lines=1, text="built", at=self.at)
        SigningKey.objects.create(public=f"{self.rounds:064x}", made_at=self.at)
        HostCredential.objects.create(host=f"gpu-{self.rounds}", made_by=self.by, made_at=self.at, expires_at=self.at)
        Host.objects.create(name=f"here-{self.rounds}", out_since=self.at, problem="no engine", check_due_at=self.at)
        HostComparison.objects.create(
            at=self.at,
            subject="match 1",
            player="sha256:1",
            played_on="here",
            repeated_on="there",
            compared=9,
            unequal=1,
        )
        return submission

    def _tournament(self, submission: Submission, players: dict[str, Player]) -> None:
        track = Track.objects.get(competition=self.rules.competition, name="untargeted")
        tournament, _ = Tournament.objects.get_or_create(
            rules=self.rules,
            sample_set=self.sets["validation"],
            defaults={"competition": self.rules.competition, "seed": 1, "made_at": self.at},
        )
        Entrant.objects.create(
            tournament=tournament,
            track=track,
            player=players["untargeted"],
            submission=submission,
            entered_at=self.at,
        )
        attack_run = AttackRun.objects.create(
            tournament=tournament,
            attack=players["untargeted"],
            batch=0,
            epsilon=8,
            images=6,
            state="failed",
            entry=self.repositories["model"].entry,
        )
        labelled = DefenceRun.objects.create(
            attack_run=attack_run, defence=players["model"], state="failed", labels=[1] * 6
        )
        PairTotal.objects.create(tournament=tournament, attack=players["untargeted"], defence=players["model"])
        RepeatRun.objects.create(
            tournament=tournament, defence=players["model"], number=0, state="failed", images=[[labelled.pk, 0]]
        )

    def _benchmark(self, submission: Submission) -> None:
        common = {"submission": submission, "rules": self.rules, "sample_set": self.sets["validation"]}
        threat = {"knowledge": "decision", "goal": "untargeted", "norm": "l2"}
        Benchmark.objects.create(**common, **threat, attack="boundary", queries=10, state="failed")
        ModelScore.objects.create(
            **common, **threat, accuracy=0.5, clean_accuracy=1.0, budgets=[1.0], curve=[0.5], scored_at=self.at
        )

    def _match(self, players: dict[str, Player]) -> Match:
        match = Match.objects.create(
            rules=self.rules,
            sample_set=self.sets["validation"],
            model=players["model"],
            attack=players["untargeted"],
            seed=1,
            state="failed",
            created_at=self.at,
        )
        worker = Worker.objects.create(
            name=f"here/{self.rounds}", worker_class="cpu", started_at=self.at, last_seen_at=self.at
        )
        entry = self.repositories["model"].entry
        hour = self.at + timedelta(hours=self.rounds)
        WorkerTime.objects.create(role="play", entry=entry, hour=hour, seconds=60.0)
        piece = Piece.objects.create(
            match=match, number=0, first=0, count=2, worker=worker, state="failed", entry=entry
        )
        SampleResult.objects.create(
            match=match,
            piece=piece,
            sample=0,
            outcome="adversarial",
            distance=0.5,
            worst_case=9.0,
            queries=10,
            seconds=0.1,
            found_label=7,
        )
        return match

    def _evaluation(self, submission: Submission, players: dict[str, Player], match: Match) -> Evaluation:
        track = Track.objects.get(competition=self.rules.competition, name="untargeted")
        pool = Pool.objects.create(track=track, number=self.rounds, made_at=self.at, reason="the first")
        PoolPlace.objects.create(pool=pool, place=1, player=players["untargeted"])
        evaluation = Evaluation.objects.create(
            submission=submission,
            pool=pool,
            sample_set=self.sets["validation"],
            rules=self.rules,
            state="scored",
            created_at=self.at,
            value=0.5,
        )
        evaluation.matches.add(match)
        Resamples.objects.create(evaluation=evaluation, medians=bytes(16))
        Snapshot.objects.create(track=track, made_at=self.at, reason="the final", rows=[])
        Rejudging.objects.create(competition=track.competition, reason="a broken worker", made_at=self.at)
        return evaluation

    def _round(self, submission: Submission, players: dict[str, Player], match: Match) -> None:
        played = Round.objects.create(
            competition=self.rules.competition,
            number=self.rounds,
            title=f"Round {self.rounds}",
            kind="development",
            window=FreezeWindow.objects.create(
                competition=self.rules.competition, starts_at=self.at, ends_at=self.at + timedelta(1), reason="round"
            ),
            sample_set=self._drawn(),
            salt="salt",
            commitment="c" * 64,
            state="published",
            state_since=self.at,
            planned_at=self.at,
            rules=self.rules,
        )
        track = submission.repository.track
        entered = RoundEntry.objects.create(
            round=played, track=track, submission=submission, player=players["model"], order=1, prior=1, place=1
        )
        proof = Proof.objects.create(
            round_entry=entered, by=self.by, uploaded_at=self.at, content="a" * 64, bytes=9, images=1, state="failed"
        )
        Improvement.objects.create(proof=proof, image=0, norm="l2", distance=0.5, at=self.at)
        RoundMatch.objects.create(round=played, match=match)
        panel: dict[str, list[str]] = {"models": [players["model"].digest], "attacks": []}
        stage = RoundStage.objects.create(
            round=played,
            bracket="untargeted",
            number=1,
            samples=6,
            ordered_by="median",
            panel=panel,
            counted=panel,
            loop=1,
            renewed=False,
        )
        Decision.objects.create(stage=stage, track=track, player=players["model"], place=1, value=0.5, kept=True)
        RoundWarning.objects.create(
            round=played, model=players["model"], attack=players["untargeted"], nearer=5, samples=8
        )
        Objection.objects.create(
            round=played, team=submission.repository.entry.team, text="A text.", made_at=self.at, made_by=self.by
        )
        Release.objects.create(round=played, part="bundle", released_at=self.at, released_by=self.by, content="b" * 64)

    def _drawn(self) -> SampleSet:
        drawn = SampleSet.objects.get(pk=self.sets["validation"].pk)
        drawn.pk, drawn.name, drawn.purpose, drawn.drawn_from = (
            None,
            f"round-{self.rounds}",
            "test",
            self.sets["validation"],
        )
        drawn.save()
        return drawn


@pytest.fixture
def rows(repositories: dict[str, Repository], rules: RulesVersion, sample_sets: dict[str, SampleSet]) -> Rows:
    """Factory for rows of every model."""
    return Rows(repositories, rules, sample_sets)
