"""Child process that parses bytes from strangers, with limits of processor time and memory.

`python -m evaluation.parsing.limited_process MODULE:FUNCTION` answers requests on its standard input with the function
until the input ends. Requests and answers are a JSON object and bytes: what comes from the child is never unpickled.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import IO, Any, Self

from evaluation.domain.errors import BuildRefusal, Fault, HostRefusal, ManifestRefusal, Refusal
from evaluation.parsing.processor_time_meter import wait

Fields = dict[str, Any]
Parser = Callable[[Fields, bytes], tuple[Fields, bytes]]
"""A function for `LimitedProcess`: gets fields and bytes of a request, and returns those of its answer."""

_REFUSALS: dict[str, type[Refusal]] = {kind.__name__: kind for kind in (BuildRefusal, HostRefusal, ManifestRefusal)}
"""The kinds of refusals that keep their kind on the way out of the child."""
_LENGTHS = struct.Struct(">II")
_MOST_ANSWER_BYTES = 1 << 30
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""The threads of numerical libraries reserve address space, which has a limit."""
_LOCALE = "LC_"
_PASSED_ON = frozenset(
    ("PATH", "HOME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONUTF8")
)
"""The variables that a child gets besides those of the locale: Python's own, and no secret of the site."""
_WALL_FACTOR, _LEAST_WALL_SECONDS = 20, 60
"""A child that computes on a busy host may take longer by the clock than its limit of processor time."""


class LimitExceededError(Exception):
    """The child died, or ended the request, at the limit that the message names."""


class LimitedProcess:
    """Runs `parser` (`module:function`, of the type `Parser`) in a child; each request has `seconds` of processor time.

    The child has `memory_bytes` of address space. It starts with the first request, and again with the first one after
    its death. It gets none of the site's variables: settings are fields of a request. Not thread-safe. Use it in a
    `with`.
    """

    def __init__(self, parser: str, *, seconds: int, memory_bytes: int) -> None:
        self._parser, self._seconds, self._memory_bytes = parser, seconds, memory_bytes
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def ask(self, fields: Fields, body: bytes = b"") -> tuple[Fields, bytes]:
        """Return the parser's answer.

        Raise the `Refusal` that the parser raised, `LimitExceededError` at a limit, and `Fault` where
        the child fails otherwise.
        """
        process = self._process = self._process or self._started()
        wall = threading.Timer(max(_LEAST_WALL_SECONDS, _WALL_FACTOR * self._seconds), process.kill)
        wall.start()
        try:
            answer, content = self._exchange(process, fields, body)
        except (BrokenPipeError, EOFError):
            raise self._death(process) from None
        finally:
            wall.cancel()
        if (kind := answer.pop("raised", None)) is None:
            return answer, content
        if kind == "memory":
            self._end()
            raise LimitExceededError(self._memory_limit())
        raise _REFUSALS.get(kind, Refusal)(str(answer["problem"]), fix=str(answer["fix"]))

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "evaluation.parsing.limited_process", self._parser, str(self._memory_bytes)]
        return subprocess.Popen(
            [*command, str(self._seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )

    def _exchange(self, process: subprocess.Popen[bytes], fields: Fields, body: bytes) -> tuple[Fields, bytes]:
        if process.stdin is None or process.stdout is None:
            raise Fault("a parser has no pipes")
        _write(process.stdin, fields, body)
        return _read(process.stdout)

    def _death(self, process: subprocess.Popen[bytes]) -> Exception:
        self._end()
        if process.returncode == -signal.SIGXCPU:
            return LimitExceededError(f"reading it takes more than {self._seconds} s of processor time")
        if process.returncode in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
            return LimitExceededError("reading it ends the parser's process")
        return Fault(f"the parser {self._parser} ended with status {process.returncode}")

    def _memory_limit(self) -> str:
        return f"reading it takes more than {self._memory_bytes >> 20:,} MiB of memory"

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        wait(process)
        if process.stdout is not None:
            process.stdout.close()


def _environment() -> dict[str, str]:
    passed_on = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith(_LOCALE)}
    return passed_on | _ONE_THREAD


def ask_once(
    parser: str, fields: Fields, body: bytes = b"", *, what: str, seconds: int, memory_bytes: int
) -> tuple[Fields, bytes]:
    """Return the answer to one request; a limit that `what` exceeds is a `BuildRefusal`."""
    with LimitedProcess(parser, seconds=seconds, memory_bytes=memory_bytes) as process:
        try:
            return process.ask(fields, body)
        except LimitExceededError as error:
            raise BuildRefusal(f"{what}: {error}", fix="make the files smaller and simpler") from error


def _write(stream: IO[bytes], fields: Fields, body: bytes) -> None:
    head = json.dumps(fields).encode()
    stream.write(_LENGTHS.pack(len(head), len(body)))
    stream.write(head)
    stream.write(body)
    stream.flush()


def _read(stream: IO[bytes]) -> tuple[Fields, bytes]:
    head, body = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    if max(head, body) > _MOST_ANSWER_BYTES:
        raise Fault("an answer of a parser is too long")
    fields: Fields = json.loads(_exactly(stream, head))
    return fields, _exactly(stream, body)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


def main() -> None:
    """Answer requests until the input ends."""
    module, _, name = sys.argv[1].partition(":")
    parser: Parser = getattr(importlib.import_module(module), name)
    memory_bytes, seconds = int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # what a library prints must not mix with the answers
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    while True:
        try:
            fields, body = _read(sys.stdin.buffer)
        except EOFError:
            return
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + 1 + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        _write(answers, *_answer(parser, fields, body))


def _answer(parser: Parser, fields: Fields, body: bytes) -> tuple[Fields, bytes]:
    try:
        return parser(fields, body)
    except MemoryError:
        return {"raised": "memory"}, b""
    except Refusal as refusal:
        return {"raised": type(refusal).__name__, "problem": refusal.problem, "fix": refusal.fix}, b""


if __name__ == "__main__":
    main()
    gc.freeze()  # no garbage collection at exit: the memory is freed with the process
