"""Sandbox that runs players as containers of a Docker engine on this host: for untrusted code.

No network, a read-only root, no capabilities, an unprivileged user; limits on CPU, memory, processes, scratch space
and log; from the host only the socket directory, read-only. The engine must see the same file system as this process,
since it mounts that directory.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.types import DeviceRequest, LogConfig, Ulimit

from evaluation.domain.errors import BuildRefusal, Fault, HostRefusal
from evaluation.domain.players import Program
from evaluation.sandbox.base import SOCKET_NAME, Folder, Guard, Resources, Sandbox
from evaluation.sandbox.container_hosts_file import make_hosts_file, remove_hosts_file, sweep_hosts_files
from evaluation.sandbox.container_process_examiner import Examiner
from evaluation.sandbox.docker_engine import NO_NETWORK, connect_engine, docker_available
from evaluation.sandbox.docker_guards import examine_docker
from evaluation.sandbox.docker_page_cache_privacy import level_layers
from evaluation.sandbox.docker_run import DockerRun, as_fault, unless_removed
from evaluation.sandbox.hidden_host_figures import device_figures, process_figures
from evaluation.sandbox.host_process import runner_is_dead, runner_label
from evaluation.sandbox.out_of_memory_cause import HostMemory
from evaluation.sandbox.player_environment import player_environment
from evaluation.sandbox.process_register import remove_socket_directory
from evaluation.sandbox.proved_guards import ProvedGuards
from evaluation.sandbox.working_sandbox_proof import ControlProof

__all__ = ["RUNNER_LABEL", "DockerRun", "DockerSandbox", "docker_available"]

RUNNER_LABEL = "gauntlet.runner"
"""The label of each container that names the process that started it (see `runner_label`)."""

_PLAYER_LABEL = "gauntlet.player"
_SOCKET_LABEL = "gauntlet.socket-directory"
_SOCKET_DIRECTORY = "/run/gauntlet"
_HOME = "/tmp"  # noqa: S108 - a private file system of the container
_MASKED = (
    *(
        "/proc/acpi",
        "/proc/asound",
        "/proc/kcore",
        "/proc/keys",
        "/proc/latency_stats",
        "/proc/sched_debug",
        "/proc/scsi",
    ),
    *("/proc/timer_list", "/proc/timer_stats", "/sys/firmware"),
)
"""What engines mask by themselves, if nothing else is named."""

_NOBODY = "65534:65534"
_SHARED_MEMORY_BYTES = 64 << 20
_OPEN_FILES = 1024
_STARTS = 3
_INSTANCE_SECONDS = 60.0
"""How long an audit waits for instances that hold other locks: those of another user or site on this engine."""


class DockerSandbox(Sandbox):
    """Starts players as containers; proves its guards first if the last proof is too old."""

    name = "docker"
    for_untrusted_code = True

    def __init__(self, *, base_image: str | None = None) -> None:
        """Connect to the engine. Raise `Fault` if none answers.

        `base_image` is the image of the self-test's probes and needs python3 (default: $GAUNTLET_BASE_IMAGE, else
        gauntlet-base:latest).
        """
        self.base_image: str = base_image or os.environ.get("GAUNTLET_BASE_IMAGE") or "gauntlet-base:latest"
        self.client = connect_engine()
        weakref.finalize(self, self.client.close)
        with as_fault("reading its identity"):
            self._guards = ProvedGuards(f"{self.client.info()['ID']} {self.base_image}")
        self._left: set[str] = set()

    def start(
        self, program: Program, *, socket_directory: Path, resources: Resources, folders: Sequence[Folder] = ()
    ) -> DockerRun:
        self.require_guards()
        try:
            return self._start(program, socket_directory=socket_directory, resources=resources, folders=folders)
        except _NotStartedError:  # the engine or the image is the cause: the image, if the base image starts
            control = replace(program, image=self.base_image, command=("true",))
            for _ in range(_STARTS):
                self._start(control, socket_directory=socket_directory, resources=resources, folders=folders).end()
        try:
            return self._start(program, socket_directory=socket_directory, resources=resources, folders=folders)
        except _NotStartedError as failure:
            raise BuildRefusal(
                "the image does not start as a player: without network, with a private /tmp and its socket"
                f" in {_SOCKET_DIRECTORY}",
                fix="keep /tmp, /run, /dev, /proc and /sys as directories, as in the base image",
            ) from failure

    def place(self, folder: Folder) -> str:
        return folder.place

    def prove(self, resources: Resources, *, gpu: bool = False, starts: int = 1) -> None:
        try:
            self.require_guards()
            ControlProof(image=self.base_image, gpu=gpu).prove(self._start, resources, starts)
        except (Fault, HostRefusal) as failure:
            self._guards.forget()  # a repaired engine may have other settings
            raise Fault(str(failure)) from failure

    def level_caches(self, program: Program) -> None:
        if program.image is None:
            raise Fault(f"{program.name} was built as a directory; the docker sandbox runs images")
        self.sweep()
        with as_fault(f"levelling the caches of {program.name}"):
            self._wait_for_instances(program)
            level_layers(self.client, program.image, self.base_image, {RUNNER_LABEL: runner_label()})

    def _wait_for_instances(self, program: Program) -> None:
        """Wait until no instance of `program` runs on this engine. Raise `Fault` if one goes on running."""
        deadline = time.monotonic() + _INSTANCE_SECONDS
        label = f"{_PLAYER_LABEL}={program.digest}"
        while self.client.containers.list(filters={"label": label}, ignore_removed=True):
            if time.monotonic() > deadline:
                raise Fault(f"an instance of {program.name} runs on this host; its audit must wait")
            time.sleep(0.2)

    def sweep(self) -> int:
        swept = 0
        with as_fault("sweeping containers"):
            swept += sum(map(self._remove, list(self._left)))
            for container in self.client.containers.list(
                all=True, filters={"label": RUNNER_LABEL}, ignore_removed=True
            ):
                if not runner_is_dead(container.labels[RUNNER_LABEL]):
                    continue
                with unless_removed():
                    container.remove(force=True, v=True)
                    swept += 1
                remove_socket_directory(container.labels.get(_SOCKET_LABEL, ""))
        return swept + sweep_hosts_files()

    def _remove(self, container: str) -> bool:
        """Remove a leftover container by its name or id. Return False if it does not exist."""
        try:
            self.client.api.remove_container(container, force=True, v=True)
        except NotFound:
            self._left.discard(container)
            return False
        self._left.discard(container)
        return True

    def self_test(self) -> list[Guard]:
        self._check_image(self.base_image)
        guards = examine_docker(self._start, self.client, self.base_image)
        self._guards.remember(guards)
        return guards

    def require_guards(self) -> None:
        """Raise `HostRefusal` with the names of missing guards. A proof is remembered for hours."""
        self._guards.require(self.self_test)

    def _start(
        self, program: Program, *, socket_directory: Path, resources: Resources, folders: Sequence[Folder] = ()
    ) -> DockerRun:
        if program.image is None:
            raise Fault(f"{program.name} was built as a directory; the docker sandbox runs images")
        self._check_image(program.image)
        name = f"gauntlet-{uuid.uuid4().hex}"
        options = _options(program, socket_directory, resources, folders)
        memory = HostMemory(resources.memory_bytes)
        hosts = make_hosts_file()
        shown = (Folder(socket_directory, _SOCKET_DIRECTORY), Folder(hosts, "/etc/hosts"), *folders)
        host = self.client.api.create_host_config(**_limits(resources, shown, gpu=program.gpu))
        host["MaskedPaths"] = [*_MASKED, *map(str, (*process_figures(), *device_figures()))]
        try:
            with as_fault(f"starting {program.name}"):
                made = self.client.api.create_container(program.image, name=name, host_config=host, **options)
                container = self.client.containers.get(made["Id"])
                try:
                    container.start()
                except APIError as failure:
                    raise _NotStartedError(f"starting {program.name}: the Docker engine says: {failure}") from failure
        except BaseException:  # also Ctrl-C, which may come between creation and answer
            self._left.add(name)
            with contextlib.suppress(DockerException, OSError):
                self._remove(name)
            remove_hosts_file(hosts)
            raise
        examiner = Examiner(self.client, self.base_image, {RUNNER_LABEL: runner_label()})
        return DockerRun(container, resources.log_bytes, memory, self._left, examiner, hosts)

    def _check_image(self, image: str) -> None:
        try:
            with as_fault(f"looking for image {image}"):
                configuration = self.client.images.get(image).attrs["Config"] or {}
        except Fault as fault:
            if isinstance(fault.__cause__, ImageNotFound):
                raise Fault(f"the engine has no image {image}") from fault
            raise
        if configuration.get("Volumes"):
            raise BuildRefusal("the image declares volumes", fix="remove VOLUME, and write only below /tmp")


class _NotStartedError(Fault):
    """The engine created a container but could not start it."""


def _options(
    program: Program, socket_directory: Path, resources: Resources, folders: Sequence[Folder]
) -> dict[str, Any]:
    """Return what the container runs."""
    return {
        # replaces the entry point of the image, too
        "entrypoint": list(program.command),
        "environment": player_environment(resources, socket=f"{_SOCKET_DIRECTORY}/{SOCKET_NAME}", home=_HOME),
        "labels": {
            RUNNER_LABEL: runner_label(),
            _PLAYER_LABEL: program.digest,
            _SOCKET_LABEL: str(socket_directory),
        },
        "hostname": "player",
        "network_disabled": NO_NETWORK["network_disabled"],
        "user": _NOBODY,
        "working_dir": next((folder.place for folder in folders if folder.working), None),
        "healthcheck": {"test": ["NONE"]},
        "detach": True,
    }


def _limits(resources: Resources, shown: Sequence[Folder], *, gpu: bool) -> dict[str, Any]:
    """Return what the container may use of the host; most lines are a guard."""
    device = resources.gpu if gpu else None
    return {
        "network_mode": NO_NETWORK["network_mode"],
        "read_only": True,
        "binds": {
            str(folder.source.resolve()): {"bind": folder.place, "mode": "rw" if folder.writable else "ro"}
            for folder in shown
        },
        "tmpfs": {_HOME: f"rw,nosuid,nodev,exec,mode=1777,size={resources.scratch_bytes}"},
        "shm_size": _SHARED_MEMORY_BYTES,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "ipc_mode": "private",
        "init": True,
        "nano_cpus": int(resources.cpus * 1e9),
        "mem_limit": resources.memory_bytes,
        "memswap_limit": resources.memory_bytes,
        "oom_score_adj": 500,
        "pids_limit": resources.processes,
        "ulimits": [
            Ulimit(name="nofile", soft=_OPEN_FILES, hard=_OPEN_FILES),
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="fsize", soft=resources.scratch_bytes, hard=resources.scratch_bytes),
        ],
        # two files: when one is full, the other holds its end; the engine's data around each line counts, too
        "log_config": LogConfig(type="json-file", config={"max-size": str(resources.log_bytes), "max-file": "2"}),
        "device_requests": [DeviceRequest(device_ids=[device], capabilities=[["gpu"]])] if device is not None else [],
    }
