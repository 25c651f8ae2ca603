"""Adapter: the files of a release that all formats share. Equal rows always give equal bytes."""

from __future__ import annotations

import io
import json
import zipfile
from collections import defaultdict
from typing import IO

from competitions.sample_archive import add, add_samples
from competitions.sample_store import sample_hashes
from core import object_store
from evaluation.bundle.released_sample_check import COMMITMENT
from rounds.models import Round
from rounds.release.signing_keys import signed

HOW_TO_CHECK = (
    "Each hash in samples.csv is the SHA-256 of: the salt in UTF-8, a zero byte, label and target as signed 32-bit "
    "big-endian numbers (target -1 where there is none), and the decoded image (rows of pixels, one byte for each "
    "channel). The commitment is the SHA-256 of the JSON list of these hashes in the order of their numbers, without "
    "spaces."
)


def bundle_of(round_: Round) -> IO[bytes]:
    """Return an open file with the result bundle of a scored round: its outcome, signed with the site's key.

    It may be large; the caller closes it.
    """
    with object_store.open_object(round_.outcome) as outcome:
        return signed(outcome)


def images_zip(round_: Round) -> bytes:
    """Return the secret samples of a round, with everything needed to check its commitments."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        commitment = {"salt": round_.salt, "commitment": round_.commitment, "how_to_check": HOW_TO_CHECK}
        add(archive, COMMITMENT, json.dumps(commitment, indent=2).encode())
        add_samples(archive, round_.sample_set, sample_hashes(round_.sample_set, round_.salt))
    return file.getvalue()


def team_slugs(round_: Round) -> dict[int, str]:
    """Return the slugs of the teams of each player of a round, by its key, as tables of downloads hold them."""
    teams: dict[int, set[str]] = defaultdict(set)
    for player, team in round_.entries.values_list("player", "submission__repository__entry__team__slug"):
        teams[player].add(team)
    return {player: " ".join(sorted(slugs)) for player, slugs in teams.items()}
