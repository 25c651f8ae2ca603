"""Adapter: the sandbox of the players on this host, and the resources of each player."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from django.conf import settings

from core.errors import Fault
from core.sandbox_trust import trust_problem
from evaluation.domain.errors import HostRefusal
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.process_sandbox import ProcessSandbox
from evaluation.sandbox.stoppable_sandbox import StoppableSandbox

__all__ = [
    "Resources",
    "Sandbox",
    "StoppableSandbox",
    "open_sandbox",
    "opened_sandboxes",
    "require_trust",
    "resources",
    "stoppable_sandbox",
    "trusted_sandbox",
]

_open: dict[tuple[str, int], Sandbox] = {}
_opening = threading.Lock()


def open_sandbox() -> Sandbox:
    """Return the sandbox that `settings.SANDBOX` names, cleaned of leftovers when this process first opens it.

    Raise `Fault` if the host lacks the engine or one of its guards, or must not run untrusted code: this is no user
    error.
    """
    require_trust()
    return _opened(settings.SANDBOX)


def stoppable_sandbox() -> StoppableSandbox:
    """Return the sandbox that `open_sandbox` does, with runs of its own that another thread can stop."""
    return StoppableSandbox(open_sandbox())


def trusted_sandbox() -> Sandbox:
    """Return the process sandbox, for bundled code only."""
    return _opened("process")


def opened_sandboxes() -> list[Sandbox]:
    """Return the sandboxes that this process has opened, the chosen one first; opens that one as `open_sandbox`."""
    chosen = open_sandbox()
    others = [sandbox for (_, pid), sandbox in _open.items() if pid == os.getpid() and sandbox is not chosen]
    return [chosen, *others]


def require_trust() -> None:
    """Raise `Fault` if the chosen sandbox must not run submissions here."""
    problem = trust_problem(
        settings.SANDBOX,
        settings.ALLOWED_HOSTS,
        proxied=settings.PROXIED,
        trust_everybody=settings.TRUST_EVERYBODY,
    )
    if problem:
        raise Fault(problem)


def resources(device: str | None = None) -> Resources:
    """Return the resources of one player; `device` is the GPU of a player with `gpu = true`."""
    return Resources(gpu=device)


def _opened(name: str) -> Sandbox:
    # the key includes the process: a connection to an engine does not survive a fork
    key = (name, os.getpid())
    with _opening:
        if key not in _open:
            _open[key] = _start(name)
        return _open[key]


def _start(name: str) -> Sandbox:
    sandbox: Sandbox = ProcessSandbox(hidden=_own_files()) if name == "process" else DockerSandbox()
    if isinstance(sandbox, ProcessSandbox) and settings.WORKER_JOB and not sandbox.bubblewrapped:
        raise Fault(
            "a guard is missing on this node of a cluster: bubblewrap is not installed, or may not make namespaces\n"
            "  fix: install it, or allow them (docs/operating.md, Clusters); this tells what it lacks: "
            "bwrap --ro-bind / / --unshare-all --proc /proc true"
        )
    if isinstance(sandbox, DockerSandbox):
        try:
            sandbox.require_guards()
        except HostRefusal as refusal:
            raise Fault(f"this host cannot run untrusted code: {refusal}") from refusal
    sandbox.sweep()
    return sandbox


def _own_files() -> list[Path]:
    """Return the site's files at configurable places, which the process sandbox hides."""
    database = settings.DATABASES["default"]
    files = [Path(f"{database['NAME']}{end}") for end in ("", "-wal", "-shm")] if "sqlite" in database["ENGINE"] else []
    return [settings.ROOT, settings.STATE, *files]
