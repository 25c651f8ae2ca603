"""`crowdai.json` and the licence file of a submission of 2018."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.domain.errors import ManifestRefusal
from evaluation.domain.players import TrackName
from evaluation.formats.query.submissions_2018.manifest_2018 import is_2018, read_submission
from tests.evaluation.legacy.conftest import REPOSITORIES


def written(folder: Path, **fields: object) -> Path:
    (folder / "crowdai.json").write_text(json.dumps(fields))
    return folder


def test_track_title_and_licence_of_a_submission_of_2018_are_read() -> None:
    submission = read_submission(REPOSITORIES / "template-model")
    assert (submission.track, submission.title, submission.licence) == (TrackName.MODEL, "template-model", "MIT")


@pytest.mark.parametrize(
    ("fields", "track"),
    [
        ({"challenge_id": "nips-2018-avc-untargeted-attack"}, TrackName.UNTARGETED),
        ({"challenge_id": "nips-2018-avc-targeted-attack"}, TrackName.TARGETED),
        ({"challenge_id": "NIPS18-ADVERSARIAL-VISION-CHALLENGE", "track": "targeted attack"}, TrackName.TARGETED),
        ({"challenge_id": "X", "grader_id": "nips-2018-avc-robust-model-track"}, TrackName.MODEL),
    ],
)
def test_the_track_stands_in_one_of_three_fields(tmp_path: Path, fields: dict[str, str], track: TrackName) -> None:
    assert read_submission(written(tmp_path, **fields)).track is track


def test_without_a_licence_file_the_licence_is_unknown(tmp_path: Path) -> None:
    assert read_submission(written(tmp_path, challenge_id="nips-2018-avc-targeted-attack")).licence == "unknown"


def test_a_description_of_several_lines_becomes_one_title(tmp_path: Path) -> None:
    folder = written(tmp_path, challenge_id="nips-2018-avc-targeted-attack", description="one\n two\u0007")
    assert read_submission(folder).title == "one two"


def test_a_submission_toml_takes_precedence(tmp_path: Path) -> None:
    assert is_2018(written(tmp_path))
    (tmp_path / "submission.toml").touch()
    assert not is_2018(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b"[" * 40_000, "not valid JSON"),
        (b'{"challenge_id": "marlo-2018"}', "names no track"),
        (b" " * 70_000, "is larger than"),
    ],
)
def test_it_rejects_what_names_no_track(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "crowdai.json").write_bytes(content)
    with pytest.raises(ManifestRefusal, match=problem):
        read_submission(tmp_path)
