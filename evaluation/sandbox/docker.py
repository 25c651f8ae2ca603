"""Players as containers of a Docker engine on this host: for untrusted code.

No network, a read-only root, no capabilities, an unprivileged user; limits on CPU, memory, processes, scratch space
and log; of ours only the socket directory, read-only. The engine must see the same file system as this process, since
that directory is mounted from it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.types import DeviceRequest, LogConfig, Ulimit

from evaluation.domain.errors import BuildRefusal, Fault
from evaluation.domain.players import Player
from evaluation.sandbox.base import SOCKET_NAME, Ending, Guard, Resources, Run, Sandbox
from evaluation.sandbox.docker_guards import examine_docker
from evaluation.sandbox.engine import connect_engine, docker_available
from evaluation.sandbox.environment import player_environment
from evaluation.sandbox.host_process import runner_is_dead, runner_label
from evaluation.sandbox.proved_guards import ProvedGuards
from evaluation.sandbox.register import remove_socket_directory

if TYPE_CHECKING:
    from docker.models.containers import Container

__all__ = ["RUNNER_LABEL", "DockerRun", "DockerSandbox", "docker_available"]

RUNNER_LABEL = "gauntlet.runner"
"""The label of each container that names the process that started it (see `runner_label`)."""

_PLAYER_LABEL = "gauntlet.player"
_SOCKET_LABEL = "gauntlet.socket-directory"
_SOCKET_DIRECTORY = "/run/gauntlet"
_HOME = "/tmp"  # noqa: S108 - a file system of the container's own
_NOBODY = "65534:65534"
_SHARED_MEMORY_BYTES = 64 << 20
_OPEN_FILES = 1024
_PATIENCE = 5.0
_KILLED = 137  # 128 + SIGKILL


class DockerSandbox(Sandbox):
    """Starts players as containers; the first time in a while it proves its guards before it does."""

    name: ClassVar[str] = "docker"
    for_untrusted_code: ClassVar[bool] = True

    def __init__(self, runtime: str | None = None, *, base_image: str | None = None) -> None:
        """Connect to the engine; raises `Fault` where none answers.

        `runtime` is the engine's name of another runtime, e.g. "runsc" (gVisor). `base_image` is where the self-test
        runs its probes: it needs python3 (default: $GAUNTLET_BASE_IMAGE, else gauntlet-base:latest).
        """
        self.runtime = runtime
        self.base_image = base_image or os.environ.get("GAUNTLET_BASE_IMAGE") or "gauntlet-base:latest"
        self.client = connect_engine()
        weakref.finalize(self, self.client.close)
        with _as_fault("asking for its name"):
            self._guards = ProvedGuards(f"{self.client.info()['ID']} {runtime} {self.base_image}")

    def start(self, player: Player, *, socket_directory: Path, resources: Resources) -> DockerRun:
        self.require_guards()
        return self._start(player, socket_directory=socket_directory, resources=resources)

    def sweep(self) -> int:
        swept = 0
        with _as_fault("sweeping containers"):
            for container in self.client.containers.list(
                all=True, filters={"label": RUNNER_LABEL}, ignore_removed=True
            ):
                if not runner_is_dead(container.labels[RUNNER_LABEL]):
                    continue
                with contextlib.suppress(NotFound):
                    container.remove(force=True, v=True)
                    swept += 1
                remove_socket_directory(container.labels.get(_SOCKET_LABEL, ""))
        return swept

    def self_test(self) -> list[Guard]:
        self._check_image(self.base_image)
        guards = examine_docker(self._start, self.client, self.base_image, system_call_filter=self.runtime is None)
        self._guards.remember(guards)
        return guards

    def require_guards(self) -> None:
        """Raise `HostRefusal`, naming them, where required guards are missing. Proved once, remembered for hours."""
        self._guards.require(self.self_test)

    def _start(self, player: Player, *, socket_directory: Path, resources: Resources) -> DockerRun:
        if player.image is None:
            raise Fault(f"{player.name} was built as a directory; the docker sandbox runs images")
        self._check_image(player.image)
        name = f"gauntlet-{uuid.uuid4().hex}"
        options = _options(player, socket_directory, resources, self.runtime)
        try:
            with _as_fault(f"starting {player.name}"):
                container = self.client.containers.create(player.image, name=name, **options)
                container.start()
        except BaseException:  # Ctrl-C too: it may lie between creation and the answer
            with contextlib.suppress(DockerException, OSError):
                self.client.api.remove_container(name, force=True, v=True)
            raise
        return DockerRun(container, resources.log_bytes)

    def _check_image(self, image: str) -> None:
        try:
            with _as_fault(f"looking for image {image}"):
                configuration = self.client.images.get(image).attrs["Config"] or {}
        except Fault as fault:
            if isinstance(fault.__cause__, ImageNotFound):
                raise Fault(f"the engine has no image {image}") from fault
            raise
        if configuration.get("Volumes"):
            raise BuildRefusal("the image declares volumes", fix="a player may write below /tmp only; remove VOLUME")


class DockerRun(Run):
    """One started container."""

    def __init__(self, container: Container, log_bytes: int) -> None:
        self._container = container
        self._log_bytes = log_bytes
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
            with _as_fault("ending a container"):
                try:
                    self._ending = self._conclude()
                    if self._reader is not None:
                        self._reader.join(_PATIENCE)
                finally:
                    with contextlib.suppress(NotFound):
                        self._container.remove(force=True, v=True)
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
            return Ending(None, False, "")
        exit_code = int(state["ExitCode"]) if by_itself else None
        kept = log[max(0, len(log) - self._log_bytes) :].decode("utf-8", errors="replace")
        return Ending(exit_code, bool(state["OOMKilled"]) and (exit_code is None or exit_code != 0), kept)

    def _read(self, on_output: Callable[[bytes], None]) -> None:
        # what is missing when the engine stops answering is in the ending, as far as there is one
        with contextlib.suppress(DockerException, OSError):
            for chunk in self._container.logs(stdout=True, stderr=True, stream=True, follow=True):
                on_output(chunk)

    def _watch(self) -> None:
        # also when the engine stops answering: end() then says so
        with contextlib.suppress(DockerException, OSError):
            self._container.wait(timeout=None)
        self._gone.set()


def _options(player: Player, socket_directory: Path, resources: Resources, runtime: str | None) -> dict[str, Any]:
    """How the container is made; each line is a guard, or what a guard leaves over."""
    gpu = resources.gpu if player.gpu else None
    return {
        # the entry point and not the command: whatever entry point the image has is not ours
        "entrypoint": list(player.command),
        "environment": player_environment(resources, socket=f"{_SOCKET_DIRECTORY}/{SOCKET_NAME}", home=_HOME),
        "labels": {
            RUNNER_LABEL: runner_label(),
            _PLAYER_LABEL: player.digest,
            _SOCKET_LABEL: str(socket_directory),
        },
        "network_mode": "none",
        "hostname": "player",
        "read_only": True,
        "volumes": {str(socket_directory.resolve()): {"bind": _SOCKET_DIRECTORY, "mode": "ro"}},
        "tmpfs": {_HOME: f"rw,nosuid,nodev,exec,mode=1777,size={resources.scratch_bytes}"},
        "shm_size": _SHARED_MEMORY_BYTES,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "user": _NOBODY,
        "ipc_mode": "private",
        "init": True,
        "healthcheck": {"test": ["NONE"]},
        "nano_cpus": int(resources.cpus * 1e9),
        "mem_limit": resources.memory_bytes,
        "memswap_limit": resources.memory_bytes,
        "oom_score_adj": 500,
        "pids_limit": resources.processes,
        "ulimits": [
            Ulimit(name="nofile", soft=_OPEN_FILES, hard=_OPEN_FILES),
            Ulimit(name="core", soft=0, hard=0),
        ],
        # two files: when one is full the other still holds its end; the engine's own words around each line count too
        "log_config": LogConfig(type="json-file", config={"max-size": str(resources.log_bytes), "max-file": "2"}),
        "device_requests": [DeviceRequest(device_ids=[gpu], capabilities=[["gpu"]])] if gpu is not None else [],
        "runtime": runtime,
        "detach": True,
    }


@contextlib.contextmanager
def _as_fault(doing: str) -> Iterator[None]:
    try:
        yield
    except (DockerException, OSError) as failure:
        raise Fault(f"{doing}: the Docker engine says: {failure}") from failure
