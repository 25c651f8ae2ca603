"""`submission.toml`: what is accepted, and the line and the fix for everything else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from evaluation.builder import manifest
from evaluation.builder.manifest import MAX_MANIFEST_BYTES, Manifest, read_manifest
from evaluation.domain.errors import ManifestRefusal
from evaluation.domain.players import TrackName

GOOD = {"track": '"untargeted"', "run": "\"python main.py --name 'a b'\"", "title": '"An attack"', "licence": '"MIT"'}


def text(**changes: str | None) -> str:
    """A manifest: `[submission]` in line 1, track in 2, run in 3, title in 4, licence in 5, more from 6 on."""
    values = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    return "[submission]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())


def refused(tmp_path: Path, content: str | bytes) -> ManifestRefusal:
    (tmp_path / "submission.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ManifestRefusal) as caught:
        read_manifest(tmp_path)
    return caught.value


def test_the_manual_has_the_keys_of_a_manifest_and_no_others(root: Path) -> None:
    section = (root / "docs/builds.md").read_text().partition("## `submission.toml`")[2].partition("\n## ")[0]
    example = section.partition("```toml\n")[2].partition("```")[0]
    assert set(tomllib.loads(example)["submission"]) == set(manifest._TYPES)
    assert manifest.parse_manifest(example.encode()).gpu
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (yes|no) \|", section, re.MULTILINE)
    assert rows == [
        (key, {str: "string", bool: "true or false"}[kind], "no" if key in manifest._OPTIONAL else "yes")
        for key, kind in manifest._TYPES.items()
    ]
    for most in (manifest.MAX_TITLE_CHARACTERS, manifest.MAX_LICENCE_CHARACTERS):
        assert f"at most {most} characters" in section
    assert f"at most {MAX_MANIFEST_BYTES >> 10} KiB" in section
    (tracks,) = re.findall(r"^\| `track` .*$", section, re.MULTILINE)
    assert all(f"`{track}`" in tracks for track in TrackName)


def test_every_field_of_a_manifest_is_read(tmp_path: Path) -> None:
    (tmp_path / "submission.toml").write_text(text(gpu="true"))

    assert read_manifest(tmp_path) == Manifest(
        track=TrackName.UNTARGETED,
        run=("python", "main.py", "--name", "a b"),
        title="An attack",
        licence="MIT",
        gpu=True,
    )


def test_it_writes_licences_as_spdx_does(tmp_path: Path) -> None:
    (tmp_path / "submission.toml").write_text(text(licence='"mit OR apache-2.0"'))

    assert read_manifest(tmp_path).licence == "MIT OR Apache-2.0"


@pytest.mark.parametrize(
    ("content", "line", "problem", "fix"),
    [
        ("", 1, "the table [submission] is missing", "write the line [submission]"),
        ("[submision]\n" + text()[13:], 1, "unknown table [submision]", "did you mean 'submission'"),
        ('title = "T"\n' + text(title=None), 1, "unknown key 'title' outside", "below the line [submission]"),
        (text() + "[build]\nx = 1\n", 6, "unknown table [build]", "remove it"),
        ("submission = 3\n", 1, "submission is not a table", "write the line [submission]"),
        ("\n\n[[submission]]\n", 3, "submission is not a table", "in single brackets"),
        (text(track='"model'), 2, "not valid TOML", "double quotes"),
        (text() + "gpu = " + "[" * 5000, 6, "not valid TOML", "double quotes"),
        (text() + "gpu = " + "9" * 5000, 6, "not valid TOML", "double quotes"),
        (text() + "gpu = 2018-02-31\n", 6, "not valid TOML", "double quotes"),
        (text() + 'title = "twice"\n', 6, "not valid TOML", "double quotes"),
        (text() + "gpu = yes\n", 6, "not valid TOML", "true and false without"),
        (text(licence=None) + 'license = "MIT"\n', 5, "unknown key 'license'", "did you mean 'licence'"),
        (text(colour='"red"'), 6, "unknown key 'colour'", "known: track, run"),
        (text(track=None), 1, "the key 'track' is missing", 'track = "model"'),
        (text(gpu='"yes"'), 6, "gpu must be true or false", "gpu = true"),
        (text(gpu="1"), 6, "gpu must be true or false", "gpu = true"),
        (text(run='["python", "main.py"]'), 3, "run must be a string", 'run = "python main.py"'),
        (text(track='"targetted"'), 2, "unknown track 'targetted'", "did you mean 'targeted'"),
        (text(track='"defence"'), 2, "unknown track 'defence'", "known: model, untargeted, targeted"),
        (text(run='"  "'), 3, "run is empty", 'run = "python main.py"'),
        (text(run='"\'\' main.py"'), 3, "run is empty", 'run = "python main.py"'),
        (text(run='"python \'main.py"'), 3, "do not balance", "close every quote"),
        (text(run='"cd src && python main.py"'), 3, "run contains '&&'", "put it into a script"),
        (text(run='"SEED=1 python main.py"'), 3, "run contains 'SEED=1'", "put it into a script"),
        (text(run='"python \\u0000"'), 3, "NUL", "remove it"),
        (text(title='""'), 4, "title is empty", "title ="),
        (text(title='"' + "x" * 121 + '"'), 4, "title has 121 characters", "shorten it to 120"),
        (text(licence='"' + " OR ".join(["MIT AND ISC"] * 14) + '"'), 5, "licence has 234 characters", "to 200"),
        (text(title='"two\\nlines"'), 4, "line break", "one plain line"),
        (text(licence='"Apache 2"'), 5, "unknown licence 'Apache 2'; did you mean 'Apache-2.0'", "SPDX"),
        (text(licence='"MIT AND"'), 5, "not an SPDX expression", "SPDX"),
        (text(licence='"()"'), 5, "not an SPDX expression", "SPDX"),
        (text(licence='"( OR MIT"'), 5, "not an SPDX expression", "SPDX"),
        (text(licence='""'), 5, "licence is empty", "SPDX"),
        ('submission = { track = "modell", run = "a", title = "b", licence = "MIT" }', 1, "unknown track", "'model'"),
        ('submission.run = "a"\nsubmission.track = "modell"\nsubmission.title = "b"\nsubmission.licence = "MIT"\n',
         2, "unknown track", "'model'"),
        (b"[submission]\ntrack = \"model\"\ntitle = \"\xff\"\n", 3, "not UTF-8", "as UTF-8"),
    ],
)  # fmt: skip
def test_it_rejects_a_wrong_line(tmp_path: Path, content: str | bytes, line: int, problem: str, fix: str) -> None:
    refusal = refused(tmp_path, content)

    assert refusal.problem.startswith(f"submission.toml, line {line}: ")
    assert problem in refusal.problem
    assert fix in refusal.fix


def test_it_names_all_errors_at_once(tmp_path: Path) -> None:
    refusal = refused(tmp_path, text(track='"targetted"', run='"cd src && ls"', licence=None, gpu="1") + "colour = 3\n")
    assert refusal.problem.splitlines() == [
        "submission.toml, line 5: gpu must be true or false",
        "submission.toml, line 6: unknown key 'colour'",
        "submission.toml, line 1: the key 'licence' is missing in [submission]",
        "submission.toml, line 2: unknown track 'targetted'",
        "submission.toml, line 3: run contains '&&', but runs without a shell",
    ]
    assert len(refusal.fix.splitlines()) == 5
    assert refusal.run == ()


def test_a_misspelt_key_is_one_error(tmp_path: Path) -> None:
    refusal = refused(tmp_path, text(licence=None) + 'license = "MIT"\n')
    assert refusal.problem == "submission.toml, line 5: unknown key 'license'"
    assert refusal.run == ("python", "main.py", "--name", "a b")


def test_of_hundreds_of_wrong_keys_some_are_named(tmp_path: Path) -> None:
    refusal = refused(tmp_path, text() + "".join(f"x{number} = true\n" for number in range(300)))
    assert len(refusal.problem.splitlines()) == 8


def test_it_rejects_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ManifestRefusal, match=r"submission.toml is missing") as caught:
        read_manifest(tmp_path)

    assert "[submission]" in caught.value.fix


def test_it_rejects_a_file_that_is_too_large(tmp_path: Path) -> None:
    assert "larger than" in refused(tmp_path, text() + "#" * MAX_MANIFEST_BYTES).problem


def test_it_rejects_what_is_no_plain_file(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.toml").write_text(text())
    (tmp_path / "submission.toml").symlink_to("elsewhere.toml")

    with pytest.raises(ManifestRefusal, match="not a plain file"):
        read_manifest(tmp_path)
