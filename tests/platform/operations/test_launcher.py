"""Workers as jobs: how many the waiting work needs, what engines do, and Slurm's commands on a real small cluster."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from core import clock
from operations.launcher import scaling, slurm
from operations.launcher.launch_loop import LaunchLoop
from operations.launcher.launcher_interface import EngineError, WorkerJob, WorkerLauncher
from operations.launcher.scaling import JobLimits, jobs_to_start
from operations.launcher.slurm import SlurmLauncher
from tests.slurm_cluster import SlurmCluster
from workers.models import Host

WORKER = """#!/bin/sh
echo "$SLURMD_NODENAME devices=${CUDA_VISIBLE_DEVICES:-none} secret=${A_SECRET:-none} arguments=$*"
trap 'echo asked to end; exit 0' TERM
while :; do sleep 0.1; done
"""


@pytest.mark.parametrize(
    ("waiting", "running", "pending", "started"),
    [
        (0, 0, 0, 0),
        (1, 0, 0, 1),
        (1, 0, 1, 0),
        (1, 3, 0, 1),
        (5, 0, 1, 2),
        (2000, 0, 0, 8),
        (2000, 5, 2, 1),
        (2000, 8, 0, 0),
        (2000, 9, 1, 0),
    ],
)
def test_each_waiting_item_gets_a_slot_up_to_the_limit(waiting: int, running: int, pending: int, started: int) -> None:
    limits = JobLimits(most=8, slots=2)
    assert jobs_to_start(waiting=waiting, running=running, pending=pending, limits=limits) == started


class Recorder:
    """An engine with three hosts that starts nothing, and keeps what it was asked for. `refusal` is its answer."""

    def __init__(self) -> None:
        self.avoided: list[list[str]] = []
        self.waiting: list[WorkerJob] = []
        self.refusal = ""

    def hosts(self) -> set[str]:
        return {"due", "later", "drained"}

    def start(self, *, without: Sequence[str]) -> str:
        self.avoided.append(list(without))
        if self.refusal:
            raise EngineError(self.refusal)
        return "1"

    def jobs(self) -> list[WorkerJob]:
        return self.waiting

    def cancel(self, numbers: Sequence[str]) -> None:
        self.waiting = [job for job in self.waiting if job.number not in numbers]


@pytest.fixture
def engine(db: None, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """An engine for which one item waits; of its hosts, and another one, some are out of service."""
    monkeypatch.setattr(scaling, "waiting_items", lambda worker_class: 1)
    now = clock.now()
    for name, due in {"due": now, "later": now + timedelta(minutes=2), "drained": None, "far": None}.items():
        Host.objects.create(name=name, out_since=now, problem="the store was away", check_due_at=due)
    return Recorder()


def test_a_host_whose_check_is_due_gets_the_job_that_makes_it(engine: Recorder) -> None:
    """Without one it would be out of service for ever, as after an outage of the object store."""
    scaling.step(engine, JobLimits(most=1, slots=1), worker_class="cpu")
    assert engine.avoided == [["drained", "later"]]


def test_a_job_that_waits_is_asked_for_again_once_a_host_that_it_avoids_is_due(engine: Recorder) -> None:
    """It would wait for ever where no other host has room for it."""
    engine.waiting = [WorkerJob("7", running=False, without=frozenset({"due", "later"}))]
    scaling.step(engine, JobLimits(most=1, slots=1), worker_class="cpu")
    assert (engine.waiting, engine.avoided) == ([], [["drained", "later"]])
    engine.waiting = [WorkerJob("8", running=False, without=frozenset({"drained", "later"}))]
    scaling.step(engine, JobLimits(most=1, slots=1), worker_class="cpu")
    assert [job.number for job in engine.waiting] == ["8"]


def test_one_job_that_waits_is_asked_for_again_for_a_check_and_all_once_it_has_passed(engine: Recorder) -> None:
    """The others would lose their places with each check of a host that stays broken."""
    engine.waiting = [WorkerJob(number, running=False, without=frozenset({"due"})) for number in "789"]
    scaling.step(engine, JobLimits(most=3, slots=1), worker_class="cpu")
    assert [job.number for job in engine.waiting] == ["8", "9"]
    Host.objects.filter(name="due").update(out_since=None, check_due_at=None)
    scaling.step(engine, JobLimits(most=3, slots=1), worker_class="cpu")
    assert engine.waiting == []


def test_while_all_hosts_wait_for_their_check_the_engine_is_asked_for_no_job(
    engine: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    loop = LaunchLoop(engine, JobLimits(most=1, slots=1), worker_class="cpu", every=1.0)
    Host.objects.filter(name="due").update(check_due_at=clock.now() + timedelta(minutes=1))
    assert [loop.step() for _ in range(3)] == [1.0, 1.0, 1.0]
    assert engine.avoided == []
    Host.objects.filter(name="due").update(check_due_at=clock.now())
    loop.step()
    assert [record.getMessage() for record in caplog.records] == [
        "all hosts of the cluster are out of service, until a check is due: drained, due, later",
        "1 items wait: asked for the jobs 1",
    ]


def test_an_engine_that_refuses_is_asked_less_often_and_reported_once(
    engine: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    loop = LaunchLoop(engine, JobLimits(most=1, slots=1), worker_class="cpu", every=1.0)
    engine.refusal = "sbatch: no partition has this node"
    assert [loop.step() for _ in range(8)] == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    engine.refusal = "sbatch: the controller is away"
    loop.step()
    engine.refusal = ""
    assert loop.step() == 1.0
    levels = [(record.levelname, record.getMessage()) for record in caplog.records]
    refused = ("ERROR", "no workers were started on the cluster")
    asked = ("INFO", "1 items wait: asked for the jobs 1")
    assert levels == [refused, refused, ("INFO", "the cluster and the database answer again"), asked]


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    made = SlurmCluster()
    yield made
    made.close()


@pytest.fixture
def slurm_launcher(cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmLauncher:
    """Launches jobs that are a short script in place of a worker."""
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("A_SECRET", "in the environment of the launcher")
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "slurm-worker").write_text(WORKER)
    return SlurmLauncher(
        name="gauntlet-tests", root=tmp_path, settings=tmp_path / "host-settings", logs=tmp_path, slots=1, minutes=5,
        idle_seconds=60, options=("--gres=gpu:1",),
    )  # fmt: skip


@pytest.fixture(params=["slurm", "kubernetes"])
def launcher(request: pytest.FixtureRequest) -> WorkerLauncher:
    """An engine of two hosts, n1 and n2, with a place for one job each."""
    found: WorkerLauncher = request.getfixturevalue(f"{request.param}_launcher")
    return found


def wait_until(launcher: WorkerLauncher, running: dict[str, bool]) -> None:
    deadline = time.monotonic() + 60
    while {job.number: job.running for job in launcher.jobs()} != running:
        assert time.monotonic() < deadline, launcher.jobs()
        time.sleep(0.2)


def test_jobs_start_where_they_may_wait_for_a_place_and_are_cancelled(launcher: WorkerLauncher) -> None:
    assert launcher.hosts() == {"n1", "n2"}
    first = launcher.start(without=["n1"])
    wait_until(launcher, {first: True})
    second = launcher.start(without=[])
    wait_until(launcher, {first: True, second: True})
    third = launcher.start(without=["n1"])
    wait_until(launcher, {first: True, second: True, third: False})
    assert {job.number: job.without for job in launcher.jobs()}[third] == {"n1"}, "asked for again once n1 is free"
    launcher.cancel([second])
    wait_until(launcher, {first: True, third: False})
    launcher.cancel([first])
    wait_until(launcher, {third: True})
    launcher.cancel([first, second, third])
    wait_until(launcher, {})


def test_a_job_of_slurm_knows_its_gpu_and_nothing_of_the_launcher(
    slurm_launcher: SlurmLauncher, tmp_path: Path
) -> None:
    number = slurm_launcher.start(without=["n1"])
    log = tmp_path / f"worker-{number}.log"
    deadline = time.monotonic() + 60
    while not (log.exists() and "arguments" in log.read_text()):
        assert time.monotonic() < deadline, list(tmp_path.iterdir())
        time.sleep(0.1)
    slurm_launcher.cancel([number])
    wait_until(slurm_launcher, {})
    assert log.read_text().startswith(
        f"n2 devices=0 secret=none arguments={tmp_path} {tmp_path / 'host-settings'} 1 60"
    )


def test_what_slurm_refuses_is_said(slurm_launcher: SlurmLauncher, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = slurm.SlurmLauncher(**vars(slurm_launcher) | {"options": ("--partition=none",)})
    with pytest.raises(EngineError, match=r"sbatch: .*invalid partition"):
        wrong.start(without=[])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EngineError, match="squeue cannot be run"):
        slurm_launcher.jobs()


@pytest.fixture
def begin_job(root: Path, tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Begins the script of a job of a number, with a short program in place of a worker."""
    checkout = tmp_path / "checkout"
    (checkout / ".venv" / "bin").mkdir(parents=True)
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(
        '#!/bin/sh\nenv >"$REPORT/environment"; echo "$*" >"$REPORT/command"; cat "$GAUNTLET_STATE/host-settings"\n'
        'trap "echo ended; exit 3" TERM\necho begun\nwhile :; do sleep 0.05; done\n'
    )
    python.chmod(0o755)
    (tmp_path / "settings").write_text("GAUNTLET_HOST_TOKEN=gth_a\n")
    jobs: list[subprocess.Popen[str]] = []

    def begin(number: str) -> subprocess.Popen[str]:
        environment = {
            "PATH": os.environ["PATH"], "TMPDIR": str(tmp_path), "REPORT": str(tmp_path), "SLURM_JOB_ID": number,
            "SLURMD_NODENAME": "n1", "CUDA_VISIBLE_DEVICES": "2,3",
        }  # fmt: skip
        job = subprocess.Popen(
            [root / "deploy" / "slurm-worker", checkout, tmp_path / "settings", "2", "60"],
            env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        jobs.append(job)
        assert job.stdout is not None
        assert [job.stdout.readline(), job.stdout.readline()] == ["GAUNTLET_HOST_TOKEN=gth_a\n", "begun\n"]
        return job

    yield begin
    for job in jobs:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        job.communicate()


def test_the_script_of_a_job_is_a_worker_of_its_node(
    begin_job: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    """It writes to a folder of its own, names its node and job, and passes SIGTERM on."""
    job = begin_job("17")
    job.terminate()
    assert job.communicate(timeout=30)[0] == "ended\n"
    assert job.returncode == 3
    seen = dict(line.partition("=")[::2] for line in (tmp_path / "environment").read_text().splitlines())
    assert seen.items() >= {
        "GAUNTLET_WORKER_NAME": "n1", "GAUNTLET_WORKER_JOB": "17", "GAUNTLET_WORKER_IDLE_SECONDS": "60",
        "GAUNTLET_WORKER_STOP_SECONDS": "75", "GAUNTLET_WORKER_CLASS": "gpu", "GAUNTLET_WORKER_DEVICES": "2,3",
    }.items()  # fmt: skip
    assert "worker --queues play --concurrency 2" in (tmp_path / "command").read_text()
    assert not list(tmp_path.glob("gauntlet-17.*")), "its folder is removed"


def test_the_next_job_on_a_node_removes_what_a_killed_one_left(
    begin_job: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Its folder holds the passwords of the host, and files of submissions that would fill the disk of the node."""
    _, killed = begin_job("17"), begin_job("18")
    os.killpg(killed.pid, signal.SIGKILL)
    with next(tmp_path.glob("gauntlet-18.*/lock-n1")).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # held until the last of its processes has ended
    begin_job("19")
    assert sorted(path.name.partition(".")[0] for path in tmp_path.glob("gauntlet-*")) == ["gauntlet-17", "gauntlet-19"]
