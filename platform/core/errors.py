"""Exceptions of the site: those of the engine, and a refusal with a time.

A `Refusal` is a user error and is shown with its fix. A `Fault` is a platform error: retried, refunded and reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NoReturn

from evaluation.domain.errors import Fault, GauntletError, HostFault, Refusal

__all__ = [
    "Fault", "GauntletError", "HostFault", "Refusal", "Refusals", "RefusedForNow", "RefusedInState", "refusals_of",
    "refuse_all",
]  # fmt: skip


class RefusedForNow(Refusal):
    """A refusal that depends on the time: the same input is accepted from `accepted_from` on."""

    def __init__(self, problem: str, *, accepted_from: datetime, fix: str = "") -> None:
        super().__init__(problem, fix=fix)
        self.accepted_from = accepted_from


class RefusedInState(Refusal):
    """A refusal because of a state, which somebody else may have changed meanwhile: `state` names it."""

    def __init__(self, problem: str, *, state: str, fix: str = "") -> None:
        super().__init__(problem, fix=fix)
        self.state = state


class Refusals(Refusal):
    """Several refusals of one input, in their order; its problem names all of them."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        lines = [f"{each.problem}\n    fix: {each.fix}" if each.fix else each.problem for each in refusals]
        super().__init__("\n  ".join([f"{len(lines)} errors", *lines]))
        self.refusals = tuple(refusals)


def refusals_of(refusal: Refusal) -> tuple[Refusal, ...]:
    """Return the refusals that `refusal` consists of: itself, if it is a single one."""
    return refusal.refusals if isinstance(refusal, Refusals) else (refusal,)


def refuse_all(refusals: Sequence[Refusal]) -> NoReturn:
    """Raise the only one of `refusals`, or all of them together."""
    raise refusals[0] if len(refusals) == 1 else Refusals(refusals)
