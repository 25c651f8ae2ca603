"""Run of one container of a build: its log lines and its exit status."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from docker.errors import DockerException

from evaluation.builder.base import LogLine
from evaluation.domain.errors import Fault
from evaluation.sandbox.docker_run import as_fault

if TYPE_CHECKING:
    from docker import DockerClient

Watch: TypeAlias = Callable[[], None]
"""Called about twice a second while a container runs; raises to stop it."""

_LINE_BYTES = 8 << 10
_WATCH_SECONDS = 0.5
_CLOSE_SECONDS = 5.0


def run_container(client: DockerClient, container: str, on_log: LogLine, watch: Watch) -> int:
    """Start `container`, pass on its log lines, and wait for its end. Return its exit status; raise `Fault`."""
    # one request to the engine waits from start to end: if the engine goes away meanwhile, that connection breaks,
    # and a build cannot fake or hide this
    lines: queue.Queue[str | None] = queue.Queue(maxsize=1000)
    stopped = threading.Event()
    with as_fault("starting a build"):
        client.api.start(container)
        output = client.api.logs(container, stdout=True, stderr=True, stream=True, follow=True)
        reader = threading.Thread(target=_read_lines, args=(output, lines, stopped), daemon=True)
        reader.start()
    ending: queue.Queue[int | Exception] = queue.Queue()
    waiter = threading.Thread(target=_wait, args=(client, container, ending), daemon=True)
    waiter.start()
    try:
        for line in _watched(lines, watch):
            on_log(line)
        while True:
            with suppress(queue.Empty):
                ended = ending.get(timeout=_WATCH_SECONDS)
                break
            watch()
    except BaseException:
        with suppress(DockerException, OSError):
            client.api.kill(container)
        raise
    finally:
        stopped.set()
        reader.join(_CLOSE_SECONDS)
        waiter.join(_CLOSE_SECONDS)
    if isinstance(ended, Exception):
        raise Fault(f"the Docker engine failed during a build: {ended}") from ended
    return ended


def _wait(client: DockerClient, container: str, ending: queue.Queue[int | Exception]) -> None:
    try:
        ending.put(int(client.api.wait(container, timeout=None)["StatusCode"]))
    except (DockerException, OSError) as failure:
        ending.put(failure)


def _watched(lines: queue.Queue[str | None], watch: Watch) -> Iterator[str]:
    """Yield the lines until the end; call `watch` on time, also for a build that logs all the time or never."""
    due = time.monotonic() + _WATCH_SECONDS
    while True:
        if time.monotonic() >= due:
            watch()
            due = time.monotonic() + _WATCH_SECONDS
        with suppress(queue.Empty):
            line = lines.get(timeout=_WATCH_SECONDS)
            if line is None:
                return
            yield line


def _read_lines(output: Iterable[bytes], lines: queue.Queue[str | None], stopped: threading.Event) -> None:
    def put(line: str | None) -> None:
        while not stopped.is_set():
            with suppress(queue.Full):
                lines.put(line, timeout=_WATCH_SECONDS)
                return

    rest = b""
    with suppress(DockerException, OSError):
        for chunk in output:
            *whole, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LINE_BYTES:  # a line without an end is split
                whole, rest = [*whole, rest], b""
            for raw in whole:
                put(_text(raw))
    if rest:
        put(_text(rest))
    put(None)


def _text(raw: bytes) -> str:
    return raw[:_LINE_BYTES].decode("utf-8", errors="replace").rstrip("\r")
