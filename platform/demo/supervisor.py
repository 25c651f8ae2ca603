"""The site's processes on one host: web server and workers, started and stopped together."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import requests
from django.conf import settings

from core.errors import Fault, Refusal

START_SECONDS = 60.0
STOP_SECONDS = 10.0


class SiteSupervisor:
    """Starts the processes of a site, notices when one ends, and stops them by their process ids.

    `web` serves pages; `scorer` scores and sweeps; `builder` builds and `worker` plays matches. The last two are
    separate because they are busy for minutes. All write to files in `logs`. Workers are niced, so that pages stay
    fast.
    """

    def __init__(self, *, port: int, processes: int, logs: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._port = port
        self._processes = processes
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start all; raise as `start_web` does."""
        self.start_web()
        self.start_workers()

    def start_web(self) -> None:
        """Start the web server and wait until it answers; raise `Refusal` if the port is in use."""
        self.require_port()
        self._logs.mkdir(parents=True, exist_ok=True)
        server = [sys.executable, "-m", "gunicorn", "--config", "python:config.web_server"]
        # one process: SQLite has one writer anyway, and threads can wait
        options = ["--workers", "1", "--graceful-timeout", "5", "--no-control-socket"]
        self._launch("web", [*server, "--bind", f"127.0.0.1:{self._port}", *options])
        self._wait_for_an_answer()

    def start_workers(self) -> None:
        """Start the workers, which import their code while the caller goes on."""
        self._launch("scorer", _worker_command("default,webhooks", 1, "--beat"))
        self._launch("builder", _worker_command("build,files", 2))
        self._launch("worker", _worker_command("play", self._processes))

    def require_port(self) -> None:
        """Raise `Refusal` if nothing can listen on the port."""
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", self._port))
            except OSError as error:
                used = error.errno == errno.EADDRINUSE
                problem = "is in use by another program" if used else f"cannot be used ({error.strerror})"
                raise Refusal(
                    f"port {self._port} {problem}", fix=f'choose another one: make demo ARGS="--port {self._port + 1}"'
                ) from error

    def check(self) -> None:
        """Raise `Fault` if a process has ended by itself."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise Fault(f"the {name} ended with status {process.returncode}; see {self._log_of(name)}")

    def stop(self) -> None:
        """Stop all, gracefully first, with what they started. A running piece is played again at the next start."""
        for number, patience in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)):
            deadline = time.monotonic() + patience
            for process in self._running.values():
                if process.poll() is None:
                    process.send_signal(number)
            for process in self._running.values():
                try:
                    process.wait(max(0.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    continue
        for process in self._running.values():
            with suppress(ProcessLookupError):  # a worker that had to be killed leaves its beat
                os.killpg(process.pid, signal.SIGKILL)
        self._running.clear()

    def _launch(self, name: str, command: list[str]) -> None:
        usual = {"GAUNTLET_LOG_FORMAT": "text", "GAUNTLET_SOURCE": str(settings.ROOT)}
        with self._log_of(name).open("ab") as log:
            # a session of its own: Ctrl-C goes to the supervisor, which then stops them in order
            self._running[name] = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=usual | os.environ | {"GAUNTLET_ADDRESS": self.url},
            )

    def _log_of(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _wait_for_an_answer(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            try:
                if requests.get(f"{self.url}/healthz", timeout=5).ok:
                    return
            except requests.RequestException:  # not started yet, or still loading on a busy host
                time.sleep(0.1)
        raise Fault(f"the web server did not answer within {START_SECONDS:g} s; see {self._log_of('web')}")


def _worker_command(queue: str, processes: int, *more: str) -> list[str]:
    worker = ["nice", "-n", "10", sys.executable, "-m", "celery", "--app", "config", "worker", *more]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    name = ["--hostname", f"{queue}@%h"]
    return [*worker, "--queues", queue, "--concurrency", str(processes), *name, *quiet]


def host_processes() -> int:
    """Return how many pieces are played at a time: one per core."""
    return os.cpu_count() or 1
