"""Hosts that break during a match: no false score, one report, and the hosts return to service."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from competitions import sample_store
from competitions.models import RulesVersion, SampleSet
from core import clock
from core.errors import Fault
from core.models import Event
from core.site_identity import require_identity
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import Side
from evaluation.formats.query.referee.fresh_model_audit import STARTS
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.referee.match_players import Model
from evaluation.formats.query.results import Failure, PieceResult
from evaluation.protocol.channel import ChannelError
from evaluation.sandbox.docker_sandbox import RUNNER_LABEL, DockerSandbox
from evaluation.sandbox.host_process import runner_label
from formats.query.matches.models import Match, Piece, SampleResult
from submissions.models import Player
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers import calibration, host_health, sandboxes, tasks
from workers.calibration import STEADY
from workers.host_health import CHECK_STARTS
from workers.models import Host, Worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(20)]

LetPlay = Callable[..., None]
Difference = Callable[[Sequence[object], Sequence[object]], str]
Rows = list[tuple[object, ...]]


class Game:
    """A match that a worker plays piece by piece, compared with an undisturbed run."""

    def __init__(
        self, match: Match, worker: Worker, let_play: LetPlay, difference: Difference, undisturbed: dict[int, Rows]
    ) -> None:
        self.match = match
        self.worker = worker
        self._let_play = let_play
        self._difference = difference
        self._undisturbed = undisturbed

    def play(self, times: int = 1) -> None:
        """Let the worker play one piece, `times` times."""
        for _ in range(times):
            self._let_play(self.worker, seconds=0.0)

    def finish(self, *, turns: int = 10) -> None:
        """Let the worker play the rest; a check of a host under load may fail once more, which costs one turn."""
        for _ in range(turns):
            if not Piece.objects.exclude(state="played").exists():
                return
            self.play()

    def rows(self) -> Rows:
        columns = ("sample", "outcome", "distance", "worst_case", "queries", "reason", "found_label")
        return list(SampleResult.objects.filter(match=self.match).order_by("sample").values_list(*columns))

    def require_outage(self, problem: str) -> None:
        """Require that the host is out of service and that nothing of its last attempt was written."""
        host = Host.objects.get()
        assert host.out_since is not None
        assert problem in host.problem
        assert set(Piece.objects.values_list("state", flat=True)) == {"played", "waiting"}
        assert SampleResult.objects.count() == 2

    def require_same_outcome(self) -> None:
        """Require one report, the host in service, no fault on a piece, and every row as in an undisturbed run."""
        assert list(Event.objects.filter(verb__endswith="_host").order_by("pk").values_list("verb", flat=True)) == [
            "suspend_host",
            "resume_host",
        ]
        assert not Event.objects.filter(verb="fault").exists()
        assert not Host.objects.filter(out_since__isnull=False).exists()
        assert set(Piece.objects.values_list("state", "faults")) == {("played", 0)}
        self.match.refresh_from_db()
        assert (self.match.state, self.match.fault) == ("played", "")
        disturbed = self.rows()
        assert self._difference(self._rows_undisturbed(), disturbed) == ""

    def _rows_undisturbed(self) -> Rows:
        """Return the rows of the match where no host breaks, which its seed decides; play it again if need be."""
        match = self.match
        if match.seed not in self._undisturbed:
            match.delete()
            self.match = ensure_match(
                rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.attack
            )
            self.play(3)
            assert self.match.seed == match.seed
            self._undisturbed[match.seed] = self.rows()
        return self._undisturbed[match.seed]


@pytest.fixture(scope="session")
def undisturbed() -> dict[int, Rows]:
    """The rows of a match that no host disturbs, by its seed. The first test of this process that asks plays it."""
    return {}


@pytest.fixture
def game(
    match: Match,
    make_worker: Callable[..., Worker],
    let_play: LetPlay,
    first_difference: Difference,
    undisturbed: dict[int, Rows],
) -> Game:
    return Game(match, make_worker(), let_play, first_difference, undisturbed)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a host that is out of service check itself whenever it is asked to play."""
    monkeypatch.setattr(host_health, "PAUSES", (timedelta(0),))


class Speed:
    """The factor that a measurement of this host gives."""

    def __init__(self) -> None:
        self.factor = 1.0

    def measure(self, device: str | None = None) -> float:
        return self.factor


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> Speed:
    """A host as fast as the reference machine, until a test slows it down."""
    speed = Speed()
    monkeypatch.setattr(calibration, "STEADY", STEADY)  # the site's own
    monkeypatch.setattr(calibration, "calibrate", speed.measure)
    monkeypatch.setattr(calibration, "_known", {})
    return speed


@pytest.fixture
def too_slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Let the model exceed its time in the next piece, after what the test does meanwhile."""

    def happen(meanwhile: Callable[[], None]) -> None:
        play_piece = RefereedMatch.play_piece

        def played(self: RefereedMatch, *words: Any, **names: Any) -> PieceResult:
            result = play_piece(self, *words, **names)
            monkeypatch.setattr(RefereedMatch, "play_piece", play_piece)
            meanwhile()
            return replace(result, failures=(Failure(Side.MODEL, Reason.TOO_SLOW),))

        monkeypatch.setattr(RefereedMatch, "play_piece", played)

    return happen


@pytest.mark.usefixtures("no_pauses")
def test_a_host_that_is_too_slow_for_the_limits_is_out_of_service(game: Game, speed: Speed) -> None:
    game.play()
    speed.factor = 5.0
    calibration.measure_again(most=1.0)
    game.play(2)
    game.require_outage("its processor is 5.0 times slower than the reference machine, and 4 times is the most")
    speed.factor = 3.9
    game.finish()
    game.require_same_outcome()


@pytest.mark.usefixtures("no_pauses")
def test_a_host_that_becomes_slower_in_a_piece_charges_nobody(
    game: Game, speed: Speed, too_slow: Callable[[Callable[[], None]], None]
) -> None:
    game.play()
    too_slow(lambda: setattr(speed, "factor", 1.5))
    game.play()
    game.require_outage("this host became slower while it played: the factor of its limits was 1.00 and is 1.50")
    game.finish()
    game.require_same_outcome()


@pytest.fixture
def too_slow_in_the_audit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Let both instances of an audit exceed their time, after what the test does meanwhile."""

    def happen(meanwhile: Callable[[], None]) -> None:
        read, left = Model.labels, [STARTS]

        def labels(self: Model, count: int) -> list[int]:
            answer = read(self, count)
            if not left[0]:
                return answer
            left[0] -= 1
            meanwhile()
            raise self.fail(ChannelError(Reason.TOO_SLOW))

        monkeypatch.setattr(Model, "labels", labels)

    return happen


@pytest.fixture
def submitted(
    rules: RulesVersion,
    sample_sets: dict[str, SampleSet],
    attack: Player,
    commit: Callable[[str, str], Player],
    make_worker: Callable[..., Worker],
    let_play: LetPlay,
) -> Match:
    """A match of a submitted model that waits for its audit."""
    model = commit("model", "players/honest-model")
    match = ensure_match(rules=rules, sample_set=sample_sets["validation"], model=model, attack=attack)
    for name in ("one", "two", "three"):
        let_play(make_worker(name), seconds=0.0)
    match.refresh_from_db()
    assert match.state == "audit"
    return match


@pytest.mark.usefixtures("no_pauses")
def test_a_host_that_becomes_slower_in_an_audit_charges_nobody(
    submitted: Match,
    make_worker: Callable[..., Worker],
    let_play: LetPlay,
    speed: Speed,
    too_slow_in_the_audit: Callable[[Callable[[], None]], None],
) -> None:
    auditor = make_worker("four")
    too_slow_in_the_audit(lambda: setattr(speed, "factor", 1.5))
    let_play(auditor, seconds=0.0)
    submitted.refresh_from_db()
    assert submitted.state == "audit"
    assert "this host became slower while it played" in Host.objects.get().problem
    let_play(auditor, seconds=0.0)
    submitted.refresh_from_db()
    assert (submitted.state, submitted.audit["passed"]) == ("played", True)
    assert not Event.objects.filter(verb="fault").exists()


def test_a_model_that_is_too_slow_in_its_audit_is_charged_on_a_host_that_is_as_fast_as_before(
    submitted: Match,
    make_worker: Callable[..., Worker],
    let_play: LetPlay,
    speed: Speed,
    too_slow_in_the_audit: Callable[[Callable[[], None]], None],
) -> None:
    too_slow_in_the_audit(lambda: setattr(speed, "factor", 1.05))
    let_play(make_worker("four"), seconds=0.0)
    submitted.refresh_from_db()
    assert (submitted.state, submitted.audit["passed"]) == ("played", False)
    assert submitted.audit["fresh_unanswered"] == submitted.audit["fresh_due"] > 0


def test_a_slow_player_is_charged_on_a_host_that_is_as_fast_as_before(
    game: Game, speed: Speed, too_slow: Callable[[Callable[[], None]], None]
) -> None:
    too_slow(lambda: setattr(speed, "factor", 1.05))
    game.play()
    assert [each["reason"] for each in Piece.objects.get(state="played").failures] == ["too_slow"]
    assert not Host.objects.exists()


@pytest.mark.usefixtures("no_pauses")
def test_a_removed_sandbox_program_costs_nobody_anything(
    game: Game, sandbox_program: Any, caplog: pytest.LogCaptureFixture
) -> None:
    game.play()
    sandbox_program.remove()
    game.play(4)
    game.require_outage("cannot start bwrap: No such file")
    assert [line.name for line in caplog.records if line.levelno == logging.ERROR].count("workers.host_health") == 1
    sandbox_program.restore()
    game.finish()
    game.require_same_outcome()


@pytest.mark.usefixtures("no_pauses")
def test_a_sandbox_program_removed_during_a_piece_costs_nobody_anything(game: Game, sandbox_program: Any) -> None:
    game.play()
    sandbox_program.replace(
        '[ $COUNT = 1 ] && exec $REAL "$@"; rm "$0"; exit 1'
    )  # the model starts, the attack does not
    game.play()
    game.require_outage("cannot start bwrap: No such file")
    sandbox_program.restore()
    game.finish()
    game.require_same_outcome()


@pytest.mark.usefixtures("no_pauses")
def test_a_sandbox_program_that_fails_half_of_the_time_costs_nobody_anything(
    game: Game, sandbox_program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_health, "CHECK_STARTS", CHECK_STARTS)  # the site's own
    game.play()
    sandbox_program.replace('[ $(($COUNT % 6)) -lt 4 ] && [ $(($COUNT % 6)) -gt 0 ] && exit 1; exec $REAL "$@"')
    game.play(4)
    game.require_outage("bubblewrap ended before the player started")
    sandbox_program.restore()
    game.finish()
    game.require_same_outcome()


def test_a_sandbox_program_that_fails_once_counts_against_no_piece(game: Game, sandbox_program: Any) -> None:
    game.play()
    sandbox_program.replace(
        'case "$*" in */numpy-classifier*) [ -e $0-failed ] || { touch $0-failed; exit 1; };; esac; exec $REAL "$@"'
    )
    game.play()
    game.require_outage("it fails sometimes (checked after: HostFault")
    Host.objects.update(check_due_at=clock.now())
    game.play(2)
    game.require_same_outcome()


def test_a_host_out_of_service_claims_nothing_until_its_check_is_due(
    game: Game, sandbox_program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock.now()
    monkeypatch.setattr(clock, "database_now", lambda: now)
    game.play()
    sandbox_program.remove()
    game.play()
    waits = []
    for _ in range(6):
        due = Host.objects.get().check_due_at
        assert due is not None
        waits.append((due - now).total_seconds())
        now = due - timedelta(seconds=1)
        game.play()
        assert Host.objects.get().check_due_at == due
        now = due
        game.play()  # it checks itself, and fails again
    assert waits == [10, 30, 120, 300, 300, 300]
    assert set(Piece.objects.values_list("state", "faults", "fence")) == {
        ("played", 0, 1),
        ("waiting", 0, 1),
        ("waiting", 0, 0),
    }
    assert Event.objects.filter(verb="suspend_host").count() == 1


@pytest.mark.usefixtures("no_pauses")
def test_another_slot_of_the_same_worker_claims_nothing(
    game: Game, sandbox_program: Any, make_worker: Callable[..., Worker], let_play: LetPlay
) -> None:
    game.play()
    sandbox_program.remove()
    game.play()
    let_play(make_worker("two"), seconds=0.0)
    assert Piece.objects.filter(fence=0).count() == 1


@pytest.mark.usefixtures("no_pauses")
def test_a_missing_object_costs_nobody_anything(game: Game, tmp_path: Path) -> None:
    require_identity()
    sample_store._unpack.cache_clear()
    objects = tmp_path / "objects"
    objects.rename(tmp_path / "elsewhere")
    game.play(3)
    assert "the object store cannot be written" in Host.objects.get().problem
    assert set(Piece.objects.values_list("state", "faults")) == {("waiting", 0)}
    assert not objects.exists()  # what the check writes to a new one would be lost
    (tmp_path / "elsewhere").rename(objects)
    Piece.objects.update(paused_until=None)
    game.play(3)
    assert set(Piece.objects.values_list("state", "faults")) == {("played", 0)}


@pytest.mark.django_db
def test_a_disk_that_was_full_takes_the_host_out_even_if_it_has_space_again() -> None:
    failure = Fault("the opponent cannot be unpacked")
    failure.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert not host_health.check_after(failure)
    assert "it fails sometimes (checked after: Fault: the opponent" in Host.objects.get().problem
    Host.objects.all().delete()
    assert host_health.check_after(Fault("another cause"))


def test_a_fault_on_a_healthy_host_counts(game: Game) -> None:
    Player.objects.filter(pk=game.match.attack.pk).update(baseline="gone")
    game.play()
    assert list(Piece.objects.order_by("number").values_list("state", "faults")) == [
        ("waiting", 1),
        ("waiting", 0),
        ("waiting", 0),
    ]
    assert not Host.objects.exists()


def test_a_worker_that_starts_without_an_engine_reports_it_once(
    match: Match, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tasks, "PLAY_SECONDS", 0.0)
    monkeypatch.setattr(sandboxes, "_open", {})
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    settings.SANDBOX = "docker"
    for _ in range(3):
        tasks.play()
    assert "no Docker engine answers" in Host.objects.get().problem
    assert Event.objects.filter(verb="suspend_host").count() == 1
    assert set(match.pieces.values_list("state", "fence")) == {("waiting", 0)}
    assert Worker.objects.count() == 1  # it is live, and is notified again


# a separate worker on a small disk, which is filled after the first piece and emptied after some attempts
ON_A_SMALL_DISK = """
import os, shutil, sys, tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

state, disk = Path(sys.argv[1]), Path(sys.argv[2])
for name in ("state", "temporary"):
    (disk / name).mkdir()
shutil.copytree(state / "objects", disk / "state" / "objects")
shutil.copy(state / "site-identity", disk / "state")
import django
django.setup()
from workers.heartbeat import WorkerHeartbeat, register
from workers.worker_loop import play as play_work
from formats.query.matches.models import Piece
from workers import host_health

host_health.PAUSES = (timedelta(0),)
filler = disk / "filler"

def play():
    worker = register(0)
    with WorkerHeartbeat(worker) as heartbeat:
        play_work(worker, heartbeat, seconds=0.0)
    host = host_health.Host.objects.first()
    print(Piece.objects.filter(state="played").count(), host.problem if host is not None and host.out_since else "")

def play_until(played):
    for _ in range(10):  # a check of a host under load may fail
        play()
        if Piece.objects.filter(state="played").count() == played:
            return

play_until(1)
with filler.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(1 << 12))
    except OSError:
        pass
for _ in range(4):
    play()
filler.unlink()
print("EMPTY")
play_until(3)
"""


def database_url() -> str:
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{Path(values['NAME']).resolve()}"
    return f"postgresql://{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT']}/{values['NAME']}"


@pytest.fixture
def disk() -> Iterator[Path]:
    """Mount point of the small file system; the path of a socket below it must be short."""
    with tempfile.TemporaryDirectory(prefix="disk-") as folder:
        yield Path(folder)


def test_a_full_disk_costs_nobody_anything(game: Game, root: Path, tmp_path: Path, disk: Path) -> None:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database_url(),
        "GAUNTLET_STATE": f"{disk}/state",
        "XDG_STATE_HOME": f"{disk}/state",
        "TMPDIR": f"{disk}/temporary",
        "GAUNTLET_SANDBOX": "process",
        "GAUNTLET_BROKER": f"filesystem://{tmp_path}/broker",
    }
    require_identity()
    # bubblewrap makes the small file system without privileges
    mounted = ["bwrap", "--dev-bind", "/", "/", "--size", str(32 << 20), "--tmpfs", str(disk)]
    program = [sys.executable, "-c", ON_A_SMALL_DISK, str(tmp_path), str(disk)]
    done = subprocess.run([*mounted, *program], cwd=root, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "No space left on device" in done.stdout.partition("EMPTY")[0], done.stdout
    assert done.stdout.splitlines()[-1] == "3 ", done.stdout
    game.require_same_outcome()


@pytest.fixture
def docker_site(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, engine_proxy: Any, caplog: pytest.LogCaptureFixture
) -> Iterator[Any]:
    """The site runs players in Docker, on an engine that can be cut off."""
    settings.SANDBOX = "docker"
    opened: dict[tuple[str, int], Any] = {}
    monkeypatch.setattr(sandboxes, "_open", opened)
    yield engine_proxy
    for sandbox in opened.values():
        sandbox.client.close()
    opened.clear()
    for phase in ("setup", "call"):  # tracebacks keep failed connections alive
        caplog.get_records(phase).clear()


@pytest.mark.docker
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.usefixtures("no_pauses")
def test_an_engine_that_stops_costs_nobody_anything(docker_site: Any, request: pytest.FixtureRequest) -> None:
    game: Game = request.getfixturevalue("game")
    game.play()
    docker_site.cut_at(b"/start HTTP", 1)  # the model of the second piece has started, the attack has not
    game.play(3)
    game.require_outage("the Docker engine says")
    docker_site.repair()
    game.finish()
    game.require_same_outcome()
    (sandbox,) = sandboxes.opened_sandboxes()
    assert isinstance(sandbox, DockerSandbox)
    left: dict[str, Any] = {"label": f"{RUNNER_LABEL}={runner_label()}"}
    assert sandbox.client.containers.list(all=True, filters=left) == []
