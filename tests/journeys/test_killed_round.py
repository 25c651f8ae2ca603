"""Rounds whose processes and services fail repeatedly have the same outcomes as undisturbed ones.

The undisturbed ones are played by one process. The disturbed ones are played by jobs of a cluster of two nodes, or by
two hosts with networks and disks of their own. Their workers share no folder with the site: they read objects from a
bucket, and commits from the web server. PostgreSQL and Redis are restarted and away meanwhile, so they are none that
other tests use.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg2
import pytest
import requests

from core.errors import Fault
from demo.git_push import push_copy
from tests.journeys.remote_players import CELERY, LOOPBACK, MANAGE, Hosts, Jobs, Players, begin, end
from tests.object_server import ObjectServer
from tests.own_services import OwnServices

SET_UP = "import django, runpy; django.setup(); runpy.run_path('tests/journeys/small_rounds.py', run_name='__main__')"
BEAT = [sys.executable, "-m", "celery", "--app", "config", "beat", "--loglevel", "INFO"]
WEB = [sys.executable, "-m", "gunicorn", "config.wsgi:application", "--worker-class", "gthread", "--threads", "4"]
KILLED = ("web", "builder", "beat", "object store")
"""What is killed without warning, and started again, beside what plays."""
AWAY = (2.0, 8.0, 20.0)
"""Seconds for which a service may be away."""
OUTAGES = (
    *("connections ended", "database restarted", "database crashed", "database away"),
    *("messages lost", "broker flushed", "broker restarted", "broker away", "objects away"),
)
"""What else may happen."""
FAILURES = int(os.environ.get("GAUNTLET_FAILURES", "6"))
"""How many of all these, 16 with those of what plays, happen in the rounds, one after the other."""
PAGES = ("/", "/competitions/six", "/competitions/transfer", "/status", "/accounts/login/", "/api/v1/competitions")
"""Pages that answer without any service but the database."""
TAG = "submission-2"
"""The tag of a submission that its team tries to push while the database is away, and pushes afterwards."""
ROUNDS = int(os.environ.get("GAUNTLET_KILLED_ROUNDS", "1"))
"""How often the rounds are disturbed; `GAUNTLET_SEED` repeats a run."""
PLAYED_BY = os.environ.get("GAUNTLET_PLAYED_BY", "")
"""What plays the disturbed rounds, `jobs` or `hosts`; drawn where it is not given."""


Wait = Callable[..., None]


class Programs:
    """Builder, beat and web server of a site whose `players` play elsewhere; `objects` serves its object store.

    Without them, one process is all that the site needs: nothing fails there, and nobody asks for pages.
    """

    def __init__(
        self,
        site: Any,
        root: Path,
        environment: dict[str, str],
        wait: Wait,
        objects: ObjectServer | None = None,
        players: Players | None = None,
    ) -> None:
        self._site = site
        self._root = root
        self._environment = environment
        self._objects = objects
        self._players = players
        if players is None:
            self._commands = {"worker": [*CELERY, "--queues", "default,build,play", "--beat", "--pool", "solo"]}
        else:
            self._commands = {
                "beat": BEAT,
                "builder": [*CELERY, "--queues", "default,build", "--concurrency", "1", "--hostname", "b@%h"],
                "web": [*WEB, "--bind", f"{LOOPBACK}:{site.port}", "--no-control-socket"],
            }
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        for name in self._commands:
            self.start(name)
        if players is not None:
            wait("the web server", lambda: answers(site.url))
            players.begin(site, root, environment)

    def start(self, name: str) -> None:
        """Start what runs on the host of the site, or the object store."""
        if name == "object store":
            assert self._objects is not None
            self._objects.start()
            return
        with (self._site.state / f"{name}.log").open("ab") as log:
            self._running[name] = begin(self._commands[name], self._root, self._environment, log)

    def kill(self, name: str) -> None:
        """Kill it without warning, as a power failure does."""
        if name == "object store":
            assert self._objects is not None
            self._objects.kill()
            return
        end(self._running[name])

    def empty_broker(self) -> None:
        """Take away every message."""
        self._site.empty_broker()

    def statuses(self) -> dict[str, int]:
        """What the web server answers to requests of pages, none of which shows more than its error page."""
        answers = {page: requests.get(f"{self._site.url}{page}", timeout=60) for page in PAGES}
        assert not [page for page, answer in answers.items() if "Traceback" in answer.text]
        return {page: answer.status_code for page, answer in answers.items()}

    def push(self) -> str:
        """Push a submission; return what git says, also where the push fails."""
        address = self._site.url.replace("//", f"//noise-0:{self._site.token}@")
        try:
            return push_copy(
                "gaussian-noise", f"{address}/git/noise-0/untargeted.git", author="noise-0", branch=None, tag=TAG
            ).output
        except Fault as fault:
            return str(fault)

    def log_of(self, name: str) -> str:
        """The end of what a program wrote."""
        log: Path = self._site.state / f"{name}.log"
        return log.read_text()[-4000:]

    def close(self) -> None:
        """Kill all. Safe to repeat."""
        if self._players is not None:
            self._players.kill()
        for name in list(self._running):
            self.kill(name)
            del self._running[name]


def move_to_bucket(site: Any, root: Path, address: str, for_hosts: str) -> dict[str, str]:
    """Move the objects of a site into a bucket; return the environment that names it.

    Worker hosts find this host at the address `for_hosts`.
    """
    own = {name: site.environment[name] for name in ("DATABASE_URL", "GAUNTLET_BROKER")}
    shared = own | {"GAUNTLET_OBJECTS": address}
    moved: dict[str, str] = site.environment | {"GAUNTLET_OBJECTS": address, "GAUNTLET_ADDRESS": site.url}
    moved |= {"DJANGO_SETTINGS_MODULE": "config.settings", "GAUNTLET_HOSTS": f"{LOOPBACK},{for_hosts}"}
    moved["GAUNTLET_TRUST_EVERYBODY"] = "true"  # the process sandbox on a site that other hosts reach
    for name, value in shared.items():
        moved[f"GAUNTLET_JOIN_{name.removeprefix('GAUNTLET_')}"] = value.replace(LOOPBACK, for_hosts)
    folder = site.state / "objects"
    shutil.rmtree(site.state / "checkouts")
    subprocess.run([*MANAGE, "copy_objects", str(folder)], cwd=root, env=moved, check=True)
    shutil.rmtree(folder)
    return moved


def port_of(address: str) -> int:
    """The port in an address."""
    port = urlsplit(address).port
    assert port is not None
    return port


def answers(url: str) -> bool:
    """True if a web server answers there."""
    with suppress(requests.ConnectionError):
        return requests.get(f"{url}/healthz", timeout=10).ok
    return False


class Database:
    """The site's database, read past Django."""

    def __init__(self, address: str) -> None:
        self._address = address

    def ask(self, question: str) -> Any:
        """The first value of the first row."""
        return self.ask_all(question)[0][0]

    def ask_all(self, question: str, *given: object) -> list[tuple[Any, ...]]:
        """All rows."""
        with closing(psycopg2.connect(self._address)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(question, given)
            return [tuple(row) for row in cursor.fetchall()]

    def outcomes(self) -> dict[str, str]:
        """The snapshot hash of each round by its competition; none before all rounds are scored."""
        rounds = self.ask_all(
            "select competition.slug, round.outcome from rounds_round round "
            "join competitions_competition competition on competition.id = round.competition_id"
        )
        return dict(rounds) if all(outcome for _, outcome in rounds) else {}

    def drop_connections(self) -> None:
        """End all connections."""
        self.ask(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )

    def submitted(self) -> list[tuple[Any, ...]]:
        """The states of the submissions of `TAG`, and of the slots of the quota that they took."""
        return self.ask_all(
            "select submission.state, slot.state from submissions_submission submission "
            "full join submissions_quotaslot slot on slot.repository_id = submission.repository_id "
            "and slot.tag = submission.tag where coalesce(submission.tag, slot.tag) = %s",
            TAG,
        )


PLAYED = (
    "select (select count(*) from matches_piece where state = 'played') + count(distinct run.id) + count(row.id) "
    "from tournaments_attackrun run join tournaments_tournament tournament on tournament.id = run.tournament_id "
    "and tournament.fixed left join tournaments_defencerun row on row.attack_run_id = run.id and row.state = 'played' "
    "where run.state = 'played'"
)
"""How many pieces and runs of a round are played. The leaderboards' own runs are played meanwhile and afterwards."""
NUMBER = 20
"""How many there are at least before the end of the last round."""
ROWS = (
    "select attack.digest, model.digest, row.sample, row.outcome, row.distance, row.queries, row.reason "
    "from matches_sampleresult row join matches_match match on match.id = row.match_id "
    "join query_rounds_roundmatch of_round on of_round.match_id = match.id "
    "join submissions_player attack on attack.id = match.attack_id "
    "join submissions_player model on model.id = match.model_id order by 1, 2, 3",
    "select attack.digest, run.batch, run.epsilon, run.images, run.made, cast(run.hashes as text), "
    "cast(run.notes as text), run.reason, run.artefact, run.state from tournaments_attackrun run "
    "join tournaments_tournament tournament on tournament.id = run.tournament_id and tournament.fixed "
    "join submissions_player attack on attack.id = run.attack_id order by 1, 2",
    "select attack.digest, run.batch, defence.digest, row.labelled, row.correct, row.hits, "
    "cast(row.labels as text), cast(row.rows as text), row.reason, row.state from tournaments_defencerun row "
    "join tournaments_attackrun run on run.id = row.attack_run_id "
    "join tournaments_tournament tournament on tournament.id = run.tournament_id and tournament.fixed "
    "join submissions_player attack on attack.id = run.attack_id "
    "join submissions_player defence on defence.id = row.defence_id order by 1, 2, 3",
    "select player.digest, entrant.rank, entrant.score, entrant.raw, entrant.worst, entrant.coverage "
    "from tournaments_entrant entrant join submissions_player player on player.id = entrant.player_id "
    "join tournaments_tournament tournament on tournament.id = entrant.tournament_id and tournament.fixed "
    "order by 1",
)
"""Everything of both rounds but the times, by the contents of the players."""


@dataclass(frozen=True)
class Outcome:
    """How the rounds ended: their snapshot hashes, and the rows that these follow from."""

    digests: dict[str, str]
    rows: list[tuple[Any, ...]]
    submitted: list[tuple[Any, ...]]
    """The states of what was pushed meanwhile, and of the slots of the quota that it took."""


Disturb = Callable[[Programs, Database], None]
PlayRounds = Callable[..., Outcome]


@pytest.fixture
def draw() -> random.Random:
    """Draws what happens, and when; its seed is shown where the test fails."""
    number = int(os.environ.get("GAUNTLET_SEED") or random.SystemRandom().randrange(10**9))
    sys.stdout.write(f"GAUNTLET_SEED={number} GAUNTLET_KILLED_ROUNDS={ROUNDS} GAUNTLET_PLAYED_BY={PLAYED_BY}\n")
    return random.Random(number)


@pytest.fixture
def objects() -> Iterator[ObjectServer]:
    """An object store for the disturbed sites."""
    server = ObjectServer()
    yield server
    server.close()


@pytest.fixture
def players(draw: random.Random, tmp_path: Path, objects: ObjectServer, services: OwnServices) -> Iterator[Players]:
    """What plays the disturbed rounds."""
    by = PLAYED_BY or draw.choice(("jobs", "hosts") if os.geteuid() == 0 else ("jobs",))  # namespaces need root
    sys.stdout.write(f"played by {by}\n")
    addresses = (objects.address, *services.environment.values())
    found: Players = Jobs() if by == "jobs" else Hosts(tmp_path, *(port_of(address) for address in addresses))
    yield found
    found.close()


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnServices]:
    """PostgreSQL and Redis that only the sites of this test use."""
    own = OwnServices()
    for name, address in own.environment.items():
        monkeypatch.setenv(name, address)
    yield own
    own.close()


@pytest.fixture
def play_rounds(services: OwnServices, make_site: Callable[..., Any], root: Path, wait: Wait) -> Iterator[PlayRounds]:
    """Plays the rounds of a copy of one site to their end, with something done to it at drawn moments."""
    running: list[Programs] = []
    begun = make_site()
    environment = begun.environment | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    set_up = subprocess.run(
        [sys.executable, "-c", SET_UP], cwd=root, env=environment, check=True, timeout=400, stdout=subprocess.PIPE
    )

    def play(
        draw: random.Random, disturb: Disturb, objects: ObjectServer | None = None, players: Players | None = None
    ) -> Outcome:
        site = make_site(like=begun)
        site.token = set_up.stdout.decode().split()[-1]
        environment = site.environment | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        if objects is not None and players is not None:
            environment = move_to_bucket(site, root, f"{objects.address}/{site.state.name}", players.site_address)
        database = Database(environment["DATABASE_URL"])
        programs = Programs(site, root, environment, wait, objects, players)
        running.append(programs)
        for moment in sorted(draw.sample(range(2, NUMBER), FAILURES)):
            wait(f"{moment} played", lambda moment=moment: database.ask(PLAYED) >= moment)
            time.sleep(draw.uniform(0, 0.3))  # not only just after a commit
            disturb(programs, database)
        wait("the end of the rounds", database.outcomes, seconds=480.0)
        wait("the end of builds", lambda: {state for state, _ in database.submitted()} <= {"ready"})
        programs.close()
        assert database.ask("select count(*) from submissions_submission where state = 'rejected'") == 0
        if players is not None:
            own = ["objects"] if database.submitted() else ["checkouts", "objects"]  # the builder is on the site's host
            left = [name for name in own if (site.state / name).exists()]
            assert not left, "the worker host writes into the site's own folder"
        rows = [row for question in ROWS for row in database.ask_all(question)]
        return Outcome(database.outcomes(), rows, database.submitted())

    yield play
    for programs in running:
        programs.close()


class Failures:
    """Lets one thing after the other fail, in a drawn order: first all of one round, and so on."""

    def __init__(self, draw: random.Random, services: OwnServices, players: Players, wait: Wait) -> None:
        self._draw = draw
        self._services = services
        self._players = players
        self._all = (*players.failures, *KILLED, *OUTAGES)
        self._wait = wait
        self._due: list[str] = []
        self.pushed = False
        """Whether a submission was pushed."""

    def __call__(self, programs: Programs, database: Database) -> None:
        """Let the next thing fail, and wait until work goes on."""
        self._due = self._due or self._draw.sample(self._all, len(self._all))
        failure, played, began = self._due.pop(), database.ask(PLAYED), time.monotonic()
        self._fail(failure, programs, database)
        ended = time.monotonic()
        self._wait(f"work after: {failure}", lambda: database.ask(PLAYED) > played or database.outcomes(), seconds=300)
        sys.stdout.write(f"{failure}: {ended - began:.0f} s, and {time.monotonic() - ended:.0f} s until work went on\n")

    def _push(self, programs: Programs) -> None:
        """Push what was refused, once."""
        if not self.pushed:
            said = programs.push()
            assert "received" in said, said + programs.log_of("web")
        self.pushed = True

    def _fail(self, failure: str, programs: Programs, database: Database) -> None:
        services, seconds = self._services, self._draw.choice(AWAY)
        match failure:
            case "connections ended":
                database.drop_connections()
            case "database restarted" | "database crashed":
                services.stop_database("fast" if failure == "database restarted" else "immediate")
                services.start()
            case "database away":
                services.stop_database("fast")
                time.sleep(seconds)
                assert set(programs.statuses().values()) == {503}
                assert self.pushed or "503" in programs.push()
                services.start()
                self._wait("all pages", lambda: set(programs.statuses().values()) == {200})
                self._push(programs)
            case "messages lost":
                self._players.kill()
                programs.empty_broker()
                self._players.start()
            case "broker flushed":
                programs.empty_broker()
            case "broker restarted":
                services.stop_broker()
                services.start()
            case "broker away":
                services.stop_broker()
                time.sleep(seconds)
                assert set(programs.statuses().values()) == {200}
                services.start()
            case "objects away":
                programs.kill("object store")
                time.sleep(seconds)
                programs.start("object store")
            case _ if failure in self._players.failures:
                self._players.fail(failure, seconds)
            case _:
                programs.kill(failure)
                programs.start(failure)


@pytest.mark.slow(200)
@pytest.mark.timeout(1200 * ROUNDS)
def test_rounds_that_failures_disturb_have_the_outcomes_of_undisturbed_ones(
    draw: random.Random,
    services: OwnServices,
    objects: ObjectServer,
    players: Players,
    play_rounds: PlayRounds,
    wait: Wait,
    first_difference: Callable[[Sequence[object], Sequence[object]], str],
) -> None:
    undisturbed = play_rounds(draw, lambda programs, database: None)
    assert undisturbed.digests.keys() == {"six", "transfer"}
    failures = Failures(draw, services, players, wait)
    for done in range(1, ROUNDS + 1):
        failures.pushed = False
        disturbed = play_rounds(draw, failures, objects, players)
        assert first_difference(undisturbed.rows, disturbed.rows) == ""
        assert disturbed.digests == undisturbed.digests
        assert disturbed.submitted == ([("ready", "used")] if failures.pushed else [])
        sys.stdout.write(f"{done} of {done} rounds, each disturbed {FAILURES} times, are equal\n")
