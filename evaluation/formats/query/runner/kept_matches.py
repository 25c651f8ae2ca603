"""Matches that are kept in a directory, so that an interrupted comparison goes on where it was."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.domain.errors import Refusal
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.results import MatchResult, Outcome, Trace
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.match_result_files import read_result, write_result
from evaluation.formats.query.runner.tournament import Pairing
from evaluation.formats.query.scoring.match_curves import answered, closest
from evaluation.scoring.distances import Distances

_SETTINGS = "settings.json"


@dataclass(frozen=True)
class MatchSettings:
    """What decides the distances of every match of a comparison; `samples` is a hash of images, labels and targets."""

    rules: QueryRules
    seed: int
    samples: str

    def of(self, match: Pairing) -> dict[str, Any]:
        """Return those of one match, for JSON."""
        digests = {"model": match.model.digest, "attack": match.attack.digest}
        return {"rules": self.rules.as_dict(), "seed": self.seed, "samples": self.samples, **digests}


def hash_of_samples(samples: Sequence[Sample]) -> str:
    """Return the SHA-256 of what a match gets of its samples."""
    found = hashlib.sha256()
    for sample in samples:
        found.update(f"{sample.number} {sample.label} {sample.target} {sample.image.shape}\n".encode())
        found.update(sample.image.tobytes())
    return found.hexdigest()


class KeptMatches:
    """The matches below a directory, each in a folder of its own that is complete or not there."""

    def __init__(self, directory: Path, settings: MatchSettings) -> None:
        self._directory = directory
        self._settings = settings

    def folder(self, match: Pairing) -> Path:
        """Return where a match is kept."""
        return self._directory / f"{match.attack.name}--{match.model.name}"

    def missing(self, matches: Sequence[Pairing]) -> list[Pairing]:
        """Return the matches that are not kept yet.

        Raise `Refusal` for one that was played with other files of a player, samples, rules or seed.
        """
        return [match for match in matches if not self._has(match)]

    def _has(self, match: Pairing) -> bool:
        file = self.folder(match) / _SETTINGS
        if not file.is_file():
            return False
        wanted, kept = self._settings.of(match), json.loads(file.read_text(encoding="utf-8"))
        other = [name for name in wanted if kept.get(name) != wanted[name]]
        if other:
            raise Refusal(
                f"{self.folder(match)} was played with other {' and '.join(other)}",
                fix="name another directory, or remove this one to play the match again",
            )
        return True

    def keep(self, match: Pairing, result: MatchResult, samples: Sequence[Sample]) -> None:
        """Write a match; a process that is killed meanwhile leaves none."""
        folder = self.folder(match)
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        write_result(result, samples, unfinished)
        text = json.dumps(self._settings.of(match), indent=1, sort_keys=True)
        (unfinished / _SETTINGS).write_text(f"{text}\n", encoding="utf-8")
        unfinished.rename(folder)


@dataclass(frozen=True, eq=False)
class KeptMatch:
    """A match as it was kept: its rows, and the closest adversarial of each sample after numbers of queries."""

    track: TrackName
    model: str
    attack: str
    rows: Sequence[dict[str, Any]]
    closest: Distances
    """(samples, counts): 0 where the model was wrong on the clean image, the worst case where nothing was found."""


def read_match(folder: Path, samples: Sequence[Sample], counts: Sequence[int]) -> KeptMatch:
    """Read a match; `samples` is the whole set by number. The last of `counts` is the whole budget.

    After the whole budget, the distance is that of the result, which the verdict confirmed.
    """
    result = read_result(folder)
    rows = result["samples"]
    track = TrackName(result["track"])
    with np.load(folder / "trace.npz", allow_pickle=False) as arrays:
        trace = Trace(**{name: arrays[name] for name in Trace.__annotations__})
    worst = {row["sample"]: row["worst_case"] for row in rows}
    queries = answered(trace, samples, worst, targeted=track is TrackName.TARGETED)
    distances = closest(queries, [Outcome(row["outcome"]) for row in rows], counts)
    distances[:, -1] = [row["distance"] for row in rows]
    return KeptMatch(track, result["model"], result["attack"], rows, distances)
