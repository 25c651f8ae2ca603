"""What each format says of the matches of a released round, and how one of them is played again."""

from __future__ import annotations

import argparse
import math
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from evaluation.baselines.bundled import BundledRepository
from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.bundle.signature_check import Report
from evaluation.cli.output import say
from evaluation.cli.released_round import ReleasedRound, export, holds
from evaluation.domain.errors import Refusal, ReplayRefusal
from evaluation.domain.players import QueryPlayer
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer

_LEAST_PREFIX = 4

Value = str | int | float

_Built = TypeVar("_Built", QueryPlayer, TransferPlayer)


@dataclass(frozen=True)
class ReleasedPlayer:
    """A player of a bundle. `bundled` is the bundled submission of which it is a copy, None for any other."""

    name: str
    track: str
    submissions: Sequence[BundleSubmission]
    bundled: BundledRepository | None = None

    @property
    def title(self) -> str:
        """What people call it: its team and title, or its name as a bundled submission."""
        if self.submissions:
            return f"{self.submissions[0].team}: {self.submissions[0].title}"
        return self.bundled.name if self.bundled else self.name


@dataclass(frozen=True)
class ReleasedMatch:
    """An attack against a model or a defence, as the bundle names them. `problem` says why it cannot be replayed.

    An attack that the rules list has no repository.
    """

    attack: ReleasedPlayer
    model: ReleasedPlayer
    samples: int
    problem: str = ""
    listed: bool = False

    @property
    def players(self) -> Mapping[str, ReleasedPlayer]:
        """The players that have a repository, the attack first, each by its side."""
        return {"model": self.model} if self.listed else {"attack": self.attack, "model": self.model}

    @property
    def name(self) -> str:
        """Its name for `gauntlet replay`."""
        return f"{self.attack.name}/{self.model.name}"


@dataclass(frozen=True)
class ReplayedRow:
    """What the bundle says of a sample, and what came out when it was played again, in the order of the columns."""

    sample: int
    published: tuple[Value, ...]
    replayed: tuple[Value, ...]

    @property
    def same(self) -> bool:
        """True if every value is equal, to the last bit."""
        return all(map(_equal, self.published, self.replayed))


@dataclass(frozen=True)
class Replayed:
    """A match that was played again; `notes` are for people."""

    columns: tuple[str, ...]
    rows: tuple[ReplayedRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """True if every row is."""
        return all(row.same for row in self.rows)


class ReplayableRound(ABC):
    """The matches of a released round of one format.

    `report` is that of the check of the signature, and of the images where these are there; a round whose bundle cannot
    be read has no match.
    """

    report: Report
    matches: Sequence[ReleasedMatch]

    @abstractmethod
    def replay(self, match: ReleasedMatch, repositories: Sequence[Path], given: argparse.Namespace) -> Replayed:
        """Play `match` again with the repositories of its players. Raise `Refusal`, or `Fault`."""

    def numbered(self, number: str) -> ReleasedMatch | None:
        """Return the match with this number on the site, None where nothing says which that is."""
        return None

    def match(self, name: str) -> ReleasedMatch:
        """Return the match that is called ATTACK/MODEL, or by a number. Names may be cut off. Raise `Refusal`."""
        listing = "list the matches with `gauntlet matches --from DIR`"
        if name.isdecimal():
            found = self.numbered(name)
            if found is None:
                raise Refusal(f"the round has no match {name}, or the table perturbed.csv is missing", fix=listing)
            return found
        attack, slash, model = name.partition("/")
        exact = next((match for match in self.matches if match.name == name), None)
        if exact is not None:
            return exact
        if not slash or min(len(attack), len(model)) < _LEAST_PREFIX:
            raise Refusal(f"{name} does not name a match", fix=f"write ATTACK/MODEL; {listing}")
        near = [m for m in self.matches if m.attack.name.startswith(attack) and m.model.name.startswith(model)]
        if len(near) != 1:
            what = "names several matches" if near else "is no match of this round"
            raise Refusal(f"{name} {what}", fix=listing)
        return near[0]


@contextmanager
def repository_of(player: ReleasedPlayer, of: ReleasedRound, side: str, *, contained: bool) -> Iterator[Path]:
    """Give the repository of a player: a copy of the released commit, or the bundled submission.

    Raise `ReplayRefusal` without either, and for released code, which strangers wrote, where players are not
    `contained`.
    """
    for each in player.submissions:
        path = of.code(each.team, player.track)
        if holds(path, each.commit):
            if not contained:
                raise ReplayRefusal(
                    f"bubblewrap does not work on this host: the code of {each.team} would run with all your rights",
                    fix=f"install bubblewrap, add --sandbox docker, or, if you trust that code, --{side} {path}",
                )
            with tempfile.TemporaryDirectory(prefix="gauntlet-replay-") as folder:
                copy = Path(folder) / path.name
                export(path, each.commit, copy)
                yield copy
            return
    if player.bundled is None:
        raise ReplayRefusal(
            f"the code of {player.title} ({player.name}) is not in {of.directory}: not fetched, or not released",
            fix=f"`gauntlet fetch ROUND --code` says which; or name its repository with --{side} DIR",
        )
    yield player.bundled.repository()


def build_released(player: ReleasedPlayer, source: Path, build: Callable[..., _Built]) -> _Built:
    """Build `player` from `source`, with its name in the bundle.

    Raise `ReplayRefusal` for a submission to another track, and for one that uses a GPU: its results depend on the
    device to the last bit.
    """
    say(f"{player.title} ({player.name}) is played from {source}")
    built = build(source, on_log=lambda line: say(f"  {line}"))
    if built.track != player.track:
        raise ReplayRefusal(f"{source} is a submission to the {built.track} track, not to the {player.track} track")
    if built.gpu:
        raise ReplayRefusal(
            f"{player.title} uses a GPU, whose results differ between devices in the last bits, so equal bytes are no "
            "test",
            fix="play it with `gauntlet play`, and compare the distances",
        )
    return replace(built, name=player.name)


def _equal(one: Value, other: Value) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return one == other
