"""Matches of a released round of the query format, played again by the same referee."""

from __future__ import annotations

import argparse
import csv
import io
import json
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.bundle.released_zip_reader import BROKEN, read_file
from evaluation.cli.format_replay_interface import (
    ReleasedMatch,
    ReleasedPlayer,
    ReplayableRound,
    Replayed,
    ReplayedRow,
    build_released,
)
from evaluation.cli.options import open_sandbox
from evaluation.cli.output import progress_bar, say
from evaluation.cli.released_round import PERTURBED, ReleasedRound, open_images
from evaluation.datasets.released_samples import SPLIT, released
from evaluation.domain.errors import Refusal, ReplayRefusal
from evaluation.domain.images import ImageShape
from evaluation.formats.query.bundle.perturbed_image_check import MOST_BYTES, PAIR, piece_name
from evaluation.formats.query.bundle.reader import Bundle
from evaluation.formats.query.bundle.verify import read_signed
from evaluation.formats.query.catalogue import Baseline, baselines
from evaluation.formats.query.results import PieceResult
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.piece_file import IMAGES, columns_of, pack
from evaluation.formats.query.runner.play_match import play
from evaluation.formats.query.submissions_2018.builders import any_year_builder
from evaluation.formats.query.tournament.round_state import RoundEntrant
from evaluation.sandbox.host_speed import processor_factor

_COLUMNS = ("outcome", "distance", "queries", "image")
_MOST_TABLE_BYTES = 64_000_000


class QueryReplayableRound(ReplayableRound):
    """See `ReplayableRound`."""

    def __init__(self, of: ReleasedRound, key: str | None) -> None:
        self._of = of
        with ExitStack() as opened:
            bundle = opened.enter_context(of.open_bundle())
            found, self.report = read_signed(bundle, key, images=open_images(of, opened))
        self._bundle = found
        self.matches = _matches(found) if found else ()

    def numbered(self, number: str) -> ReleasedMatch | None:
        """Return the match that the released table of pairs gives this number."""
        try:
            with (self._of.directory / PERTURBED).open("rb") as file:
                table = csv.DictReader(io.StringIO(file.read(_MOST_TABLE_BYTES).decode()))
            named = next((f"{row['attack']}/{row['model']}" for row in table if row["pair"] == number), "")
        except BROKEN:
            return None
        return next((match for match in self.matches if match.name == named), None)

    def replay(self, match: ReleasedMatch, repositories: Sequence[Path], given: argparse.Namespace) -> Replayed:
        """Play the pieces of the match with its seed, and compare rows, images and traces with the bundle."""
        if self._bundle is None:
            raise ReplayRefusal("the bundle cannot be read")
        attack, model = repositories
        record, pair = self._bundle.record, (match.model.name, match.attack.name)
        rules = _rules(record.head.rules)
        samples = released(self._of.images).samples(SPLIT, match.samples)
        build = any_year_builder(given.sandbox).build
        playing_model = build_released(match.model, model, build)
        playing_attack = build_released(match.attack, attack, build)
        ends = [piece.end for piece in record.pieces[pair]]
        sandbox = open_sandbox(given.sandbox)
        with progress_bar(match.samples, "playing again") as bar:
            played = play(
                model=playing_model,
                attack=playing_attack,
                samples=samples,
                rules=rules,
                sandbox=sandbox,
                seed=record.seeds[pair],
                calibration=processor_factor(),
                fresh_audit=False,  # the audit is not part of what is compared
                level_caches=False,
                sizes=[end - start for start, end in pairwise([0, *ends])],
                on_piece=lambda piece: bar.step(len(piece.samples)),
            )
        for failure in played.result.failures:
            say(f"failure: {failure}")
        archive = _piece_files(self._of, pair, len(ends))
        rows: list[ReplayedRow] = []
        notes: list[str] = []
        for number, piece in enumerate(played.result.pieces):
            known = archive.get(piece_name(number))
            images = _compared_images(piece, record.pieces[pair][number].digest, known)
            if known is None and images[0][0] != images[0][1]:
                notes.append(_about_digest(piece))
            for row, (signed, found) in zip(piece.samples, images, strict=True):
                due = record.facts.results[pair][row.sample]
                published = (str(due.outcome), due.distance, due.queries, signed)
                replayed = (str(row.outcome), row.distance, row.queries, found)
                rows.append(ReplayedRow(row.sample, published, replayed))
        return Replayed(_COLUMNS, tuple(rows), tuple(notes))


def _matches(bundle: Bundle) -> list[ReleasedMatch]:
    record = bundle.record
    bundled = {(str(each.track), _title(each)): each for each in baselines()}
    players: dict[str, ReleasedPlayer] = {}
    for entrant in record.facts.entrants:
        players[entrant.player] = _player(entrant, bundle, bundled)
    return [
        ReleasedMatch(
            players[attack],
            players[model],
            len(rows),
            "an audit of the model failed: it answered equal images otherwise"
            if (model, attack) in record.facts.failed_audits
            else "",
        )
        for (model, attack), rows in record.facts.results.items()
    ]


def _player(entrant: RoundEntrant, bundle: Bundle, bundled: Mapping[tuple[str, str], Baseline]) -> ReleasedPlayer:
    submissions = bundle.record.submissions[entrant.player]
    copied = [bundled.get((str(entrant.track), each.title)) for each in submissions] if entrant.bundled else [None]
    return ReleasedPlayer(entrant.player, str(entrant.track), submissions, next(filter(None, copied), None))


def _title(baseline: Baseline) -> str:
    manifest = tomllib.loads((baseline.source / baseline.manifest).read_text(encoding="utf-8"))
    return str(manifest["submission"]["title"])


def _rules(values: Mapping[str, Any]) -> QueryRules:
    try:
        return QueryRules(**{**values, "shape": ImageShape(*values["shape"])})
    except (LookupError, TypeError, ValueError) as error:
        raise ReplayRefusal(
            f"this version of gauntlet does not know the rules of the round: {error}",
            fix="use the version that the site had",
        ) from None


def _piece_files(of: ReleasedRound, pair: tuple[str, str], pieces: int) -> dict[str, bytes]:
    """Return the files of the pieces of a pair by name, from the archive of its perturbed images if that is there."""
    for path in of.archives():
        try:
            with zipfile.ZipFile(path) as archive:
                content = json.loads(read_file(archive, PAIR, _MOST_TABLE_BYTES))
                if (content["model"], content["attack"]) != pair:
                    continue
                known = set(archive.namelist()) & set(map(piece_name, range(pieces)))
                return {name: read_file(archive, name, MOST_BYTES) for name in known}
        except BROKEN as error:
            raise Refusal(f"{path} cannot be read: {error}", fix="remove it, and fetch it again") from None
    return {}


def _compared_images(piece: PieceResult, digest: str, known: bytes | None) -> Sequence[tuple[str, str]]:
    """Return for each sample of a piece what stands for its image and its queries, as published and as played again.

    That is the digest of the whole file. Where another zlib packed the same arrays, the digests differ, so a known file
    is compared array by array.
    """
    found = sha256(pack(piece)).hexdigest()
    if known is not None and sha256(known).hexdigest() != digest:
        raise ReplayRefusal(
            "an archive of perturbed images is not the one that was signed",
            fix="remove the folder perturbed, and fetch it again with `gauntlet fetch ROUND --perturbed`",
        )
    if found == digest or known is None:
        return [(digest, found)] * len(piece.samples)
    with np.load(io.BytesIO(known), allow_pickle=False) as file:
        published = {name: file[name] for name in file.files}
    played = columns_of(piece)
    numbers = [row.sample for row in piece.samples]
    if published["sample"].tolist() != numbers or published.keys() != played.keys():
        return [(digest, found)] * len(numbers)
    return [
        (_digest_of_sample(published, place, number), _digest_of_sample(played, place, number))
        for place, number in enumerate(numbers)
    ]


def _about_digest(piece: PieceResult) -> str:
    return (
        f"The bundle has one digest for the images and queries of samples {piece.samples[0].sample} to "
        f"{piece.samples[-1].sample}. With `gauntlet fetch ROUND --perturbed`, they are compared one by one."
    )


def _digest_of_sample(columns: Mapping[str, NDArray[Any]], place: int, number: int) -> str:
    """Return the SHA-256 of the image of a sample and of the queries that the attack sent under its number."""
    digest = sha256(np.ascontiguousarray(columns[IMAGES][place]).tobytes())
    mine = columns["trace_sample"] == number
    for name in ("trace_charged", "trace_query", "trace_label", "trace_distance"):
        digest.update(np.ascontiguousarray(columns[name][mine]).tobytes())
    return digest.hexdigest()
