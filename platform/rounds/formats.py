"""What of a round differs by the format of its competition. Everything else is the same for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Protocol

from competitions.models import RulesVersion
from core.by_format import ByFormat
from rounds.models import Round, RoundEntry
from rounds.preview import Preview

if TYPE_CHECKING:
    from accounts.models import User


class RoundFormat(Protocol):
    """How rounds of a format are planned, played, scored, published and released."""

    def schedule(self, schedule: str, *, guard: bool) -> tuple[Round.Schedule, bool]:
        """Return the schedule and the guard of a planned round. Raise `Refusal` for those that it does not have."""

    def check_field(self, round_: Round, entries: Sequence[RoundEntry], rules: RulesVersion) -> None:
        """Raise `Refusal` where the outcome of the round with `entries` might be too large to be verified."""

    def check_sides(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        """Raise `Refusal` where a round with `entries` cannot be frozen, as nothing could be ranked."""

    def freeze(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        """Fix what the round plays, in the transaction of its freeze."""

    def commitment_to_field(self, round_: Round, entries: Sequence[RoundEntry], salt: str) -> str:
        """Return the salted hash of the field, when the round starts with `entries`."""

    def start(self, round_: Round) -> None:
        """Let workers play, in the transaction of the start."""

    def suspend(self, round_: Round) -> None:
        """Start nothing new; what is running finishes."""

    def resume(self, round_: Round) -> None:
        """Continue after `suspend`."""

    def cancel(self, round_: Round) -> None:
        """Play nothing more; what was played is kept."""

    def advance(self, round_: Round) -> None:
        """Take the next step of a running round. Safe to repeat. Raise `Fault` for rows that contradict each other."""

    def outcome(self, round_: Round, entries: Sequence[RoundEntry]) -> bytes:
        """Return all facts of a played round with `entries`, and everything that follows from them."""

    def preview(self, round_: Round) -> list[Preview]:
        """Return what publishing a scored round now would change."""

    def publish(self, round_: Round, views: Sequence[Preview], by: User) -> None:
        """Put into force what the preview shows, in the transaction of the publication. Raise `Refusal`."""

    def perturbed_table(self, round_: Round) -> bytes:
        """Return the table of the perturbed images, as CSV."""

    def perturbed_images(self, round_: Round, number: int) -> Callable[[], IO[bytes]] | None:
        """Return what opens the archive of the images of row `number` of the table, None without such a row."""


round_formats: ByFormat[RoundFormat] = ByFormat()
"""The rounds of each format."""


def format_of(round_: Round) -> RoundFormat:
    """Return what is particular to the round's format."""
    return round_formats.of(round_.competition)
