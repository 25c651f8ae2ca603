"""What plays rounds and shares no folder with the site: jobs of a cluster, or hosts with networks of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from tests.slurm_cluster import SlurmCluster
from tests.worker_hosts import ADDRESS, WorkerHosts

MANAGE = [sys.executable, "manage.py"]
LAUNCHER = [*MANAGE, "launch_workers", "--most", "2", "--slots", "1", "--every", "1", "--idle", "10"]
LAUNCHER += ["--minutes", "30", "--", "--export=PATH,HOME,TMPDIR"]
CELERY = [sys.executable, "-m", "celery", "--app", "config", "worker", "--loglevel", "INFO", "--without-gossip"]
LOOPBACK = "127.0.0.1"


class Players(Protocol):
    """What plays apart from the host of the site."""

    site_address: str
    """Where it finds the host of the site."""
    failures: Sequence[str]
    """What may happen to it."""

    def begin(self, site: Any, root: Path, environment: dict[str, str]) -> None:
        """Join a site, and start."""

    def fail(self, failure: str, seconds: float) -> None:
        """Let one of `failures` happen, for so long where it is one that ends."""

    def kill(self) -> None:
        """Kill all that plays without warning. Safe to repeat."""

    def start(self) -> None:
        """Start it again."""

    def close(self) -> None:
        """End all."""


class Jobs:
    """Jobs of a cluster of two nodes, which a launcher on one host starts."""

    site_address = LOOPBACK
    failures: Sequence[str] = ("launcher and jobs", "n1", "controller")

    def __init__(self) -> None:
        self._cluster = SlurmCluster()
        self._launcher: subprocess.Popen[bytes] | None = None

    def begin(self, site: Any, root: Path, environment: dict[str, str]) -> None:
        folder = site.state.with_name(f"{site.state.name}-of-host")
        kept = ("PATH", "HOME", "TMPDIR", "XDG_STATE_HOME")
        own = {name: os.environ[name] for name in kept if name in os.environ} | {"GAUNTLET_STATE": str(folder)}
        join(root, environment, own, "gpu-1", self.site_address)
        self._site, self._root, self._environment = site, root, own | self._cluster.environment
        self.start()

    def fail(self, failure: str, seconds: float) -> None:
        if failure == self.failures[0]:
            self.kill()
            self.start()
        else:
            self._cluster.kill(failure)
            self._cluster.start(failure)

    def kill(self) -> None:
        if self._launcher is not None:
            end(self._launcher)
            self._launcher = None
            self._cluster.kill_jobs()

    def start(self) -> None:
        with (self._site.state / "launcher.log").open("ab") as log:
            self._launcher = begin(LAUNCHER, self._root, self._environment, log)

    def close(self) -> None:
        self.kill()
        self._cluster.close()


class Hosts:
    """Two hosts that share no disk, no process and no network but that to the site's services."""

    site_address = ADDRESS
    failures: Sequence[str] = ("h1", "all hosts", "h2 cut off")

    def __init__(self, hidden: Path, *ports: int) -> None:
        self._hosts = WorkerHosts(hidden)
        for port in ports:
            self._hosts.reach(port)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def begin(self, site: Any, root: Path, environment: dict[str, str]) -> None:
        self._site, self._root = site, root
        self._hosts.reach(site.port)
        for name in self._hosts.names:
            self._hosts.empty_disk(name)
            join(root, environment, None, name, self.site_address, self._hosts.command(name, []))
        self.start()

    def fail(self, failure: str, seconds: float) -> None:
        name = failure.partition(" ")[0]
        if failure == "all hosts":
            self.kill()
            self.start()
        elif failure == name:
            self._kill(name)
            self._start(name)
        else:
            self._hosts.cut_off(name)
            time.sleep(2 * seconds)  # at most for longer than a lease
            self._hosts.connect(name)

    def kill(self) -> None:
        for name in list(self._running):
            self._kill(name)

    def start(self) -> None:
        for name in self._hosts.names:
            self._start(name)

    def close(self) -> None:
        self._hosts.close()

    def _start(self, name: str) -> None:
        player = [*CELERY, "--queues", "play", "--concurrency", "1", "--hostname", "p@%h"]
        with (self._site.state / f"{name}.log").open("ab") as log:
            self._running[name] = begin(self._hosts.command(name, player), self._root, None, log)

    def _kill(self, name: str) -> None:
        self._hosts.kill(name)
        self._running.pop(name).wait()


def begin(
    command: Sequence[str], root: Path, environment: dict[str, str] | None, log: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own."""
    return subprocess.Popen(
        command, cwd=root, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group of a program without warning, as a power failure does."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def join(
    root: Path,
    environment: dict[str, str],
    own: dict[str, str] | None,
    name: str,
    site_address: str,
    on_host: Sequence[str] = (),
) -> None:
    """Let a host join a site with the command that the site prints, as an operator does.

    `on_host` comes before a command that runs there; `own` is the environment of the host where nothing does.
    """
    done = subprocess.run(
        [*MANAGE, "invite_host", name], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    words = re.fullmatch(r"python manage\.py join (\S+) (\S+)\n", done.stdout)
    assert words is not None, done.stdout
    command = [*on_host, *MANAGE, "join", words[1].replace(LOOPBACK, site_address), words[2]]
    joined = subprocess.run(command, cwd=root, env=own, capture_output=True, text=True, check=False)
    assert joined.returncode == 0, joined.stdout + joined.stderr
    assert "problem" not in joined.stdout
