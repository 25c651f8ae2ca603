"""The `docker` program: the one way to BuildKit that every engine understands, and a process that can be stopped."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from evaluation.builder.base import LogLine
from evaluation.builder.context import ContextEntry, write_context
from evaluation.domain.errors import BuildRefusal, Fault

_QUICK_SECONDS = 120.0
_TAIL_LINES = 20
_LINE_BYTES = 4096
_WATCH_SECONDS = 1.0
_NOTICE_SECONDS = 2.0
_CANCEL_SECONDS = 2.0

Watch = Callable[[], None]
"""Asked about once a second while a build runs; raises the refusal that stops it."""


@dataclass(frozen=True)
class BuildOrder:
    """One call of `docker build`: the recipe's place in the context, what to call the image, and the limits."""

    file: str
    tag: str
    labels: tuple[tuple[str, str], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    network: str = "default"

    def words(self) -> list[str]:
        """The command line after `docker`."""
        words = [
            "build",
            "--progress",
            "plain",
            "--force-rm",
            "--network",
            self.network,
            "-f",
            self.file,
            "-t",
            self.tag,
        ]
        for option, pairs in (("--label", self.labels), ("--build-arg", self.arguments)):
            for name, value in pairs:
                words += [option, f"{name}={value}"]
        return [*words, "-"]


class DockerClient:
    """Calls one `docker` program. Raises `Fault` where the engine or the program fails."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path or find_client()

    def image(self, name: str) -> dict[str, Any] | None:
        """What `docker image inspect` knows of the image `name`, or None where the engine has no such image."""
        answer = self._call("image", "inspect", name)
        if answer.returncode == 0:
            found: dict[str, Any] = json.loads(answer.stdout)[0]
            return found
        if "No such image" in answer.stderr or "not found" in answer.stderr:
            return None
        raise Fault(f"docker image inspect {name} failed: {answer.stderr.strip()}")

    def remove(self, name: str) -> None:
        """Remove the image `name`, or its name where others share it; one that is gone is no error."""
        self._call("image", "rm", name)

    def tag(self, image: str, name: str) -> None:
        """Give `image` the further name `name`."""
        answer = self._call("tag", image, name)
        if answer.returncode != 0:
            raise Fault(f"docker tag {image} {name} failed: {answer.stderr.strip()}")

    def root_directory(self) -> Path | None:
        """Where the engine keeps its layers, if that is on this host."""
        answer = self._call("info", "--format", "{{.DockerRootDir}}")
        path = Path(answer.stdout.strip() or "-")
        return path if answer.returncode == 0 and path.is_dir() else None

    def build(self, order: BuildOrder, context: Iterable[ContextEntry], on_log: LogLine, watch: Watch) -> None:
        """Build; every line of the log goes to `on_log`. `watch` is asked regularly and raises to stop the build.

        Raises `BuildRefusal` with the last lines where the recipe fails.
        """
        tail: deque[str] = deque(maxlen=_TAIL_LINES)
        with tempfile.TemporaryFile() as archive:
            write_context(context, archive)
            archive.seek(0)
            with _Connection(self._path) as connection:
                try:
                    code = self._run(order.words(), archive, [on_log, tail.append], watch)
                except BaseException:
                    self._remove_late(order.tag)
                    raise
                if code == 0:
                    return
                broke = connection.broke()
        lines = "\n".join(f"    {line}" for line in tail)
        # never by what was printed: a recipe can print whatever the client does
        if broke or self._call("version").returncode != 0:
            raise Fault(f"the engine failed while it built {order.tag}:\n{lines}")
        raise BuildRefusal(
            f"the build failed; its last lines:\n{lines}", fix="mend the step that failed, and try again"
        )

    def _run(self, words: Sequence[str], stdin: IO[bytes], sinks: Sequence[LogLine], watch: Watch) -> int:
        process = subprocess.Popen(
            [self._path, *words],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"DOCKER_BUILDKIT": "1"},
            start_new_session=True,
        )
        assert process.stdout is not None  # noqa: S101 - by the PIPE above
        lines: queue.Queue[str | None] = queue.Queue(maxsize=1000)
        stopped = threading.Event()
        reader = threading.Thread(target=_read_lines, args=(process.stdout, lines, stopped), daemon=True)
        reader.start()
        try:
            for line in _watched(lines, watch):
                for sink in sinks:
                    sink(line)
            return process.wait()
        finally:
            stopped.set()
            _stop(process)
            reader.join()
            process.stdout.close()

    def _remove_late(self, name: str) -> None:
        """Remove what a build that was stopped may still name: the engine learns of the stop a moment later."""
        deadline = time.monotonic() + _CANCEL_SECONDS
        while self._call("image", "rm", name).returncode != 0 and time.monotonic() < deadline:
            time.sleep(_CANCEL_SECONDS / 10)

    def _call(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            answer = subprocess.run(
                [self._path, *words], capture_output=True, text=True, timeout=_QUICK_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Fault(f"{self._path} {' '.join(words)} failed: {error}") from error
        if "Cannot connect to the Docker daemon" in answer.stderr:
            raise Fault(f"no Docker engine answers: {answer.stderr.strip()}")
        return answer


class _Connection:
    """A connection on which nothing is asked of the engine, so that it ends where the engine goes away meanwhile."""

    def __init__(self, client: str) -> None:
        words = [client, "events", "--filter", "type=daemon"]
        nowhere = subprocess.DEVNULL
        self._process = subprocess.Popen(words, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)

    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _stop(self._process)

    def broke(self) -> bool:
        """Whether it ended; a moment is left for it, since a build may be the first to notice."""
        try:
            self._process.wait(_NOTICE_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True


def _watched(lines: queue.Queue[str | None], watch: Watch) -> Iterator[str]:
    """The lines until their end; `watch` is asked on time whether a build talks all the time or never."""
    due = time.monotonic() + _WATCH_SECONDS
    while True:
        if time.monotonic() >= due:
            watch()
            due = time.monotonic() + _WATCH_SECONDS
        with contextlib.suppress(queue.Empty):
            line = lines.get(timeout=_WATCH_SECONDS)
            if line is None:
                return
            yield line


def _read_lines(output: IO[bytes], lines: queue.Queue[str | None], stopped: threading.Event) -> None:
    def put(line: str | None) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                lines.put(line, timeout=_WATCH_SECONDS)
                return

    # a line without an end comes in pieces
    for raw in iter(lambda: output.readline(_LINE_BYTES), b""):
        put(raw.decode("utf-8", errors="replace").rstrip("\r\n"))
    put(None)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kill the client and its plugins. The engine cancels a build, and its processes, with the client's connection."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@lru_cache(maxsize=1)
def find_client() -> str:
    """The first `docker` on the PATH that speaks BuildKit: with the buildx plugin, or from before it was split off."""
    tried = []
    for directory in os.get_exec_path():
        path = shutil.which("docker", path=directory)
        if path is None:
            continue
        if _speaks_buildkit(path):
            return path
        tried.append(path)
    what = f"{', '.join(tried)} cannot: install its buildx plugin" if tried else "there is none on the PATH"
    raise Fault(f"no docker program that speaks BuildKit: {what}, or set GAUNTLET_DOCKER_CLIENT")


def _speaks_buildkit(path: str) -> bool:
    if subprocess.run([path, "buildx", "version"], capture_output=True, check=False).returncode == 0:
        return True
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"version (\d+)\.", answer)
    return version is not None and 18 < int(version[1]) < 23
