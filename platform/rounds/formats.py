"""What of a round differs by the format of its competition. Everything else is the same for all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, TYPE_CHECKING, Protocol

from django.db.models import QuerySet
from django.forms import Field

from competitions.models import Competition, RulesVersion, SampleSet
from core.data_difference import Verified
from core.errors import Refusal
from core.parts_by_format import ByFormat
from rounds.models import Round, RoundEntry
from rounds.publishing.preview import Preview
from rounds.running.dashboard_tables import DashboardPart
from submissions.models import Player, Submission
from submissions.selectors import submitted_baselines

if TYPE_CHECKING:
    from accounts.models import User


@dataclass(frozen=True)
class Counting:
    """What counted in a competition at a time."""

    submissions: QuerySet[Submission]
    """Those that may count, whenever they became ready."""
    chosen: Collection[int] = ()
    """The keys of those that teams chose to count instead of their newest one."""
    places: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    """The places on the leaderboards, by the keys of track and entry. Tracks without a seeding are missing."""
    baselines: QuerySet[Submission] = field(default_factory=submitted_baselines)
    """Those that organisers made baselines, which enter beside the one that counts of their team."""


@dataclass(frozen=True)
class MatchInRound:
    """A match that the outcome of a round uses: a title for people, and its players, the attack first."""

    title: str
    players: Sequence[Player]


class RoundFormat(Protocol):
    """How rounds of a format are planned, played, scored, published and released."""

    bundle_format: int
    """The format of new result bundles, kept with a round at its freeze, as its field commits to it."""
    publication_effect: str
    """What publishing does beside making the result public, in sentences, for the confirmation page."""
    makes_images: bool
    """Whether what is played makes perturbed images that can be released."""

    @property
    def schedules(self) -> Mapping[str, str]:
        """The titles of its schedules by name; a name has at most 8 characters."""

    # planning and freeze

    def plan_fields(self) -> Mapping[str, Field]:
        """Return the fields of the form that plans a round which this format adds: `schedule` and `guard`, or none."""

    def schedule(self, schedule: str, *, guard: bool) -> tuple[str, bool]:
        """Return the schedule and the guard of a planned round. Raise `Refusal` for those that it does not have."""

    def ever_played(self, source: SampleSet) -> bool:
        """Return whether a submission may have seen samples of the set, or of one drawn from it."""

    def counting(self, competition: Competition, at: datetime) -> Counting:
        """Return which submissions counted at a time, and where they stood: the entries of a round follow from it."""

    def check_field(self, round_: Round, entries: Sequence[RoundEntry], rules: RulesVersion) -> None:
        """Raise `Refusal` where the outcome of the round with `entries` might be too large to be verified."""

    def check_sides(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        """Raise `Refusal` where a round with `entries` cannot be frozen, as nothing could be ranked."""

    def freeze(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        """Fix what the round plays, in the transaction of its freeze."""

    def commitment_to_field(self, round_: Round, entries: Sequence[RoundEntry], salt: str) -> str:
        """Return the salted hash of the field, when the round starts with `entries`."""

    # running

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

    def outcome(self, round_: Round, entries: Sequence[RoundEntry]) -> IO[bytes]:
        """Return an open file with all facts of a played round with `entries`, and everything that follows from them.

        It may be large; the caller closes it.
        """

    def dashboard_part(self, round_: Round, views: Sequence[Preview]) -> DashboardPart:
        """Return the part of the organiser's dashboard that shows what the round plays and has decided.

        In a number of queries that does not grow with the round. `views` is its preview, empty unless it is scored.
        """

    def playing_workers(self) -> Collection[str]:
        """Return the names of the workers that hold work of this format now."""

    # publication

    def preview(self, round_: Round) -> list[Preview]:
        """Return what publishing a scored round now would change, one for each track of the competition."""

    def future_opponents(self, competition: Competition) -> QuerySet[Player]:
        """Return the players beside the entrants on whose submissions the preview depends: those of pools."""

    def publish(self, round_: Round, views: Sequence[Preview], by: User) -> None:
        """Put into force what the preview shows, in the transaction of the publication. Raise `Refusal`."""

    # visibility and release

    def find_matches(self, round_: Round, keys: Collection[str]) -> Mapping[str, MatchInRound]:
        """Return those matches of a published round that `keys` name, by key. Others, and unreadable keys, are missing.

        A key is what the address of the match's page has: at most 40 characters.
        """

    def secret_order_since(self, round_: Round) -> datetime | None:
        """Return since when leaderboards are frozen whose order the first pairs of the round show; None if none is."""

    def being_played(self, sets: QuerySet[SampleSet]) -> QuerySet[SampleSet]:
        """Return those of the sample sets on which something is still to be played."""

    def perturbed_table(self, round_: Round) -> bytes:
        """Return the table of the perturbed images, as CSV."""

    def perturbed_images(self, round_: Round, number: int) -> Callable[[], IO[bytes]] | None:
        """Return what opens the archive of the images of row `number` of the table.

        None without such a row, and while its attack is hidden.
        """

    # verification

    def verify(self, competitions: QuerySet[Competition], *, repair: bool) -> Verified:
        """Compare scores, leaderboards and rounds of competitions of this format with what they follow from.

        With `repair`, computed values are written, but not those of rounds.
        """


class LeaderboardsContinue:
    """The answers of a format whose rounds have one schedule, follow from no leaderboard, and change none."""

    schedules: Mapping[str, str] = {"all": "every entry plays everything"}

    def plan_fields(self) -> Mapping[str, Field]:
        return {}

    def schedule(self, schedule: str, *, guard: bool) -> tuple[str, bool]:
        """Ignore both: there is one schedule."""
        return next(iter(self.schedules)), False

    def future_opponents(self, competition: Competition) -> QuerySet[Player]:
        """Return none: the leaderboards continue with the opponents that they have."""
        return Player.objects.none()

    def publish(self, round_: Round, views: Sequence[Preview], by: User) -> None:
        """Do nothing: the leaderboards continue."""

    def secret_order_since(self, round_: Round) -> datetime | None:
        """Return None: who plays what follows from no order."""
        return None


class PlayedWhileRunning:
    """The answers of a format whose workers claim what a round plays only while the round is running."""

    def start(self, round_: Round) -> None:
        """Do nothing: its state lets workers play."""

    def suspend(self, round_: Round) -> None:
        """Do nothing: its state lets workers start nothing new."""

    def resume(self, round_: Round) -> None:
        """Do nothing: its state lets workers play."""

    def cancel(self, round_: Round) -> None:
        """Do nothing: its state lets workers play nothing more."""


class PlayedAlone:
    """The answers of a format whose entries meet nobody: a line of the outcome is enough for each."""

    def check_field(self, round_: Round, entries: Sequence[RoundEntry], rules: RulesVersion) -> None:
        """Do nothing: so few lines can be verified."""

    def check_sides(self, round_: Round, entries: Sequence[RoundEntry]) -> None:
        """Raise `Refusal` without an entry."""
        if not entries:
            raise Refusal("no submission was ready when the window began", fix="cancel it and plan another round")

    def find_matches(self, round_: Round, keys: Collection[str]) -> Mapping[str, MatchInRound]:
        """Return none: entries meet nobody."""
        return {}


class WithoutPerturbedImages:
    """The answers of a format that makes no images."""

    makes_images = False

    def perturbed_table(self, round_: Round) -> bytes:
        """Raise `Refusal`: there is nothing to release."""
        raise Refusal(f"{round_} has no perturbed images", fix="release its other parts")

    def perturbed_images(self, round_: Round, number: int) -> Callable[[], IO[bytes]] | None:
        return None


round_formats: ByFormat[RoundFormat] = ByFormat("rounds")
"""The rounds of each format."""


def format_of(round_: Round) -> RoundFormat:
    """Return what is particular to the round's format."""
    return round_formats.of(round_.competition)


def schedule_title(round_: Round) -> str:
    """Return the title of the round's schedule, or its name where the format no longer has it."""
    return format_of(round_).schedules.get(round_.schedule, round_.schedule)
