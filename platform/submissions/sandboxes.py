"""Adapter: the sandbox that players run in on this host, and what each of them may use."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from django.conf import settings

from core.errors import Fault
from core.sandbox_trust import trust_problem
from evaluation.domain.errors import HostRefusal
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.docker import DockerSandbox
from evaluation.sandbox.process import ProcessSandbox

__all__ = [
    "Resources",
    "Sandbox",
    "open_sandbox",
    "opened_sandboxes",
    "require_trust",
    "resources",
    "trusted_sandbox",
]

_open: dict[tuple[str, int], Sandbox] = {}
_opening = threading.Lock()


def open_sandbox() -> Sandbox:
    """The sandbox that `settings.SANDBOX` names, swept of leftovers when this process first opens it.

    Raises `Fault` where the host lacks the engine or one of its guards, or must not run what people push: no team is to
    blame for that.
    """
    require_trust()
    return _opened(settings.SANDBOX)


def trusted_sandbox() -> Sandbox:
    """The process sandbox, for what is bundled with us and nothing else."""
    return _opened("process")


def opened_sandboxes() -> list[Sandbox]:
    """The sandboxes that this process has opened, the chosen one first; opens that one, as `open_sandbox` does."""
    chosen = open_sandbox()
    others = [sandbox for (_, pid), sandbox in _open.items() if pid == os.getpid() and sandbox is not chosen]
    return [chosen, *others]


def require_trust() -> None:
    """Raise `Fault` where the chosen sandbox must not run what people push here, whatever the settings once were."""
    problem = trust_problem(
        settings.SANDBOX,
        settings.ALLOWED_HOSTS,
        proxied=settings.PROXIED,
        trust_everybody=settings.TRUST_EVERYBODY,
    )
    if problem:
        raise Fault(problem)


def resources(device: str | None = None) -> Resources:
    """What one player may use here; `device` is the GPU that a player with `gpu = true` gets."""
    return Resources(gpu=device)


def _opened(name: str) -> Sandbox:
    # by process, too: a connection to an engine does not survive a fork
    key = (name, os.getpid())
    with _opening:
        if key not in _open:
            _open[key] = _start(name)
        return _open[key]


def _start(name: str) -> Sandbox:
    sandbox: Sandbox = ProcessSandbox(hidden=_own_files()) if name == "process" else DockerSandbox()
    if isinstance(sandbox, DockerSandbox):
        try:
            sandbox.require_guards()
        except HostRefusal as refusal:
            raise Fault(f"this host cannot run untrusted code: {refusal}") from refusal
    sandbox.sweep()
    return sandbox


def _own_files() -> list[Path]:
    """What of the site's files lies at places that an operator may choose, wherever these are."""
    database = settings.DATABASES["default"]
    files = [Path(f"{database['NAME']}{end}") for end in ("", "-wal", "-shm")] if "sqlite" in database["ENGINE"] else []
    return [settings.ROOT, settings.STATE, *files]
