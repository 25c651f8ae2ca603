"""Run of one player as a container."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, DockerException, NotFound

from evaluation.domain.errors import Fault
from evaluation.domain.processor_use import ProcessorUse
from evaluation.sandbox.base import Ending, PlayerRun, SpaceUse
from evaluation.sandbox.container_hosts_file import remove_hosts_file
from evaluation.sandbox.container_process_examiner import Examiner
from evaluation.sandbox.memory_and_space_use import space_of_control_group
from evaluation.sandbox.out_of_memory_cause import HostMemory
from evaluation.sandbox.player_processor_time import control_group_file, control_group_processes, control_group_seconds
from evaluation.sandbox.process_tree import deleted_bytes
from evaluation.sandbox.processor_use import processor_use

if TYPE_CHECKING:
    from docker.models.containers import Container

_PATIENCE = 5.0
_KILLED = 137  # 128 + SIGKILL
_SCRATCH = "/tmp"  # noqa: S108 - a private file system of the player
_TERMINATED = 143  # 128 + SIGTERM
_NOT_EXECUTED = (126, 127)  # from the init process, if the image lacks the command; or from the player itself


class DockerRun(PlayerRun):
    """One started container."""

    def __init__(
        self,
        container: Container,
        log_bytes: int,
        memory: HostMemory,
        left: set[str],
        examiner: Examiner,
        hosts: Path,
    ) -> None:
        """Start to watch `container`; `left` collects its id if it cannot be removed. `hosts`: its own /etc/hosts."""
        self._container = container
        self._log_bytes = log_bytes
        self._memory = memory
        self._left = left
        self._examiner = examiner
        self._hosts = hosts
        self._lost = False
        self._group: Path | None = None
        self._looked_for_group = False
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

    def processor_use(self) -> ProcessorUse | None:
        try:
            if (group := self._control_group_file()) is not None:
                computed = control_group_seconds(group)
                return None if computed is None else processor_use(computed, control_group_processes(group))
            seen: Any = self._container.stats(stream=False, one_shot=True)  # the same figure, up to a second later
            return processor_use(int(seen["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9, ())
        except (DockerException, OSError, KeyError):
            return None

    def space_use(self) -> SpaceUse:
        self._memory.look()
        try:
            if (group := self._control_group_file()) is not None:
                return space_of_control_group(group, control_group_processes(group), private=_SCRATCH)
            seen: Any = self._container.stats(stream=False, one_shot=True)
            memory, processes = seen.get("memory_stats", {}), seen.get("pids_stats", {})
            return SpaceUse(memory.get("max_usage", memory.get("usage")), processes.get("current"))
        except (DockerException, OSError):
            return SpaceUse()

    def deleted_bytes(self, device: int) -> int:
        try:
            if os.geteuid() == 0 and (group := self._control_group_file()) is not None:
                return deleted_bytes(control_group_processes(group), device)
            # others may not look into processes of the container's user
            return self._examiner.deleted_bytes(self.container_id, device)
        except (DockerException, OSError, KeyError):
            return 0

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
                    remove_hosts_file(self._hosts)
                    with unless_removed():
                        self._container.remove(force=True, v=True)
                    self._left.discard(self.container_id)
            self._watcher.join(10.0)
        return self._ending

    def _conclude(self) -> Ending:
        try:
            self._container.reload()
            by_itself = not self._container.attrs["State"]["Running"]
            if not by_itself:
                with contextlib.suppress(APIError):  # it may end at this moment
                    self._container.kill()
                self._container.wait(timeout=60)
                self._container.reload()
            state: dict[str, Any] = self._container.attrs["State"]
            log = self._container.logs(stdout=True, stderr=True)
        except NotFound:  # another process removed it
            return Ending(None, False, "", host_failure="another process removed its container")
        exit_code = int(state["ExitCode"]) if by_itself else None
        kept = log[max(0, len(log) - self._log_bytes) :].decode("utf-8", errors="replace")
        out_of_memory = exit_code != 0 and (bool(state["OOMKilled"]) or self._reached_its_limit(exit_code))
        shortage = self._memory.shortage() if out_of_memory or exit_code == _KILLED else ""
        failure = self._host_failure(exit_code, out_of_memory)
        confirmed = not self._lost and exit_code not in _NOT_EXECUTED
        return Ending(exit_code, out_of_memory, kept, failure, shortage, confirmed)

    def _reached_its_limit(self, exit_code: int | None) -> bool:
        """Return whether the kernel killed it for memory, though the engine heard of its end alone.

        A player that ends itself with SIGKILL is taken for one if the kernel killed another one since the last look.
        """
        killed = exit_code == _KILLED and not self._lost
        return killed and self._memory.kernel_has_killed() and not self._was_killed()

    def _control_group_file(self) -> Path | None:
        """Return the file of its control group, if that is in sight; an engine that does not answer is asked again."""
        if not self._looked_for_group:
            self._container.reload()
            self._group = control_group_file(self._container.attrs["State"]["Pid"], self.container_id)
            self._looked_for_group = True
        return self._group

    def _host_failure(self, exit_code: int | None, out_of_memory: bool) -> str:
        """Return what certainly failed outside the player. A player cannot cause any of it from inside."""
        if exit_code is None:
            return "the engine became unreachable during the run" if self._lost else ""
        if exit_code not in (_KILLED, _TERMINATED) or out_of_memory:
            return ""
        if self._lost:
            return "the engine became unreachable during the run, and ended it"
        return "another process killed its container" if self._was_killed() else ""

    def _was_killed(self) -> bool:
        """Return True if the engine received a kill command; a signal that a process sends itself is not an event."""
        filters = {"container": self.container_id, "event": "kill"}
        client: Any = self._container.client
        # to the microsecond, which its type hints lack: it would wait for a later time
        now = f"{time.time():.6f}"
        with contextlib.closing(client.events(since=1, until=now, filters=filters)) as events:
            return any(True for _ in events)

    def _read(self, on_output: Callable[[bytes], None]) -> None:
        # if the engine stops answering, `Ending.log` holds the rest
        with contextlib.suppress(DockerException, OSError):
            for chunk in self._container.logs(stdout=True, stderr=True, stream=True, follow=True):
                on_output(chunk)

    def _watch(self) -> None:
        # also if the engine stops answering, which `end` reports
        try:
            self._container.wait(timeout=None)
        except (DockerException, OSError):
            self._lost = True
        self._gone.set()


@contextlib.contextmanager
def unless_removed() -> Iterator[None]:
    """Ignore inside the block that another process removed the container, or is removing it."""
    try:
        yield
    except NotFound:
        pass
    except APIError as failure:
        if failure.status_code != HTTPStatus.CONFLICT:
            raise


@contextlib.contextmanager
def as_fault(doing: str) -> Iterator[None]:
    """Turn an engine error inside the block into a `Fault` that says what the site was `doing`."""
    try:
        yield
    except (DockerException, OSError) as failure:
        raise Fault(f"{doing}: the Docker engine says: {failure}") from failure
