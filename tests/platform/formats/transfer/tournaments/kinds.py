"""What a test of every kind of work does differently for each: make items, commit, cancel and replay them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from accounts.models import User
from competitions.models import Entry
from evaluation.formats.query.results import AuditReport
from formats.curves.benchmark_work import benchmarks
from formats.curves.best_known.proof_work import proofs
from formats.curves.models import Benchmark, Proof
from formats.query.challenges.challenge_work import challenges
from formats.query.challenges.models import Challenge
from formats.query.matches import piece_queue as matches
from formats.query.matches import services as match_services
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import PlayedPiece
from formats.transfer.tournaments import run_queue as tournaments
from formats.transfer.tournaments.models import AttackRun, Tournament
from formats.transfer.tournaments.run_requests import cancel_runs
from formats.transfer.tournaments.run_work import runs
from submissions import build_queue
from submissions import services as submissions
from submissions.build_outcomes import PLATFORM_FAULTS
from submissions.models import Build, Submission
from tests.platform.formats.transfer.tournaments.results import result
from workers import queue
from workers.lease import Heartbeat, LostClaimError
from workers.models import Priority
from workers.queue import Claimed


class Kind(ABC):
    """A kind of work under test. `fixture` makes some waiting items."""

    fixture: str
    priority = Priority.BOARD
    """That of its items."""
    kept_when_cancelled = False
    """Whether an item that is held when it is cancelled is still committed."""
    swept_under_lock = False
    """Whether the sweep locks rows before it looks at the lease again; otherwise it writes in one UPDATE."""

    def row(self, claimed: Claimed) -> Any:
        """Return the leased row."""
        return claimed.kind.row(claimed.claim)

    def item(self, claimed: Claimed) -> int:
        """Return the key of the item, which stays the same from claim to claim."""
        key: int = self.row(claimed).pk
        return key

    def entry(self, claimed: Claimed) -> Entry | None:
        """Return the team that uses the workers."""
        entry: Entry | None = self.row(claimed).entry
        return entry

    def faults(self, claimed: Claimed) -> int:
        """Return how many faults of the item count."""
        row = self.row(claimed)
        row.refresh_from_db()
        faults: int = row.faults
        return faults

    @abstractmethod
    def leave(self, item: int) -> None:
        """Delete all items but one."""

    @abstractmethod
    def commit(self, claimed: Claimed) -> None:
        """Write a result; raise `LostClaimError`."""

    @abstractmethod
    def cancel(self) -> None:
        """Cancel all items."""

    @abstractmethod
    def replay(self, item: int, by: User) -> None:
        """Put an item that was given up back into the queue."""


class Pieces(Kind):
    fixture = "match"

    def leave(self, item: int) -> None:
        Piece.objects.exclude(pk=item).delete()

    def commit(self, claimed: Claimed) -> None:
        matches.commit(claimed.claim, PlayedPiece((), 0.4, AuditReport(replayed=4, judged=2), [], "a" * 64))

    def cancel(self) -> None:
        match_services.cancel(Match.objects.all())
        queue.take_back()

    def replay(self, item: int, by: User) -> None:
        match_services.replay_failed(Match.objects.get(pieces=item), by)


class Runs(Kind):
    fixture = "attacked"

    def leave(self, item: int) -> None:
        AttackRun.objects.exclude(pk=item).delete()

    def commit(self, claimed: Claimed) -> None:
        tournaments.commit(claimed.claim, result(claimed.claim))

    def cancel(self) -> None:
        cancel_runs(Tournament.objects.get(), [])

    def replay(self, item: int, by: User) -> None:
        runs.replay(AttackRun.objects.get(pk=item), by)


class Builds(Kind):
    fixture = "submitted"
    swept_under_lock = True

    def item(self, claimed: Claimed) -> int:
        key: int = self.row(claimed).submission_id
        return key

    def entry(self, claimed: Claimed) -> Entry | None:
        entry: Entry = self.row(claimed).submission.repository.entry
        return entry

    def faults(self, claimed: Claimed) -> int:
        return Build.objects.filter(submission=self.item(claimed), outcome__in=PLATFORM_FAULTS).count()

    def leave(self, item: int) -> None:
        Submission.objects.exclude(pk=item).delete()

    def commit(self, claimed: Claimed) -> None:
        if not build_queue.refuse(claimed.claim, "build_failed", "a test", "none"):
            raise LostClaimError

    def cancel(self) -> None:
        for submission in Submission.objects.all():
            submissions.withdraw(submission=submission, by=submission.submitted_by)

    def replay(self, item: int, by: User) -> None:
        submissions.retry(submission=Submission.objects.get(pk=item), by=by, reason="the disk was emptied")


class Benchmarks(Kind):
    fixture = "benchmarked"

    def leave(self, item: int) -> None:
        Benchmark.objects.exclude(pk=item).delete()

    def commit(self, claimed: Claimed) -> None:
        with claimed.kind.session(claimed.claim, Heartbeat()) as session:
            session.play(claimed.claim)

    def cancel(self) -> None:
        for submission in Submission.objects.all():
            submissions.withdraw(submission=submission, by=submission.submitted_by)
        queue.take_back()

    def replay(self, item: int, by: User) -> None:
        benchmarks.replay(Benchmark.objects.get(pk=item), by)


class Proofs(Kind):
    fixture = "proven"
    kept_when_cancelled = True

    def leave(self, item: int) -> None:
        Proof.objects.exclude(pk=item).delete()

    def commit(self, claimed: Claimed) -> None:
        with claimed.kind.session(claimed.claim, Heartbeat()) as session:
            session.play(claimed.claim)

    def cancel(self) -> None:
        waiting = Proof.objects.filter(state=Proof.State.WAITING)
        waiting.update(faults=1)  # only such can be given up
        for proof in waiting:
            proofs.give_up(proof, proof.by, "a test")

    def replay(self, item: int, by: User) -> None:
        proofs.replay(Proof.objects.get(pk=item), by)


class Challenges(Kind):
    fixture = "challenged"
    priority = Priority.UNRANKED

    def leave(self, item: int) -> None:
        Challenge.objects.exclude(pk=item).delete()

    def commit(self, claimed: Claimed) -> None:
        with claimed.kind.session(claimed.claim, Heartbeat()) as session:
            session.play(claimed.claim)

    def cancel(self) -> None:
        for submission in Submission.objects.all():
            submissions.withdraw(submission=submission, by=submission.submitted_by)
        queue.take_back()

    def replay(self, item: int, by: User) -> None:
        challenges.replay(Challenge.objects.get(pk=item), by)


KINDS: dict[str, Kind] = {
    "pieces": Pieces(), "runs": Runs(), "builds": Builds(), "benchmarks": Benchmarks(), "proofs": Proofs(),
    "challenges": Challenges(),
}  # fmt: skip
"""The kinds of work by their names."""
