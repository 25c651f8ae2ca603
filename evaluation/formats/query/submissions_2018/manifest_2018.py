"""`crowdai.json`, the manifest of a submission of 2018."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evaluation.builder.manifest import MANIFEST_NAME, MAX_TITLE_CHARACTERS
from evaluation.domain.errors import ManifestRefusal
from evaluation.domain.players import TrackName
from evaluation.legacy.licence_file import licence_of
from evaluation.parsing.limited_process import Fields, ask_once

FILE_NAME = "crowdai.json"
MAX_BYTES = 64 << 10

_SECONDS, _MEMORY_BYTES = 5, 1 << 30
"""Limits of the process that reads a manifest."""

_MOST_SHOWN = 80
"""The most characters of a wrong value in an answer to a push."""

# "untargeted" contains "targeted", so the order counts
_WORDS = (
    ("untargeted", TrackName.UNTARGETED),
    ("targeted", TrackName.TARGETED),
    ("robust", TrackName.MODEL),
    ("model", TrackName.MODEL),
)


@dataclass(frozen=True)
class Submission2018:
    """What a submission of 2018 says about itself, in the terms of a manifest. `gpu` and the authors are not used."""

    track: TrackName
    title: str
    licence: str


def is_2018(source: Path) -> bool:
    """Return True for the directory of a submission of 2018: `crowdai.json` and no `submission.toml`."""
    return (source / FILE_NAME).is_file() and not os.path.lexists(source / MANIFEST_NAME)


def read_submission(source: Path) -> Submission2018:
    """Read the submission of 2018 in `source`, in a process with limits; what exceeds them is a `BuildRefusal`.

    Raise `ManifestRefusal` with the fix.
    """
    fields, _ = ask_once(
        f"{__name__}:read_request",
        {"source": str(source)},
        what=FILE_NAME,
        seconds=_SECONDS,
        memory_bytes=_MEMORY_BYTES,
    )
    return Submission2018(**fields | {"track": TrackName(fields["track"])})


def read_request(fields: Fields, _: bytes) -> tuple[Fields, bytes]:
    """Answer a request of `read_submission`."""
    source = Path(fields["source"])
    with (source / FILE_NAME).open("rb") as file:
        table = _table(file.read(MAX_BYTES + 1))
    return asdict(Submission2018(_track(table), _title(table), licence_of(source))), b""


def _table(content: bytes) -> dict[str, Any]:
    if len(content) > MAX_BYTES:
        raise ManifestRefusal(f"{FILE_NAME} is larger than {MAX_BYTES:,} bytes", fix="keep only the fields of 2018")
    try:
        table = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ManifestRefusal(f"{FILE_NAME}: not valid JSON: {error}", fix=f"correct {FILE_NAME}") from error
    if not isinstance(table, dict):
        raise ManifestRefusal(f"{FILE_NAME} is not a JSON object", fix='write {"challenge_id": "..."}')
    return table


def _track(table: dict[str, Any]) -> TrackName:
    """Find the track in `challenge_id`, else in the fields `track` and `grader_id` of earlier versions."""
    for key in ("challenge_id", "track", "grader_id"):
        text = str(table.get(key, "")).lower()
        for word, track in _WORDS:
            if word in text:
                return track
    raise ManifestRefusal(
        f"{FILE_NAME}: challenge_id {str(table.get('challenge_id'))[:_MOST_SHOWN]!r} names no track",
        fix='write "challenge_id": "nips-2018-avc-robust-model-track", "nips-2018-avc-untargeted-attack" or '
        '"nips-2018-avc-targeted-attack"',
    )


def _title(table: dict[str, Any]) -> str:
    description = " ".join(str(table.get("description") or "").split())
    printable = "".join(letter for letter in description if letter.isprintable())
    return printable[:MAX_TITLE_CHARACTERS].strip() or "Submission of 2018"
