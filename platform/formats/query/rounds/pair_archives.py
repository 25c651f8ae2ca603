"""Adapter: the files of a release of the query format: its pairs and their images. Equal rows give equal bytes."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import IO, Any

import numpy as np
from django.db.models import F, QuerySet

from competitions.pseudonyms import public_name
from competitions.sample_archive import add, png, table
from core import object_store
from core.concurrent_archive_limit import making_archive
from evaluation.datasets.released_samples import image_name
from evaluation.domain.images import Image
from evaluation.formats.query.bundle.perturbed_image_check import PAIR, ROWS, piece_name
from evaluation.formats.query.runner.piece_file import IMAGES
from formats.query.matches.models import Match, Piece
from rounds.models import Round
from rounds.release.release_files import team_slugs


def pairs_table(round_: Round) -> bytes:
    """Return the table of all pairs that the outcome uses, eliminated players included, with the names of their
    images."""
    teams = team_slugs(round_)
    name = partial(public_name, round_.competition)
    rows = [
        (
            pair.pk,
            pair.attack.track_name,
            name(pair.model.digest),
            teams[pair.model_id],
            name(pair.attack.digest),
            teams[pair.attack_id],
            pair.samples,
        )
        for pair in pairs_of(round_)
    ]
    rows.sort(key=lambda row: (row[1], row[2], row[4]))
    return table(("pair", "track", "model", "model_teams", "attack", "attack_teams", "samples"), rows)


def pairs_of(round_: Round) -> QuerySet[Match, Any]:
    """Return the matches that a round's outcome uses, each with the number of `samples` that it uses."""
    matches = Match.objects.filter(round_match__round=round_, round_match__samples__gt=0)
    return matches.annotate(samples=F("round_match__samples")).select_related("model", "attack", "round_match")


def pair_zip(pair: Match) -> bytes:
    """Return the perturbed images of a match, its traces, and how each sample ended. Slow.

    Where the attack found no adversarial, the image is grey, as it was scored. The bundle holds the digests of the
    pieces' files.
    """
    file, samples = io.BytesIO(), pair.round_match.samples or 0
    name = partial(public_name, pair.round_match.round.competition)
    with zipfile.ZipFile(file, "w") as archive:
        description = {"model": name(pair.model.digest), "attack": name(pair.attack.digest), "samples": samples}
        add(archive, PAIR, json.dumps(description, indent=2).encode())
        columns = ("sample", "outcome", "distance", "queries", "found_label")
        rows = pair.sample_results.filter(sample__lt=samples).order_by("sample").values_list(*columns)
        add(archive, ROWS, table(columns, rows))
        played = pair.pieces.filter(state=Piece.State.PLAYED, first__lt=samples).order_by("first")
        for place, artefact in enumerate(played.values_list("artefact", flat=True)):
            content = object_store.get(artefact)
            add(archive, piece_name(place), content)
            for number, image in _perturbed(content):
                add(archive, image_name(number), png(image))
    return file.getvalue()


def open_images(pair: Match) -> IO[bytes]:
    """Return the archive of a pair, made on its first request: too many to make all at the release."""
    row = pair.round_match
    if not row.images or object_store.size(row.images) is None:
        with making_archive():
            row.images = object_store.put(pair_zip(pair))
        row.save(update_fields=["images"])
    return object_store.open_object(row.images)


def _perturbed(content: bytes) -> Iterator[tuple[int, Image]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as columns:
        numbers, images = columns["sample"], columns[IMAGES]
    yield from zip(numbers.tolist(), images, strict=True)
