"""Run `git http-backend` for one request: bytes stream both ways, hooks are answered in between, all in one thread."""

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

from django.conf import settings

from core import faults
from core.errors import Fault
from repositories.git_command import COMMAND, environment
from repositories.http.hook_channel import HookChannel, HookRequest, HookResponse
from repositories.http.request_body import BLOCK, Body, RequestCutOffError

log = logging.getLogger(__name__)

MAX_HEAD_BYTES = 1 << 16
END_SECONDS = 3.0
"""For git to tidy up when it is told to end, before it is killed."""

Receive = Callable[[HookRequest], HookResponse]


class BackendProcess:
    """One run of `git http-backend`. First `head`, then iterate over what follows; `close` ends and removes everything.

    `variables` are those of CGI; `receive` answers git's hooks; `clean_up` is called at the end, whatever happened.
    """

    def __init__(
        self,
        *,
        variables: Mapping[str, str],
        body: Body,
        receive: Receive | None = None,
        clean_up: Callable[[], None] | None = None,
    ) -> None:
        self._body, self._receive = body, receive
        self._who, self._what = variables.get("REMOTE_USER", "somebody"), variables.get("PATH_INFO", "")
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
        return next(self._blocks)

    def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers of the answer; raises `RequestCutOffError`, and `Fault` where git gives none."""
        text = bytearray()
        for block in self._blocks:
            text += block
            if b"\r\n\r\n" in text or len(text) > MAX_HEAD_BYTES:
                break
        lines, end, rest = bytes(text).partition(b"\r\n\r\n")
        if not end:
            self.close()
            raise RequestCutOffError("the request broke off") if self._broken else Fault("git gave no answer")
        headers = dict(line.split(": ", 1) for line in lines.decode("latin-1").split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        self._blocks = _after(rest, self._blocks)
        return status, headers

    def close(self) -> None:
        """End git and remove what only this request needed. Safe to repeat."""
        self._closing.close()

    def _start(self, variables: Mapping[str, str]) -> None:
        self._selector = self._closing.enter_context(selectors.DefaultSelector())
        self._line = HookChannel() if self._receive else None
        if self._line is not None:
            self._closing.callback(self._line.close)
            self._selector.register(self._line.socket, selectors.EVENT_READ)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the rest
        self._closing.callback(self._errors.close)
        self._git = subprocess.Popen(
            [*COMMAND, "http-backend"],
            env=environment(dict(variables) | (self._line.variables if self._line else {})),
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
                ready = {key.fileobj for key, _ in self._selector.select(self._patience())}
                if self._line is not None and self._line.socket in ready:
                    self._answer()
                elif self._output in ready:
                    block = os.read(self._output.fileno(), BLOCK)
                    if not block:
                        self._finished = True
                        break
                    self._body.watch.wait_begins()
                    yield block
                    self._body.watch.wait_ends(len(block))
                elif self._input in ready:
                    self._feed()
                elif self._input.closed:
                    self._drop()
            while not self._body.ended:
                self._drop()
        except RequestCutOffError as broken:
            level = logging.WARNING if self._body.was_cut_off else logging.INFO
            log.log(level, "%s of %s: %s", self._what, self._who, broken)
            self._broken = True
            self._body.cut_off(str(broken))  # nothing that follows on this connection can be understood
        finally:
            self.close()

    def _patience(self) -> float:
        """How long to wait for something to happen; raises `RequestCutOffError` when the time is up."""
        left = self._body.watch.until - time.monotonic()
        if left <= 0:
            raise RequestCutOffError(f"ended after {settings.MAX_EXCHANGE_SECONDS} s")
        return 0.0 if self._input.closed and not self._body.ended else left

    def _feed(self) -> None:
        try:
            if not self._pending and not (block := self._body.read()):
                self._shut()
                return
            self._pending = self._pending or block
            self._pending = self._pending[os.write(self._input.fileno(), self._pending) :]
        except BrokenPipeError:  # git has heard enough; the rest of the request is read and dropped
            self._shut()

    def _drop(self) -> None:
        """Read on and forget: a client reads the answer only when it has been heard out."""
        self._patience()
        self._dropped += len(self._body.read())
        if self._dropped > settings.MAX_PUSH_BYTES:
            raise RequestCutOffError("the request goes on and on, and git heeds it no more")

    def _shut(self) -> None:
        self._selector.unregister(self._input)
        self._input.close()

    def _answer(self) -> None:
        if self._line is None or self._receive is None:
            return
        try:
            question, caller = self._line.hear()
            with caller:
                self._line.reply(caller, self._receive(question))
        except Fault as fault:
            faults.report(log, fault, "a hook of git was not answered")
        except (OSError, ValueError, TypeError):  # the hook is gone; git ends by itself
            log.warning("a hook of git was not heard out", exc_info=True)

    def _end(self) -> None:
        if not (self._finished and _ended_within(self._git.pid, END_SECONDS)):
            os.killpg(self._git.pid, signal.SIGTERM)
            _ended_within(self._git.pid, END_SECONDS)
        # until it is waited for below, the number of its group is still its own
        os.killpg(self._git.pid, signal.SIGKILL)
        status = self._git.wait()
        self._input.close()
        self._output.close()
        self._errors.seek(0)
        if said := self._errors.read(4096):
            log.warning("git http-backend ended with status %d: %s", status, said.decode(errors="replace"))


def _ended_within(number: int, seconds: float) -> bool:
    """Whether the process has ended, or does so in time. It stays to be waited for."""
    until = time.monotonic() + seconds
    while os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def _after(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest
