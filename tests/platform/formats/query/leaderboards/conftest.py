"""A small competition: two players in each pool, and matches whose rows are made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import pytest

from accounts.models import Team, User
from competitions.models import Competition, Entry, SampleSet, Track
from core import clock
from formats.query.leaderboards import services
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.leaderboards.scoring import score_finished
from formats.query.matches.models import Match, SampleResult
from repositories.models import Repository
from submissions.models import Player, QuotaSlot, Submission

WORST_CASE = 9.0
PASSED = {"replayed": 20, "changed": 0, "judged": 6, "denied": 0, "fresh": 6, "fresh_changed": 0, "passed": True}


@dataclass
class BoardFixture:
    """Creates rows. Distances of a match: -1 is no adversarial, 0 a misclassified clean image."""

    competition: Competition
    tracks: dict[str, Track]
    sample_set: SampleSet
    numbers: count[int]

    def player(self, kind: str, title: str, repository: Repository | None = None) -> Player:
        """Create a baseline, or a player that a team submitted."""
        return Player.objects.create(
            competition=self.competition,
            track_name=kind,
            digest=f"sha256:{next(self.numbers):064x}",
            title=title,
            command=["python", "main.py"],
            baseline="" if repository else title,
            repository=repository,
            created_at=clock.now(),
        )

    def pool(self, kind: str, *titles: str) -> Pool:
        players = [self.player(kind, title) for title in titles]
        return services.set_pool(track=self.tracks[kind], players=players, reason="a test")

    def entry(self, slug: str) -> Entry:
        team = Team.objects.create(slug=slug, name=slug.title(), created_at=clock.now())
        return Entry.objects.create(team=team, competition=self.competition, joined_at=clock.now())

    def submission(self, entry: Entry, kind: str, by: User) -> Submission:
        """Create a ready submission with a used slot."""
        number, now = next(self.numbers), clock.now()
        repository, _ = Repository.objects.get_or_create(
            entry=entry, track=self.tracks[kind], defaults={"created_at": now}
        )
        names = {"repository": repository, "commit": f"{number:040x}", "tag": f"submission-{number}"}
        submission = Submission.objects.create(
            **names,
            submitted_by=by,
            received_at=now,
            title=f"{entry.team.slug} {number}",
            licence="MIT",
            state=Submission.State.READY,
            state_since=now,
            player=self.player(kind, f"{entry.team.slug} {number}", repository),
        )
        QuotaSlot.objects.create(**names, reserved_by=by, reserved_at=now, state="used", submission=submission)
        return submission

    def play(self, match: Match, distances: Sequence[float], *, seconds: float = 0.1, queries: int = 10) -> None:
        """Play a match to its end, with one row for each of `distances`."""
        pieces = list(match.pieces.all())
        rows = []
        for piece in pieces:
            for sample in range(piece.first, piece.first + piece.count):
                distance = distances[sample]
                outcome = "failed" if distance < 0 else "clean_wrong" if distance == 0 else "adversarial"
                rows.append(
                    SampleResult(
                        match=match,
                        piece=piece,
                        sample=sample,
                        outcome=outcome,
                        distance=WORST_CASE if distance < 0 else distance,
                        worst_case=WORST_CASE,
                        queries=queries,
                        seconds=seconds,
                    )
                )
        # written backwards: the order of rows must not matter
        SampleResult.objects.bulk_create(reversed(rows))
        self.end(match, Match.State.PLAYED, PASSED)

    def end(self, match: Match, state: str, audit: dict[str, int | bool]) -> None:
        match.pieces.update(state="played" if state == "played" else "failed")
        Match.objects.filter(pk=match.pk).update(state=state, audit=audit, finished_at=clock.now())

    def score(self, submission: Submission, distance: float) -> Evaluation:
        """Evaluate a submission and play all its matches: the same distance for every sample."""
        (evaluation,) = self.score_all({submission: distance})
        return evaluation

    def score_all(self, distances: Mapping[Submission, float]) -> list[Evaluation]:
        """Evaluate several submissions at the same time, each with its distance, and play all their matches."""
        evaluations = []
        for submission, distance in distances.items():
            evaluation = services.evaluate(submission)
            assert evaluation is not None
            evaluations.append(evaluation)
            for match in evaluation.matches.filter(state=Match.State.WAITING):
                self.play(match, [distance] * self.sample_set.count)
        score_finished()
        for evaluation in evaluations:
            evaluation.refresh_from_db()
        return evaluations

    def table(self, kind: str) -> list[tuple[int | None, str, int | None]]:
        """Return the stored leaderboard: rank, team, previous rank."""
        rows = self.tracks[kind].standings.order_by("place", "entry__team__slug")
        return list(rows.values_list("rank", "entry__team__slug", "previous_rank"))


@pytest.fixture
def env(competition: Competition, tracks: dict[str, Track], sample_sets: dict[str, SampleSet]) -> BoardFixture:
    """The competition on six validation samples; no pools yet."""
    return BoardFixture(competition, tracks, sample_sets["validation"], count(1))


@pytest.fixture
def attack_pool(env: BoardFixture) -> Pool:
    """Two untargeted attacks."""
    return env.pool("untargeted", "noise", "boundary")


@pytest.fixture
def model_pool(env: BoardFixture) -> Pool:
    """Two models."""
    return env.pool("model", "plain", "robust")
