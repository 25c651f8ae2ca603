"""Many workers at one PostgreSQL: what their claims, heartbeats and commits cost, and that each piece counts once.

Simulated workers make the calls of real ones, through the site's own functions, and wait where a real one plays. Some
processes share few connections, as behind a pooler: see docs/scaling.md.
"""

from __future__ import annotations

import heapq
import importlib
import itertools
import os
import random
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from statistics import fmean, quantiles
from typing import Any

import django
from django.db import connection

from bench.interleaved import say
from bench.pages import database_seconds, own_database
from bench.programs import NotAvailableError
from bench.report import Section, table
from bench.sizes import sized
from bench.tables import make_tables

WORKERS = sized((10, 100, 1000, 2000), smallest=(4,))
SLOTS = sized(100, smallest=2)
"""Workers of a host at most."""
PLAY_SECONDS = sized(45.0, smallest=0.2)
"""A piece takes this long, more or less by half: ten samples, 1,000 queries each, of a small network on one core."""
WARM_SECONDS = sized(60.0, smallest=0.2)
"""The workers start within this time, so that they do not all claim at once; what happens in it is not counted."""
SECONDS = sized(60.0, smallest=1.0)
PROCESSES, CONNECTIONS = sized(4, smallest=2), sized(4, smallest=2)
"""Processes of clients, and the connections of each: the last one has the heartbeats, as each worker has a thread."""
TEAMS, PIECES, SAMPLES = sized(50, smallest=2), sized(20, smallest=2), 10
"""Teams that wait, pieces of a match, and samples of a piece."""
MATCHES = sized(400, smallest=20)
AUDITED = 5
"""The model of one match in so many is audited: the others are bundled."""
SWEEP_SECONDS = 10.0
TARGET = "under 200 ms"

SHOWN = {
    "claim": "a claim of any work",
    "next": "a claim of the next piece of the match",
    "commit": "a commit of 10 samples",
    "audit": "a commit of an audit",
    "beat": "a heartbeat",
    "sweep": "a sweep, every 10 s",
}


@dataclass
class Seen:
    """What one kind of call took: wall time, processor time of the database, and how late it began, in seconds.

    These are of the counted time. Of all times are the calls `lost`, which found the lease expired, and `made`.
    """

    wall: list[float] = field(default_factory=list)
    database: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    made: int = 0
    lost: int = 0

    def add(self, other: Seen) -> None:
        """Add the calls of another process."""
        self.wall += other.wall
        self.database += other.database
        self.late += other.late
        self.made += other.made
        self.lost += other.lost


def measure() -> Section:
    """Measure on a database of its own; raise `NotAvailableError` without PostgreSQL."""
    if not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        raise NotAvailableError('many workers need PostgreSQL: run eval "$(.ci/services start)"')
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder, own_database(folder) as address:
        os.environ |= {"GAUNTLET_STATE": folder, "DATABASE_URL": address}
        django.setup()
        say("many workers: creating the site")
        make_tables()
        try:
            return _measure()
        finally:
            connection.close()


def _measure() -> Section:
    rows: list[list[str]] = []
    totals: list[list[str]] = []
    for number in WORKERS:
        say(f"many workers: {number}")
        _fill(f"bench-{number}")
        seen = _simulate(number)
        _require_each_once(seen["commit"].made)
        rows += [_row(number, kind, seen[kind]) for kind in SHOWN if seen[kind].wall]
        totals.append(_total(number, seen))
    return Section(
        "Many workers",
        [
            f"Simulated workers on hosts of {SLOTS}, each playing for {PLAY_SECONDS:.0f} s (more or less by half) "
            f"between a claim and a commit, over {PROCESSES * CONNECTIONS} connections, which they share as behind a "
            f"pooler; {SECONDS:.0f} s each. Each commit played another piece, with exactly one result of each sample.",
            "",
            *table(
                ["workers", "call", "a second", "median", "95th percentile", "99th", "the database's processor time"],
                rows,
            ),
            "",
            *table(
                [
                    "workers",
                    "target of a claim",
                    "95th percentile of all claims",
                    "database, of one core",
                    "of it heartbeats",
                    "leases that expired",
                    "calls began late by (95th percentile)",
                ],
                totals,
            ),
        ],
    )


def _fill(slug: str) -> None:
    """Create a competition with waiting matches, and forget those before."""
    crowd, now = _module("bench.synthetic_competition"), _module("core.clock").now()
    models, workers = _module("formats.query.matches.models"), _module("workers.models")
    models.Match.objects.all().delete()
    workers.Worker.objects.all().delete()
    competition = crowd.make_competition(slug)
    track = competition.tracks.get(name="model")
    entries = [each.entry for each in crowd.make_entries(competition, track, TEAMS, prefix=f"{slug}-")]
    players = [crowd.make_player(competition, "model", f"{slug} model {place}") for place in range(TEAMS)]
    attack = crowd.make_player(competition, "untargeted", f"{slug} attack")
    rules, samples = competition.rules_versions.get(), competition.sample_sets.get()
    matches = models.Match.objects.bulk_create(
        models.Match(rules=rules, sample_set=samples, model=players[place % TEAMS], attack=attack,
                     repetition=place // TEAMS, seed=1, created_at=now)
        for place in range(MATCHES)
    )  # fmt: skip
    models.Piece.objects.bulk_create(
        (
            models.Piece(match=match, number=number, first=number * SAMPLES, count=SAMPLES,
                         entry=entries[place % TEAMS], queued_at=now)
            for place, match in enumerate(matches)
            for number in range(PIECES)
        ),
        batch_size=2000,
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _simulate(workers: int) -> Mapping[str, Seen]:
    """Let so many workers work; return what their calls took."""
    names = [f"host-{place // SLOTS}/{place % SLOTS}" for place in range(workers)]
    connection.close()
    shares = [names[number::PROCESSES] for number in range(PROCESSES)]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("fork")) as pool:
        parts = list(pool.map(_clients, shares, range(PROCESSES)))
    sums: defaultdict[str, Seen] = defaultdict(Seen)
    for part in parts:
        for kind, seen in part.items():
            sums[kind].add(seen)
    return sums


def _clients(names: Sequence[str], number: int) -> dict[str, Seen]:
    """Simulate the workers `names` in this process."""
    return Clients(names, number).run()


_Call = tuple[float, int, str, Callable[[float], None]]
"""A moment, a number that keeps the order, the kind of a call, and what makes it."""


class Clients:
    """The simulated workers of one process: calls that are due at a time, and threads that make them."""

    def __init__(self, names: Sequence[str], number: int) -> None:
        slots = [Slot(name, self) for name in names]
        begins = time.time()  # after all imports
        self._random = random.Random(number)
        self._counted = begins + WARM_SECONDS
        self._ends = self._counted + SECONDS
        self._seen: defaultdict[str, Seen] = defaultdict(Seen)
        self._due: tuple[list[_Call], list[_Call]] = ([], [])
        """By whether they are heartbeats."""
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._errors: list[BaseException] = []
        for slot in slots:
            self.at(begins + self._random.uniform(0, WARM_SECONDS), "register", slot.register)
        if number == 0:
            self.at(begins + WARM_SECONDS / 2, "sweep", self._sweep)

    def run(self) -> dict[str, Seen]:
        """Work until the end; return what the calls of the counted time took."""
        threads = [
            threading.Thread(target=self._work, args=(number == CONNECTIONS - 1,)) for number in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]
        return dict(self._seen)

    def at(self, moment: float, kind: str, call: Callable[[float], None]) -> None:
        """Make a call at a moment; nothing begins after the end except commits, which then are due at once."""
        if moment >= self._ends:
            if kind not in ("commit", "audit"):
                return
            moment = self._ends
        with self._changed:
            heapq.heappush(self._due[kind == "beat"], (moment, next(self._order), kind, call))
            self._changed.notify_all()

    def playing(self) -> float:
        """Return the seconds that a piece takes."""
        return PLAY_SECONDS * self._random.uniform(0.5, 1.5)

    def _work(self, beats: bool) -> None:
        try:
            database_seconds()  # connects
            while (call := self._next(self._due[beats])) is not None:
                self._make(*call)
        except BaseException as error:  # reported by `run`
            with self._changed:
                self._errors.append(error)
        finally:
            connection.close()

    def _next(self, due: list[_Call]) -> _Call | None:
        """Wait for the next call of `due`; None at the end."""
        with self._changed:
            while not self._errors:
                wait = (due[0][0] if due else self._ends) - time.time()
                if wait <= 0:
                    return heapq.heappop(due) if due else None
                self._changed.wait(wait)
        return None

    def _make(self, due: float, _: int, kind: str, call: Callable[[float], None]) -> None:
        before, start, seen = database_seconds(), time.time(), self._seen[kind]
        try:
            call(start)
            seen.made += 1
        except _module("workers.lease").LostClaimError:
            seen.lost += 1
        if self._counted <= due < self._ends:
            seen.wall.append(time.time() - start)
            seen.database.append(database_seconds() - before)
            seen.late.append(start - due)

    def _sweep(self, start: float) -> None:
        """Do what the site's programs do every 10 s."""
        queue = _module("workers.queue")
        queue.expire()
        queue.anything_waits()
        queue.idle_workers()
        _module("core.table_versions").fold()
        self.at(start + SWEEP_SECONDS, "sweep", self._sweep)


class Slot:
    """A simulated worker."""

    def __init__(self, name: str, clients: Clients) -> None:
        self._name, self._clients = name, clients
        self._services, self._heartbeats = _module("workers.services"), _module("workers.heartbeat")
        self._queue, self._pieces = _module("workers.queue"), _module("formats.query.matches.piece_queue")
        self._results = _module("formats.query.matches.piece_result")
        self._beat_seconds = sized(_module("workers.lease").BEAT_SECONDS, smallest=0.1)

    def register(self, start: float) -> None:
        """Do what a process does at its start."""
        now = _module("core.clock").database_now()
        self._row = self._services.record_worker(
            name=self._name, worker_class="cpu", device="", calibration=1.0, started_at=now
        )
        self._heartbeat = self._heartbeats.WorkerHeartbeat(self._row)
        self._clients.at(start + self._beat_seconds, "beat", self.beat)
        self._clients.at(start, "claim", self.claim)

    def beat(self, start: float) -> None:
        """Send a heartbeat."""
        self._heartbeat.beat()
        self._clients.at(start + self._beat_seconds, "beat", self.beat)

    def claim(self, start: float) -> None:
        """Claim any work."""
        found = self._queue.claim(self._row)
        if found is None:
            raise RuntimeError("nothing waits any more: the measurement needs more matches")
        self._play(found.claim)

    def claim_next(self, match: Any) -> None:
        """Claim the next piece of the match that is played; else, soon, any work."""
        found = self._pieces.claim_next(self._row, match)
        if found is None:
            self._clients.at(time.time(), "claim", self.claim)
        else:
            self._play(found)

    def _play(self, claim: Any) -> None:
        _module("workers.worker_loop").hold(_module("formats.query.matches.piece_work").pieces, claim, self._heartbeat)
        kind, commit = ("audit", self._commit_audit) if claim.piece.is_audit else ("commit", self._commit)
        self._clients.at(time.time() + self._clients.playing(), kind, lambda _: self._end(claim, commit))

    def _end(self, claim: Any, commit: Callable[[Any], None]) -> None:
        """Commit a claimed piece or audit, and claim what follows."""
        match = None
        try:
            commit(claim)
            if not claim.piece.is_audit and _module("workers.host_health").may_claim():
                match = claim.piece.match
        finally:
            self._heartbeat.drop(claim.piece)
            if match is None:
                self._clients.at(time.time(), "claim", self.claim)
            else:
                self._clients.at(time.time(), "next", lambda _: self.claim_next(match))

    def _commit(self, claim: Any) -> None:
        results, piece = _module("evaluation.formats.query.results"), claim.piece
        row = {"label": 0, "target": None, "distance": 1.0, "worst_case": 2.0, "queries": 1000, "seconds": 1.0}
        samples = tuple(
            results.RefereedSample(sample=piece.first + place, outcome=results.Outcome.ADVERSARIAL, reason=None, **row)
            for place in range(piece.count)
        )
        kept = f"{piece.pk:064x}" if piece.match_id % AUDITED == 0 else ""
        audit = results.AuditReport()
        self._pieces.commit(claim, self._results.PlayedPiece(samples, 1.0, audit, [], f"{piece.pk:064x}", kept, 0.5))

    def _commit_audit(self, claim: Any) -> None:
        pieces, results = _module("formats.query.matches.models").Piece, _module("evaluation.formats.query.results")
        audited = [
            self._results.AuditedPiece(each.pk, each.kept, results.AuditReport(), each.artefact)
            for each in pieces.objects.filter(match=claim.piece.match_id).exclude(kept="")
        ]
        self._pieces.commit_audit(claim, audited)


def _require_each_once(commits: int) -> None:
    """Raise RuntimeError unless each commit of `commits` played another piece, with all of its results."""
    models = _module("formats.query.matches.models")
    played = models.Piece.objects.filter(state="played")
    results = models.SampleResult.objects.all()
    facts = {
        "pieces that are still held": models.Piece.objects.filter(state="claimed").count(),
        "pieces that are missing": MATCHES * PIECES - models.Piece.objects.filter(kind="play").count(),
        "pieces without a commit": played.count() - commits,
        "results of samples that are missing or too many": results.count() - SAMPLES * played.count(),
        "results of pieces that were not played": results.exclude(piece__in=played).count(),
    }
    wrong = [f"{what}: {count}" for what, count in facts.items() if count]
    if wrong or not commits:
        raise RuntimeError("; ".join(wrong) or "no piece was played")


def _row(workers: int, kind: str, seen: Seen) -> list[str]:
    return [
        f"{workers:,}",
        SHOWN[kind],
        f"{len(seen.wall) / SECONDS:.1f}",
        *(_milliseconds(_percentile(seen.wall, percent)) for percent in (50, 95, 99)),
        _milliseconds(fmean(seen.database)),
    ]


def _total(workers: int, seen: Mapping[str, Seen]) -> list[str]:
    claims = seen["claim"].wall + seen["next"].wall
    used = sum(sum(each.database) for each in seen.values())
    late = [each for one in seen.values() for each in one.late]
    return [
        f"{workers:,}",
        TARGET,
        _milliseconds(_percentile(claims, 95)),
        f"{100 * used / SECONDS:.0f} %",
        f"{100 * sum(seen['beat'].database) / SECONDS:.0f} %",
        str(seen["commit"].lost + seen["audit"].lost),
        _milliseconds(_percentile(late, 95)),
    ]


def _percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else sum(values)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


def _module(name: str) -> Any:
    """Return a module that imports models: they wait until Django is set up."""
    return importlib.import_module(name)


if __name__ == "__main__":
    print(measure().text())
