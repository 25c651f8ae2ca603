"""Checks of a running installation: each says what it found, and what to do where something is wrong."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum, auto
from typing import NamedTuple

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.core.checks import ERROR, run_checks
from django.core.mail import get_connection
from django.db import connection

from core import clock, object_store
from core.disk_space import LEAST_FREE, free_bytes
from core.errors import GauntletError, Refusal
from core.missing_migrations_check import require_migrated
from core.site_identity import require_identity
from core.time_format import duration
from operations import queue_activity
from operations.backups.services import last_backup
from rounds.release import signing_keys
from workers.host_health import problem_of_host
from workers.models import Worker
from workers.queue import anything_waits
from workers.selectors import MAX_SKEW, hosts_out_of_service, last_sweep, live_workers, recent_workers

LONGEST_SWEEP = timedelta(minutes=2)
"""Age of the last sweep, or task of another queue, above which something between beat and its worker does not run."""

LONGEST_BACKUP = timedelta(days=1)
_BROKER_SECONDS = 5.0
_WITHOUT_TLS = frozenset({"security.W004", "security.W008", "security.W012", "security.W016"})
"""Django's checks of settings that GAUNTLET_HTTPS makes."""


class Level(StrEnum):
    """What a finding means: nothing to do, something to look at, or something that does not work."""

    OK = auto()
    WARNING = auto()
    PROBLEM = auto()


@dataclass(frozen=True)
class CheckFinding:
    """What a check found, and how to put it right; `fix` is "" where there is nothing to do."""

    subject: str
    level: Level
    text: str
    fix: str = ""


class _Checked(NamedTuple):
    """A check: its subject, the function, whether the checks after it need its success, and whether it is one of all
    hosts, also of those that lack the site's folder.
    """

    subject: str
    check: Callable[[], Iterable[CheckFinding]]
    needed: bool = False
    everywhere: bool = False


def examine(*, worker: bool) -> Iterator[CheckFinding]:
    """Yield the findings of all checks, in order; with `worker` also whether this host can play.

    A check that fails in an unexpected way is a problem, too. Without a database nothing after it is checked. A worker
    host with a folder of its own checks only what it needs itself.
    """
    checks = [each for each in CHECKS if each.everywhere or not settings.HOST_TOKEN]
    for each in [*checks, *([_Checked("this host", _this_host)] if worker else [])]:
        failed = False
        for finding in _findings(each.subject, each.check):
            failed |= finding.level == Level.PROBLEM
            yield finding
        if failed and each.needed:
            return


def _findings(subject: str, check: Callable[[], Iterable[CheckFinding]]) -> Iterator[CheckFinding]:
    try:
        yield from check()
    except Refusal as refusal:
        yield CheckFinding(subject, Level.PROBLEM, refusal.problem, refusal.fix)
    except Exception as error:  # whatever is wrong, the checks after it are of use
        problem, _, fix = str(error).partition("\n  fix: ")
        known = isinstance(error, GauntletError)
        yield CheckFinding(subject, Level.PROBLEM, problem if known else f"{type(error).__name__}: {problem}", fix)


def _settings() -> Iterator[CheckFinding]:
    found = [message for message in run_checks(include_deployment_checks=True) if not message.is_silenced()]
    if any(message.id in _WITHOUT_TLS for message in found):
        fix = "put a proxy that terminates TLS in front of it, and set GAUNTLET_HTTPS=true"
        yield CheckFinding(
            "settings", Level.WARNING, "the site is served without TLS: passwords can be read on the way", fix
        )
    for message in found:
        if message.id not in _WITHOUT_TLS:
            level = Level.PROBLEM if message.level >= ERROR else Level.WARNING
            yield CheckFinding("settings", level, f"{message.msg} ({message.id})", message.hint or "")
    if not found:
        yield CheckFinding("settings", Level.OK, "Django's checks of a deployment find nothing")


def _database() -> Iterator[CheckFinding]:
    require_migrated()
    if connection.vendor == "sqlite":
        yield CheckFinding(
            "database", Level.WARNING, "SQLite serves one host and one writer", "set DATABASE_URL to PostgreSQL"
        )
    else:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            (version,) = cursor.fetchone()
        yield CheckFinding("database", Level.OK, f"PostgreSQL {version} has all migrations")


def _identity() -> Iterator[CheckFinding]:
    require_identity()
    text = f"{settings.STATE} is that of the database"
    if settings.HOST_TOKEN:
        text = f"{settings.STATE} is this host's own; {settings.SITE_ADDRESS}, where the repositories are, lets it read"
    yield CheckFinding("state folder", Level.OK, text)


def _disk() -> Iterator[CheckFinding]:
    free = free_bytes()
    enough = free >= LEAST_FREE
    fix = "" if enough else "free some, or enlarge it: pushes, builds and results need space"
    level = Level.OK if enough else Level.WARNING
    yield CheckFinding("disk", level, f"{free / 2**30:,.1f} GiB are free for the state folder", fix)


def _object_store() -> Iterator[CheckFinding]:
    object_store.check()
    yield CheckFinding("object store", Level.OK, "a file was written and removed")


def _git() -> Iterator[CheckFinding]:
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Refusal(f"git cannot be run: {error}", fix="install it: apt-get install git") from error
    yield CheckFinding("git", Level.OK, done.stdout.strip())


def _cache() -> Iterator[CheckFinding]:
    key, value = f"doctor-{uuid.uuid4().hex}", "found"
    cache.set(key, value, 60)
    found = cache.get(key)
    cache.delete(key)
    if found != value:
        raise Refusal("what was stored is not found", fix="start Redis, or correct GAUNTLET_CACHE")
    yield CheckFinding("cache", Level.OK, "what was stored is found")


def _broker() -> Iterator[CheckFinding]:
    try:
        with current_app.connection_for_write() as opened:
            opened.ensure_connection(max_retries=1, timeout=_BROKER_SECONDS)
    except Exception as error:
        raise Refusal(
            f"the broker cannot be reached: {error}", fix="start Redis, or correct GAUNTLET_BROKER"
        ) from error
    yield CheckFinding("broker", Level.OK, "it answers")


def _sweep() -> Iterator[CheckFinding]:
    swept = last_sweep()
    if swept is None or clock.now() - swept > LONGEST_SWEEP:
        when = "never" if swept is None else f"{duration((clock.now() - swept).total_seconds())} ago"
        raise Refusal(
            f"the last sweep was {when}: nothing is scored, and lost work stays lost",
            fix="start beat, and a worker of the queue `default` (docs/operating.md, Programs); see their logs",
        )
    yield CheckFinding("sweep", Level.OK, "beat and a scorer run")


def _queues() -> Iterator[CheckFinding]:
    for queue, waiting in queue_activity.WATCHED_QUEUES.items():
        taken = queue_activity.last_task(queue)
        if taken is None or clock.now() - taken > LONGEST_SWEEP:
            ago = "yet" if taken is None else f"for {duration((clock.now() - taken).total_seconds())}"
            yield CheckFinding(
                "queues",
                Level.PROBLEM,
                f"no worker has taken a task of `{queue}` {ago}: {waiting}",
                f"start a worker of the queue `{queue}` (docs/operating.md, Programs), or see its log: one that is "
                "busy, for example with a large data set, takes the next task afterwards",
            )
        else:
            yield CheckFinding("queues", Level.OK, f"a worker takes tasks of `{queue}`")


def _workers() -> Iterator[CheckFinding]:
    live = list(live_workers())
    if not live and Worker.objects.exists() and not (recent_workers() or anything_waits()):
        yield CheckFinding("workers", Level.OK, "all have stopped, as those of a cluster do when nothing waits")
    elif not live:
        yield CheckFinding(
            "workers", Level.PROBLEM, "none is live, so nothing is played", "start one of the queue `play`; see its log"
        )
    else:
        yield CheckFinding(
            "workers", Level.OK, f"{len(live)} live: {', '.join(sorted(each.name for each in live)[:8])}"
        )
    for host in hosts_out_of_service():
        drained = "look at its results, then return it to service in the admin"
        fix = drained if host.is_drained else "repair it; it checks itself, and then takes work again"
        yield CheckFinding("workers", Level.PROBLEM, f"{host.name} is out of service: {host.problem}", fix)
    for each in live:
        if abs(each.clock_skew) > MAX_SKEW:
            text = f"the clock of {each.name} differs from the database's by {each.clock_skew:+.1f} s"
            yield CheckFinding("workers", Level.WARNING, text, "run NTP on its host")


def _clock() -> Iterator[CheckFinding]:
    _, ahead = clock.compare()
    right = abs(ahead) <= MAX_SKEW
    text = f"this host's clock differs from the database's by {ahead:+.2f} s"
    yield CheckFinding("clock", Level.OK if right else Level.WARNING, text, "" if right else "run NTP on this host")


def _signing_key() -> Iterator[CheckFinding]:
    text = "its secret is there" if signing_keys.require_secret() else "none yet: the first release makes it"
    yield CheckFinding("signing key", Level.OK, text)


def _mail() -> Iterator[CheckFinding]:
    if not settings.EMAIL_HOST:
        yield CheckFinding("mail", Level.OK, "no mail server is set, so none is sent")
        return
    server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        opened = get_connection()
        opened.open()
        opened.close()
    except OSError as error:  # smtplib's errors are, too
        raise Refusal(
            f"{server} cannot be used: {error}", fix="correct GAUNTLET_EMAIL_HOST, its port, user and password"
        ) from error
    yield CheckFinding("mail", Level.OK, f"{server} answers")


def _backup() -> Iterator[CheckFinding]:
    newest = last_backup()
    if newest is None or clock.now() - newest.at > LONGEST_BACKUP:
        text = "none was made with `manage.py backup`"
        if newest is not None:
            text = f"the last one is {duration((clock.now() - newest.at).total_seconds())} old"
        yield CheckFinding("backup", Level.WARNING, text, "run it every hour (docs/operating.md, Backup and recovery)")
    else:
        yield CheckFinding(
            "backup",
            Level.OK,
            f"{newest.data.get('snapshot')} is {duration((clock.now() - newest.at).total_seconds())} old",
        )


def _this_host() -> Iterator[CheckFinding]:
    if problem := problem_of_host():
        raise problem
    yield CheckFinding("this host", Level.OK, f"its sandbox ({settings.SANDBOX}) has all guards, and it is fast enough")


CHECKS = (
    _Checked("database", _database, needed=True, everywhere=True),
    _Checked("settings", _settings),
    _Checked("state folder", _identity, everywhere=True),
    _Checked("disk", _disk, everywhere=True),
    _Checked("object store", _object_store, everywhere=True),
    _Checked("git", _git, everywhere=True),
    _Checked("cache", _cache),
    _Checked("broker", _broker, everywhere=True),
    _Checked("sweep", _sweep),
    _Checked("queues", _queues),
    _Checked("workers", _workers),
    _Checked("clock", _clock, everywhere=True),
    _Checked("signing key", _signing_key),
    _Checked("mail", _mail),
    _Checked("backup", _backup),
)
