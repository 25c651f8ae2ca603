"""`gauntlet doctor`: proof of the guards that protect this host from players."""

from __future__ import annotations

import argparse
from typing import Any

from evaluation.builder.docker_build_settings import build_settings_from_environment
from evaluation.builder.docker_builder import DockerBuilder
from evaluation.cli.output import OUT, print_json, working
from evaluation.domain.errors import Fault, HostRefusal
from evaluation.sandbox.doctor import Examination, examine


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "doctor", help="test each guard of sandboxes and builds on this host"
    )
    command.add_argument("--json", action="store_true", help="print the findings as JSON")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    with working("probe players and builds try to break out ..."):
        examined = [*examine(), _examine_builds()]
    if given.json:
        print_json(
            [
                {
                    "sandbox": found.sandbox,
                    "for_untrusted_code": found.fit_for_untrusted_code,
                    "guards": [
                        {"name": g.name, "held": g.held, "required": g.required, "seen": g.seen} for g in found.guards
                    ],
                }
                for found in examined
            ]
        )
    else:
        for found in examined:
            _show(found)
    # the docker sandbox runs images, so untrusted code needs both
    return 0 if all(found.fit_for_untrusted_code for found in examined[1:]) else 3


def _examine_builds() -> Examination:
    """Try all guards of builds. Takes about twenty seconds."""
    try:
        guards = tuple(DockerBuilder(build_settings_from_environment()).guards())
    except (Fault, HostRefusal) as failure:
        return Examination("builds", False, (), str(failure))
    fit = all(guard.held for guard in guards if guard.required)
    return Examination("builds", fit, guards, "Does not stop attacks on the kernel.")


def _show(found: Examination) -> None:
    OUT.rule(found.sandbox, align="left")
    for guard in found.guards:
        mark = (
            "[green]holds  [/green]"
            if guard.held
            else "[red]MISSING[/red]"
            if guard.required
            else "[yellow]no[/yellow]     "
        )
        OUT.print(f"{mark} {guard.name}: ", end="")
        OUT.print(guard.seen, markup=False, highlight=False)
    OUT.print(found.remark, markup=False, highlight=False)
