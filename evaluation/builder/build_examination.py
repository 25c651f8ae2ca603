"""Report of `gauntlet doctor` on builds: every guard, tried on this host."""

from __future__ import annotations

from evaluation.builder.docker_builder import DockerBuilder
from evaluation.builder.settings import build_settings_from_environment
from evaluation.domain.errors import Fault, HostRefusal
from evaluation.sandbox.doctor import Examination

NAME = "builds"


def examine_builds() -> Examination:
    """Try all guards of builds. Takes about twenty seconds."""
    try:
        guards = tuple(DockerBuilder(build_settings_from_environment()).guards())
    except (Fault, HostRefusal) as failure:
        return Examination(NAME, False, False, (), str(failure))
    fit = all(guard.held for guard in guards if guard.required)
    return Examination(NAME, True, fit, guards, "Does not stop attacks on the kernel.")
