"""Adapter: the files of a release that all formats share. Equal rows always give equal bytes."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence

from PIL import Image as Picture

from competitions.sample_store import sample_hashes, samples_of
from core import object_store
from evaluation.bundle.secret_image_check import COMMITMENT
from evaluation.datasets.released_samples import CLASSES, SAMPLES, image_name
from evaluation.domain.images import Image
from rounds.models import Round
from rounds.release.signing_keys import signed

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
        add(archive, COMMITMENT, json.dumps(commitment, indent=2).encode())
        rows = [
            (sample.number, sample.label, sample.target, digest) for sample, digest in zip(samples, hashes, strict=True)
        ]
        add(archive, CLASSES, json.dumps(round_.sample_set.class_names).encode())
        add(archive, SAMPLES, table(("number", "label", "target", "hash"), rows))
        for sample in samples:
            add(archive, image_name(sample.number), png(sample.image))
    return file.getvalue()


def team_slugs(round_: Round) -> dict[int, str]:
    """Return the slugs of the teams of each player of a round, by its key, as tables of downloads hold them."""
    teams: dict[int, set[str]] = defaultdict(set)
    for player, team in round_.entries.values_list("player", "submission__repository__entry__team__slug"):
        teams[player].add(team)
    return {player: " ".join(sorted(slugs)) for player, slugs in teams.items()}


def png(image: Image) -> bytes:
    """Return an image as a PNG file."""
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


def add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a file to an archive, without the time of day."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)
