"""Report of `gauntlet doctor`: every guard of every sandbox, tried on this host."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.domain.errors import Fault
from evaluation.sandbox.base import Guard
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.process_sandbox import ProcessSandbox


@dataclass(frozen=True)
class Examination:
    """The report on one sandbox of this host.

    `remark` says what the sandbox does not stop, or why it cannot start players. `fit_for_untrusted_code` needs a
    sandbox made for untrusted code in which every required guard held.
    """

    sandbox: str
    fit_for_untrusted_code: bool
    guards: tuple[Guard, ...]
    remark: str


def examine() -> list[Examination]:
    """Try all guards of the process sandbox, then of the docker sandbox. Takes seconds for each."""
    return [_examine_process(), _examine_docker()]


def _examine_process() -> Examination:
    sandbox = ProcessSandbox()
    return Examination(sandbox.name, False, tuple(sandbox.self_test()), sandbox.limitations())


def _examine_docker() -> Examination:
    try:
        guards = tuple(DockerSandbox().self_test())
    except Fault as fault:
        return Examination(DockerSandbox.name, False, (), str(fault))
    fit = all(guard.held for guard in guards if guard.required)
    return Examination(
        DockerSandbox.name,
        fit,
        guards,
        "Does not stop attacks on the kernel; give players a virtual machine of their own.",
    )
