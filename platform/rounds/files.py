"""Adapter: the files of a release. Equal rows give equal bytes, whenever and however often they are made."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from django.db.models import Count, QuerySet
from PIL import Image as Picture

from competitions.samples import sample_hashes, samples_of
from core import store
from evaluation.domain.images import Image
from matches.engine import IMAGES
from matches.models import Match, Piece
from rounds.models import Round
from rounds.signing import signed

HOW_TO_CHECK = (
    "Each hash in samples.csv is the SHA-256 of: the salt in UTF-8, a zero byte, label and target as signed 32-bit "
    "big-endian numbers (target -1 where there is none), and the decoded image (rows of pixels, one byte for each "
    "channel). The commitment is the SHA-256 of the JSON list of these hashes in the order of their numbers, without "
    "spaces."
)


def bundle_of(round: Round) -> bytes:
    """The result bundle of a scored round: its outcome, signed with this site's key."""
    return signed(store.get(round.outcome))


def images_zip(round: Round) -> bytes:
    """The secret samples of a round, and all that it takes to check what was published of them at its planning."""
    samples = samples_of(round.sample_set)
    hashes = sample_hashes(round.sample_set, round.salt)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        commitment = {"salt": round.salt, "commitment": round.commitment, "how_to_check": HOW_TO_CHECK}
        _add(archive, "commitment.json", json.dumps(commitment, indent=2).encode())
        rows = [
            (sample.number, sample.label, sample.target, hash) for sample, hash in zip(samples, hashes, strict=True)
        ]
        _add(archive, "samples.csv", _table(("number", "label", "target", "hash"), rows))
        for sample in samples:
            _add(archive, _image_name(sample.number), _png(sample.image))
    return file.getvalue()


def pairs_table(round: Round) -> bytes:
    """Every pair that played in a round, those of players that were cut too, and how its images are asked for."""
    teams: dict[int, set[str]] = defaultdict(set)
    for player, team in round.entries.values_list("player", "submission__repository__entry__team__slug"):
        teams[player].add(team)
    rows = [
        (
            pair.pk,
            pair.attack.kind,
            pair.model.digest,
            " ".join(sorted(teams[pair.model_id])),
            pair.attack.digest,
            " ".join(sorted(teams[pair.attack_id])),
            pair.samples,
        )
        for pair in pairs_of(round).order_by("attack__kind", "model__digest", "attack__digest")
    ]
    return _table(("pair", "kind", "model", "model_teams", "attack", "attack_teams", "samples"), rows)


def pairs_of(round: Round) -> QuerySet[Match, Any]:
    """The matches of a round of which anything was played, each with its number of `samples`."""
    matches = Match.objects.filter(round_match__round=round).select_related("model", "attack")
    return matches.annotate(samples=Count("sample_results")).filter(samples__gt=0)


def pair_zip(pair: Match) -> bytes:
    """The perturbed images of a match, and how each sample ended. It takes its time.

    Where the attack found no adversarial the image is grey, as it was scored.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        columns = ("sample", "outcome", "distance", "queries", "found_label")
        rows = pair.sample_results.order_by("sample").values_list(*columns)
        _add(archive, "samples.csv", _table(columns, rows))
        played = pair.pieces.filter(state=Piece.State.PLAYED).order_by("number")
        for artefact in played.values_list("artefact", flat=True):
            for number, image in _perturbed(artefact):
                _add(archive, _image_name(number), _png(image))
    return file.getvalue()


def _perturbed(artefact: str) -> Iterator[tuple[int, Image]]:
    with np.load(io.BytesIO(store.get(artefact)), allow_pickle=False) as columns:
        numbers, images = columns["sample"], columns[IMAGES]
    yield from zip(numbers.tolist(), images, strict=True)


def _image_name(number: int) -> str:
    return f"images/{number:05d}.png"


def _png(image: Image) -> bytes:
    file = io.BytesIO()
    Picture.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).save(file, "png", compress_level=1)
    return file.getvalue()


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return file.getvalue().encode()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name)  # carries no time of day
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)
