"""One player as a container: whether it still runs, what it prints, and how it ended."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, DockerException, NotFound

from evaluation.domain.errors import Fault
from evaluation.sandbox.base import Ending, Run
from evaluation.sandbox.host_memory import HostMemory

if TYPE_CHECKING:
    from docker.models.containers import Container

_PATIENCE = 5.0
_KILLED = 137  # 128 + SIGKILL
_TERMINATED = 143  # 128 + SIGTERM
_NOT_EXECUTED = (126, 127)  # by the init process, where the image has no such command; or by the player itself


class DockerRun(Run):
    """One started container."""

    def __init__(self, container: Container, log_bytes: int, memory: HostMemory, left: set[str]) -> None:
        """`left` gets the container's id where it could not be removed."""
        self._container = container
        self._log_bytes = log_bytes
        self._memory = memory
        self._left = left
        self._lost = False
        self._gone = threading.Event()
        self._ending: Ending | None = None
        self._watcher = threading.Thread(target=self._watch, name="player watch", daemon=True)
        self._watcher.start()
        self._reader: threading.Thread | None = None

    @property
    def container_id(self) -> str:
        """The engine's id of the container."""
        return str(self._container.id)

    def ended(self) -> bool:
        return self._gone.is_set()

    def follow(self, on_output: Callable[[bytes], None]) -> None:
        self._reader = threading.Thread(target=self._read, args=(on_output,), name="player log", daemon=True)
        self._reader.start()

    def end(self) -> Ending:
        if self._ending is None:
            self._left.add(self.container_id)
            with as_fault("ending a container"):
                try:
                    self._ending = self._conclude()
                    if self._reader is not None:
                        self._reader.join(_PATIENCE)
                finally:
                    with contextlib.suppress(NotFound):
                        self._container.remove(force=True, v=True)
                    self._left.discard(self.container_id)
            self._watcher.join(10.0)
        return self._ending

    def _conclude(self) -> Ending:
        try:
            self._container.reload()
            by_itself = not self._container.attrs["State"]["Running"]
            if not by_itself:
                with contextlib.suppress(APIError):  # it may end at this very moment
                    self._container.kill()
                self._container.wait(timeout=60)
                self._container.reload()
            state: dict[str, Any] = self._container.attrs["State"]
            log = self._container.logs(stdout=True, stderr=True)
        except NotFound:  # somebody else removed it
            return Ending(None, False, "", trouble="its container was removed by somebody else")
        exit_code = int(state["ExitCode"]) if by_itself else None
        kept = log[max(0, len(log) - self._log_bytes) :].decode("utf-8", errors="replace")
        out_of_memory = bool(state["OOMKilled"]) and (exit_code is None or exit_code != 0)
        starved = self._memory.trouble() if out_of_memory or exit_code == _KILLED else ""
        trouble = self._trouble(exit_code, out_of_memory)
        certain = not self._lost and exit_code not in _NOT_EXECUTED
        return Ending(exit_code, out_of_memory, kept, trouble, starved, certain)

    def _trouble(self, exit_code: int | None, out_of_memory: bool) -> str:
        """What is certain to have failed besides the player. None of it can be brought about from inside."""
        if exit_code is None:
            return "the engine went away while it ran" if self._lost else ""
        if exit_code not in (_KILLED, _TERMINATED) or out_of_memory:
            return ""
        if self._lost:
            return "the engine went away while it ran, and ended it"
        return "its container was killed by somebody else" if self._was_killed() else ""

    def _was_killed(self) -> bool:
        """Whether the engine was told to kill it; what a process does to itself is no event."""
        filters = {"container": self.container_id, "event": "kill"}
        client: Any = self._container.client
        # to the microsecond, which its types do not have: until a later time it would wait
        now = f"{time.time():.6f}"
        with contextlib.closing(client.events(since=1, until=now, filters=filters)) as events:
            return any(True for _ in events)

    def _read(self, on_output: Callable[[bytes], None]) -> None:
        # what is missing when the engine stops answering is in the ending, as far as there is one
        with contextlib.suppress(DockerException, OSError):
            for chunk in self._container.logs(stdout=True, stderr=True, stream=True, follow=True):
                on_output(chunk)

    def _watch(self) -> None:
        # also when the engine stops answering: end() then says so
        try:
            self._container.wait(timeout=None)
        except (DockerException, OSError):
            self._lost = True
        self._gone.set()


@contextlib.contextmanager
def as_fault(doing: str) -> Iterator[None]:
    """What goes wrong with the engine in the block is a `Fault` that says what we were `doing`."""
    try:
        yield
    except (DockerException, OSError) as failure:
        raise Fault(f"{doing}: the Docker engine says: {failure}") from failure
