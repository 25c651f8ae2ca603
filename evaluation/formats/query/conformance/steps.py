"""Checks of a player, one after the other on one connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evaluation.domain.failure_reasons import Reason
from evaluation.protocol.channel import ChannelError


@dataclass(frozen=True)
class Check:
    """One requirement of the protocol: whether the player met it, and what was seen."""

    name: str
    passed: bool
    seen: str


class UnmetError(Exception):
    """The player's answer is wrong, but the connection can be used for the next check."""


_ENDINGS = (Reason.DISCONNECTED, Reason.EXITED_IN_SETUP)

Step: TypeAlias = tuple[str, Callable[[], str]]
"""The name of a check, and the function that runs it: it returns what was seen, or raises."""


def run_steps(steps: Sequence[Step], explain: Callable[[], str]) -> list[Check]:
    """Run every step in order. After a step that broke the connection, the others fail as not reached.

    `explain` returns what the host knows of the player's end; it is called only if the player disconnected.
    """
    checks: list[Check] = []
    broken = False
    for name, attempt in steps:
        if broken:
            checks.append(Check(name, False, "not reached"))
            continue
        try:
            checks.append(Check(name, True, attempt()))
        except UnmetError as unmet:
            checks.append(Check(name, False, str(unmet)))
        except ChannelError as error:
            broken = True
            known = explain() if error.reason in _ENDINGS else ""
            text = f"{error.reason}: {error.reason.text}" + (f" ({error.detail})" if error.detail else "")
            checks.append(Check(name, False, f"{text}; {known}" if known else text))
    return checks
