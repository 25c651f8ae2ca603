"""Guards of builds, proved on this host by probe builds that try to exceed each limit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.builder.build_container import BuildContainer
from evaluation.builder.build_context_tar import ContextEntry
from evaluation.builder.build_folder import build_folder
from evaluation.builder.build_limits import BuildWatch
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.exported_layers import TooLargeError, UnreadableError
from evaluation.builder.mirror_proxy import MirrorProxy
from evaluation.builder.mirrors import Reach
from evaluation.domain.errors import BuildRefusal, Fault, HostRefusal
from evaluation.sandbox.base import Guard
from evaluation.sandbox.docker_run import as_fault
from evaluation.sandbox.guard_trials import PROBE
from evaluation.sandbox.proved_guards import ProvedGuards

if TYPE_CHECKING:
    from docker import DockerClient

_PROBE_STEP = Path(__file__).with_name("build_isolation_probe.py")
_FILE = "guards.Dockerfile"
_MIB = 1 << 20
TRIAL = BuildSettings(
    seconds=60.0, max_image_bytes=32 * _MIB, memory_bytes=256 * _MIB, cpus=0.5, processes=64, network="mirrors"
)
"""The limits of the probe builds: small, so that each is reached soon."""

_RUN = "\nRUN python3 /probe/"
_AND = " && python3 /probe/"
_LOOK = "look.py"
_FORK = f"probe.py fork {2 * TRIAL.processes}"
_SPIN = "probe.py spin 1.0"
_WAIT = "probe.py wait"
_ALLOCATE = f"probe.py eat {4 * TRIAL.memory_bytes}"
_FILL = f"probe.py fill {4 << 30}"


class BuildGuards:
    """The guards of builds of one engine with one builder image."""

    def __init__(
        self,
        client: DockerClient,
        engine: str,
        base_image: str,
        builder_image: str,
        base_layers: Sequence[str],
        disk: Path | None,
    ) -> None:
        """Take the engine's identity, and its data directory as `disk`, None if it is on another host."""
        self._client = client
        self._builder_image = builder_image
        self._base_image = base_image
        self._base_layers = base_layers
        self._last = ""
        self._disk = disk
        code = hashlib.sha256()
        for path in sorted(Path(__file__).parent.glob("*.*")):  # changed code is proved again
            code.update(path.read_bytes())
        self._proved = ProvedGuards(f"builds {engine} {builder_image} {code.hexdigest()}")

    def require(self) -> None:
        """Raise `Fault` with the names of missing guards. A proof is remembered for hours."""
        try:
            self._proved.require(self.prove)
        except HostRefusal as refusal:
            raise Fault(f"this host cannot run untrusted builds: {refusal}") from refusal

    def require_build(self) -> None:
        """Raise `Fault` if this host cannot build now."""
        with _as_fault():
            self._build(_LOOK, [], TRIAL)

    def require_export(self) -> None:
        """Raise `Fault` if this host cannot build and read an image now."""
        with (
            build_folder() as folder,
            _as_fault(),
            self._building(_LOOK, [], TRIAL) as container,
        ):
            container.export(folder, self._base_layers, lambda: None)

    def prove(self) -> list[Guard]:
        """Try every guard. Takes about ten seconds."""
        seen = self._answers(_AND.join([_LOOK, _FORK, _SPIN]))
        guards = [
            Guard("rootless", seen.get("user_outside", 0) > 0, f"root of a build is user {seen.get('user_outside')}"),
            Guard("system call filter", seen.get("filter") == "2", f"Seccomp {seen.get('filter')} (2 is a filter)"),
            Guard("no network", seen.get("interfaces") == [], f"interfaces {seen.get('interfaces') or 'none'}"),
            Guard("no engine", seen.get("engine") is False, f"the engine's socket is visible: {seen.get('engine')}"),
            *(
                Guard(name, " 403 " in seen.get(key, ""), f"the proxy answers {seen.get(key) or 'nothing'}")
                for name, key in (("services unreachable", "loopback"), ("metadata unreachable", "metadata"))
            ),
            Guard(
                "process limit",
                seen.get("error") == "EAGAIN" and seen["children"] < TRIAL.processes,
                f"{seen.get('children')} children, then {seen.get('error') or 'stopped'}",
            ),
            Guard(
                "CPU limit",
                # the kernel grants CPU time in slices of 0.1 s, so a short measurement may be one slice too high
                0 < seen.get("cpus", 0) <= 1.4 * TRIAL.cpus,
                f"{seen.get('cpus', 0):.2f} CPUs used of {TRIAL.cpus} allowed",
            ),
            self._refused("memory limit", _ALLOCATE, "MiB of memory"),
            self._refused("time limit", _WAIT, "took longer than", settings=replace(TRIAL, seconds=3.0)),
        ]
        if self._disk is not None:
            guards.append(self._refused("disk limit", _FILL, "filled the engine's disk"))
        guards.append(self._nothing_left())
        self._proved.remember(guards)
        return guards

    def _answers(self, steps: str) -> dict[str, Any]:
        lines: list[str] = []
        with _as_fault():
            self._build(steps, lines, TRIAL)
        answers: dict[str, Any] = {}
        for line in lines:
            if line.startswith("{"):
                answers |= json.loads(line)
        return answers

    def _refused(self, name: str, steps: str, problem: str, *, settings: BuildSettings = TRIAL) -> Guard:
        lines: list[str] = []
        try:
            self._build(steps, lines, settings)
        except BuildRefusal as refusal:
            first = refusal.problem.partition("\n")[0].partition(";")[0]
            return Guard(name, problem in first, first)
        return Guard(name, False, f"the build succeeded: {_last(lines)}")

    def _nothing_left(self) -> Guard:
        with as_fault("listing the volumes of builds"):
            names = [volume.name for volume in self._client.volumes.list(filters={"name": self._last})]
        return Guard("nothing left behind", not names, f"volumes of the last build: {', '.join(names) or 'none'}")

    def _build(self, steps: str, lines: list[str], settings: BuildSettings) -> None:
        with self._building(steps, lines, settings):
            pass

    @contextmanager
    def _building(self, steps: str, lines: list[str], settings: BuildSettings) -> Iterator[BuildContainer]:
        text = f"FROM {self._base_image}\nUSER root\nENV HOME=/probe\nCOPY probe /probe{_RUN}{steps}\n"
        context = [
            ContextEntry(_FILE, text.encode()),
            ContextEntry("probe/probe.py", PROBE.read_bytes()),
            ContextEntry("probe/look.py", _PROBE_STEP.read_bytes()),
        ]
        with (
            MirrorProxy(Reach(frozenset())) as proxy,
            BuildContainer(self._client, settings, image=self._builder_image, proxy=proxy.directory) as container,
        ):
            self._last = container.name
            watch = BuildWatch(settings, self._disk, container.used)
            container.build(_FILE, (), context, lines.append, watch)
            yield container


@contextmanager
def _as_fault() -> Iterator[None]:
    """Turn a failure of a probe build into a `Fault`: the host is the cause."""
    try:
        yield
    except (BuildRefusal, UnreadableError, TooLargeError) as failure:
        raise Fault(f"builds fail on this host: {failure}") from failure


def _last(lines: Sequence[str]) -> str:
    return lines[-1] if lines else "nothing was printed"
