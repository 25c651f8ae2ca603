"""Whether this host, and not the program, may be the cause of a failed run."""

from __future__ import annotations

from evaluation.domain.errors import Fault, HostFault
from evaluation.domain.players import Program
from evaluation.sandbox.base import Ending, Resources, Sandbox

UNCERTAIN_STARTS = 3
"""Number of control players that must answer if the sandbox cannot tell whether it started the program."""


def require_working_host(sandbox: Sandbox, program: Program, resources: Resources, ending: Ending) -> None:
    """Raise `Fault` if this host, not `program`, may be the cause of the failed run that ended with `ending`."""
    if ending.host_failure:
        raise HostFault(f"this host failed while it ran {program.name}: {ending.host_failure}")
    if ending.memory_shortage:
        raise Fault(f"this host had too little memory for {program.name}: {ending.memory_shortage}")
    starts = 1 if ending.start_confirmed else UNCERTAIN_STARTS
    sandbox.prove(resources, gpu=program.gpu, starts=starts)
