"""Adapter: the files of a release. Equal rows always give equal bytes."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from django.db.models import F, QuerySet
from PIL import Image as Picture

from competitions.pseudonyms import public_name
from competitions.sample_store import sample_hashes, samples_of
from core import object_store
from evaluation.bundle.perturbed_images import IMAGES, PAIR, ROWS, piece_name
from evaluation.bundle.secret_images import COMMITMENT
from evaluation.datasets.released import CLASSES, SAMPLES, image_name
from evaluation.domain.images import Image
from matches.models import Match, Piece
from rounds.models import Round
from rounds.signing_keys import signed

HOW_TO_CHECK = (
    "Each hash in samples.csv is the SHA-256 of: the salt in UTF-8, a zero byte, label and target as signed 32-bit "
    "big-endian numbers (target -1 where there is none), and the decoded image (rows of pixels, one byte for each "
    "channel). The commitment is the SHA-256 of the JSON list of these hashes in the order of their numbers, without "
    "spaces."
)


def bundle_of(round_: Round) -> bytes:
    """Return the result bundle of a scored round: its outcome, signed with the site's key."""
    return signed(object_store.get(round_.outcome))


def images_zip(round_: Round) -> bytes:
    """Return the secret samples of a round, with everything needed to check its commitments."""
    samples = samples_of(round_.sample_set)
    hashes = sample_hashes(round_.sample_set, round_.salt)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        commitment = {"salt": round_.salt, "commitment": round_.commitment, "how_to_check": HOW_TO_CHECK}
        _add(archive, COMMITMENT, json.dumps(commitment, indent=2).encode())
        rows = [
            (sample.number, sample.label, sample.target, digest) for sample, digest in zip(samples, hashes, strict=True)
        ]
        _add(archive, CLASSES, json.dumps(round_.sample_set.class_names).encode())
        _add(archive, SAMPLES, table(("number", "label", "target", "hash"), rows))
        for sample in samples:
            _add(archive, image_name(sample.number), _png(sample.image))
    return file.getvalue()


def pairs_table(round_: Round) -> bytes:
    """Return the table of all pairs that the outcome uses, eliminated players included, with the names of their
    images."""
    teams: dict[int, set[str]] = defaultdict(set)
    for player, team in round_.entries.values_list("player", "submission__repository__entry__team__slug"):
        teams[player].add(team)
    name = partial(public_name, round_.competition)
    rows = [
        (
            pair.pk,
            pair.attack.track_name,
            name(pair.model.digest),
            " ".join(sorted(teams[pair.model_id])),
            name(pair.attack.digest),
            " ".join(sorted(teams[pair.attack_id])),
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
        _add(archive, PAIR, json.dumps(description, indent=2).encode())
        columns = ("sample", "outcome", "distance", "queries", "found_label")
        rows = pair.sample_results.filter(sample__lt=samples).order_by("sample").values_list(*columns)
        _add(archive, ROWS, table(columns, rows))
        played = pair.pieces.filter(state=Piece.State.PLAYED, first__lt=samples).order_by("first")
        for place, artefact in enumerate(played.values_list("artefact", flat=True)):
            content = object_store.get(artefact)
            _add(archive, piece_name(place), content)
            for number, image in _perturbed(content):
                _add(archive, image_name(number), _png(image))
    return file.getvalue()


def _perturbed(content: bytes) -> Iterator[tuple[int, Image]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as columns:
        numbers, images = columns["sample"], columns[IMAGES]
    yield from zip(numbers.tolist(), images, strict=True)


def _png(image: Image) -> bytes:
    file = io.BytesIO()
    Picture.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).save(file, "png", compress_level=1)
    return file.getvalue()


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return a CSV file."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return file.getvalue().encode()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name)  # carries no time of day
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)
