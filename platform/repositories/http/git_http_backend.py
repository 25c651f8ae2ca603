"""One run of `git http-backend` per request: streams both ways and answers hooks, in a single thread."""

from __future__ import annotations

import logging
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from math import ceil

from django.conf import settings

from core.errors import Fault
from evaluation.parsing.processor_time_meter import Meter, group_seconds, wait
from repositories.git_command import MAX_CPU_SECONDS, environment, limited
from repositories.http.push_hooks import ReceivePack
from repositories.http.request_body import BLOCK, Body, RequestCutOffError

log = logging.getLogger(__name__)

MAX_HEAD_BYTES = 1 << 16
END_SECONDS = 3.0
"""Time that git has after SIGTERM to remove its files, before SIGKILL."""


class BackendProcess:
    """One run of `git http-backend`. Call `head`, then iterate over the rest; `close` ends git and cleans up.

    `variables` are the CGI variables; `receive` answers the hooks of a push; `clean_up` is always called at the end.
    `meter` counts the processor time of all this; no process of git may use more than `cpu_seconds`.
    """

    def __init__(
        self,
        *,
        variables: Mapping[str, str],
        body: Body,
        receive: ReceivePack | None = None,
        clean_up: Callable[[], None] | None = None,
        meter: Meter | None = None,
        cpu_seconds: float = MAX_CPU_SECONDS,
    ) -> None:
        self._body, self._receive = body, receive
        self._meter, self._cpu_seconds = meter or Meter(), cpu_seconds
        self._user, self._path = variables.get("REMOTE_USER", "anonymous"), variables.get("PATH_INFO", "")
        self._pending = b""
        self._dropped = 0
        self._finished = self._broken = False
        self._closing = ExitStack()
        self._closing.callback(body.close)
        if clean_up is not None:
            self._closing.callback(clean_up)
        try:
            self._start(variables)
        except BaseException:
            self._closing.close()
            raise
        self._blocks = self._pump()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        with self._meter.running():
            return next(self._blocks)

    def head(self) -> tuple[int, dict[str, str]]:
        """Return status and headers; raise `RequestCutOffError`, or `Fault` if git gives none."""
        text = bytearray()
        for block in self:
            text += block
            if b"\r\n\r\n" in text or len(text) > MAX_HEAD_BYTES:
                break
        lines, end, rest = bytes(text).partition(b"\r\n\r\n")
        if not end:
            self.close()
            raise RequestCutOffError("the request was interrupted") if self._broken else Fault("git gave no answer")
        headers = dict(line.split(": ", 1) for line in lines.decode("latin-1").split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        self._blocks = chain([rest] if rest else [], self._blocks)
        return status, headers

    def close(self) -> None:
        """End git and remove the files of this request. Safe to repeat."""
        with self._meter.running():
            self._closing.close()

    def _start(self, variables: Mapping[str, str]) -> None:
        self._selector = self._closing.enter_context(selectors.DefaultSelector())
        if self._receive is not None:
            self._selector.register(self._receive.socket, selectors.EVENT_READ)
            variables = {**variables, **self._receive.variables}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the rest
        self._closing.callback(self._errors.close)
        self._git = subprocess.Popen(
            [*limited(ceil(self._cpu_seconds)), "http-backend"],
            env=environment(variables),
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            start_new_session=True,
        )
        if self._git.stdin is None or self._git.stdout is None:
            raise Fault("git was started without its pipes")
        self._input, self._output = self._git.stdin, self._git.stdout
        self._closing.callback(self._end)
        os.set_blocking(self._input.fileno(), False)
        self._selector.register(self._input, selectors.EVENT_WRITE)
        self._selector.register(self._output, selectors.EVENT_READ)

    def _pump(self) -> Iterator[bytes]:
        try:
            while True:
                ready = {key.fileobj for key, _ in self._selector.select(self._timeout())}
                if self._receive is not None and self._receive.socket in ready:
                    self._receive.answer(self._cost)
                elif self._output in ready:
                    block = os.read(self._output.fileno(), BLOCK)
                    if not block:
                        self._finished = True
                        break
                    self._body.watchdog.wait_begins()
                    yield block
                    self._body.watchdog.wait_ends(len(block))
                elif self._input in ready:
                    self._feed()
                elif self._input.closed:
                    self._discard()
            while not self._body.ended:
                self._discard()
        except RequestCutOffError as broken:
            level = logging.WARNING if self._body.was_cut_off else logging.INFO
            log.log(level, "%s of %s: %s", self._path, self._user, broken)
            self._broken = True
            self._body.cut_off(str(broken))  # the rest of this connection cannot be parsed
        finally:
            self.close()

    def _cost(self) -> float:
        return self._meter.seconds + group_seconds(self._git.pid)

    def _timeout(self) -> float:
        """Return how long to wait for the next event, in seconds; raise `RequestCutOffError` after the deadline."""
        left = self._body.seconds_left()
        return 0.0 if self._input.closed and not self._body.ended else left

    def _feed(self) -> None:
        try:
            if not self._pending and not (block := self._body.read()):
                self._close_input()
                return
            self._pending = self._pending or block
            self._pending = self._pending[os.write(self._input.fileno(), self._pending) :]
        except BrokenPipeError:  # git reads no more; the rest of the request is discarded
            self._close_input()

    def _discard(self) -> None:
        """Read the rest of the request and discard it: a client reads the answer only after its request is sent."""
        self._timeout()
        self._dropped += len(self._body.read())
        if self._dropped > settings.MAX_PUSH_BYTES:
            raise RequestCutOffError("the request body exceeds the limit after git stopped reading")

    def _close_input(self) -> None:
        self._selector.unregister(self._input)
        self._input.close()

    def _end(self) -> None:
        lost = 0.0
        if not (self._finished and _ended_within(self._git.pid, END_SECONDS)):
            lost = group_seconds(self._git.pid)  # nobody waits for what is killed below git
            os.killpg(self._git.pid, signal.SIGTERM)
            _ended_within(self._git.pid, END_SECONDS)
        # until `wait` below, its process group number cannot be reused
        os.killpg(self._git.pid, signal.SIGKILL)
        before = self._meter.seconds
        status = wait(self._git)
        self._meter.add(max(0.0, lost - (self._meter.seconds - before)))
        self._input.close()
        self._output.close()
        self._errors.seek(0)
        if output := self._errors.read(4096):
            log.warning("git http-backend exited with status %d: %s", status, output.decode(errors="replace"))


def _ended_within(number: int, seconds: float) -> bool:
    """Return True if the process has ended, or ends within `seconds`. It remains to be waited for."""
    until = time.monotonic() + seconds
    while os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True
