"""Guards of the docker sandbox, proved on this host by containers that try to break out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docker.errors import NotFound

from evaluation.sandbox import guard_trials
from evaluation.sandbox.base import Guard
from evaluation.sandbox.guard_trials import TRIAL, GuardTrials, StartPlayer

if TYPE_CHECKING:
    from docker import DockerClient

_ENGINE_MOUNTS = ("/", "/proc", "/dev", "/sys", "/tmp", "/etc/resolv.conf", "/etc/hostname", "/etc/hosts")  # noqa: S108
_INIT = ("/sbin/docker-init", "/usr/sbin/docker-init", "/dev/init")
_SOCKET_DIRECTORY = "/run/gauntlet"


def examine_docker(start: StartPlayer, client: DockerClient, image: str) -> list[Guard]:
    """Try to break out of containers of `image`."""
    probes = GuardTrials(start, image)
    seen = probes.answer("look")
    return [
        guard_trials.network_guard(seen),
        guard_trials.root_guard(seen),
        guard_trials.capability_guard(seen),
        guard_trials.privilege_guard(seen),
        _filter_guard(seen),
        _user_guard(seen),
        guard_trials.socket_guard(seen),
        _mount_guard(seen),
        guard_trials.sight_guard(seen),
        guard_trials.figures_guard(seen),
        guard_trials.scratch_guard(probes),
        guard_trials.memory_guard(probes),
        _process_guard(probes),
        _cpu_guard(probes),
        guard_trials.log_guard(probes),
        _nothing_left(probes, client),
    ]


def _filter_guard(seen: dict[str, Any]) -> Guard:
    state = seen["status"]["Seccomp"]
    return Guard("system call filter", state == "2", f"Seccomp {state} (2 is a filter)")


def _user_guard(seen: dict[str, Any]) -> Guard:
    return Guard("unprivileged user", 0 not in seen["user"], f"user and groups {seen['user']}")


def _mount_guard(seen: dict[str, Any]) -> Guard:
    foreign = [
        place
        for place in seen["mounts"]
        if place not in (*_ENGINE_MOUNTS, *_INIT, _SOCKET_DIRECTORY)
        and not place.startswith(("/proc/", "/sys/", "/dev/"))
    ]
    held = not foreign and _SOCKET_DIRECTORY in seen["mounts"]
    return Guard("only the socket of the host", held, f"other mounts: {', '.join(foreign) or 'none'}")


def _process_guard(probes: GuardTrials) -> Guard:
    found = probes.answer("fork", str(4 * TRIAL.processes))
    held = found["children"] < TRIAL.processes and found["error"] == "EAGAIN"
    return Guard("process limit", held, f"{found['children']} children, then {found['error'] or 'stopped'}")


def _cpu_guard(probes: GuardTrials) -> Guard:
    used = probes.answer("spin", "1.0")["cpus"]
    # the kernel grants CPU time in slices of 0.1 s, so a short measurement may be one slice too high
    return Guard("CPU limit", used <= 1.4 * TRIAL.cpus, f"{used:.2f} CPUs used of {TRIAL.cpus} allowed")


def _nothing_left(probes: GuardTrials, client: DockerClient) -> Guard:
    with probes.running("wait") as run:
        identity = str(getattr(run, "container_id", ""))
        existed = bool(client.containers.get(identity))
        run.end()
    try:
        client.containers.get(identity)
    except NotFound:
        return Guard("nothing left behind", existed, "container removed")
    return Guard("nothing left behind", False, f"container {identity[:12]} still exists")
