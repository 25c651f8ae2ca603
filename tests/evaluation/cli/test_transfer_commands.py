"""The transfer format on the command line: bundled attacks against bundled defences, on digits."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

Gauntlet = Callable[..., tuple[int, str, str]]
FILES = {
    "accuracy_on_attacks.csv",
    "accuracy_on_targeted_attacks.csv",
    "hit_target_class.csv",
    "attack_ranking.csv",
    "targeted_attack_ranking.csv",
    "defense_ranking.csv",
    "all_classification.csv",
    "result.json",
    "attacks",
    "labels",
}


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str, str], Path]:
    """Makes a repository of 2017 with this entry point."""

    def make(name: str, kind: str, text: str) -> Path:
        directory = tmp_path / name
        directory.mkdir()
        (directory / "metadata.json").write_text(json.dumps({"type": kind, "container": "any", "entry_point": "go.sh"}))
        (directory / "go.sh").write_text(f"#!/bin/sh\n{text}\n")
        (directory / "go.sh").chmod(0o755)
        return directory

    return make


ONES = 'for f in "$1"/*.png; do echo "$(basename $f),1"; done >"$2"'
"""A defence that gives every image label 1."""


def test_a_play_writes_its_result_and_the_files_of_the_toolkit(
    gauntlet: Gauntlet, script: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    out, ones = tmp_path / "out", script("ones", "defense", ONES)
    options = ("--samples", 4, "--batch-images", 2, "--epsilons", "8,16", "--out", out)
    words = ("play", "--format", "transfer", "--attack", "noop", "--defence", ones, *options)
    status, printed, said = gauntlet(*words)
    assert status == 0, said
    assert "noop" in printed
    assert "Right labels at epsilon 16, 2 images" in printed
    assert {path.name for path in out.iterdir()} == FILES
    result = json.loads((out / "result.json").read_text())
    assert result["rules"]["format"] == "transfer"
    assert [batch["epsilon"] for batch in result["batches"]] == [8, 16]
    (pair,) = result["pairs"]
    assert (pair["images"], pair["made"], pair["labelled"]) == (4, 4, 4)
    assert (out / "defense_ranking.csv").read_bytes() == b"DefenseName,Score\r\nones,%d\r\n" % pair["correct"]
    assert len((out / "all_classification.csv").read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        ("attack", 'for file in $(ls "$1" | head -n 2); do cp "$1/$file" "$2"; done', "It made 2 of 4 images"),
        ("defense", 'echo "nothing,1" > "$2"', "It labelled 0 of 4 images"),
        ("attack", "echo lost my weights; exit 5", "its last output: lost my weights"),
    ],
)
def test_check_rejects_what_the_smoke_test_of_the_site_rejects(
    gauntlet: Gauntlet, script: Callable[[str, str, str], Path], kind: str, text: str, problem: str
) -> None:
    status, printed, _ = gauntlet("check", script("mine", kind, text), "--samples", 4)
    assert status == 3
    assert "The site would reject it: " in printed
    assert problem in printed
    assert "fix: " in printed


def test_check_rejects_what_the_push_gate_rejects(gauntlet: Gauntlet, script: Callable[[str, str, str], Path]) -> None:
    mine = script("mine", "attack", "true")
    (mine / "go.sh").write_text("true")
    status, _, said = gauntlet("check", mine)
    assert status == 3
    assert "go.sh does not say which interpreter runs it\n  fix: begin it with a line such as #!/bin/bash" in said
    assert gauntlet("check", mine, "--model", "numpy-classifier")[0] == 2


def test_the_query_format_names_a_submission_of_this_one(gauntlet: Gauntlet, tmp_path: Path) -> None:
    words = ("--track", "untargeted", "--out", tmp_path / "out")
    status, _, said = gauntlet("play", "--model", "base-network", "--attack", "boundary", *words)
    assert status == 3
    assert "base-network is of the transfer format: it has a metadata.json\n  fix: play it with --format tra" in said


def test_a_play_whose_defence_crashes_does_not_end_well(
    gauntlet: Gauntlet, script: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    attack, defence = script("copy", "attack", 'cp "$1"/*.png "$2"'), script("none", "defense", "exit 5")
    words = ("--attack", attack, "--defence", defence, "--samples", 1, "--out", tmp_path / "out")
    status, _, said = gauntlet("play", "--format", "transfer", *words)
    assert status == 3
    assert "none: batch 0 of copy: crashed" in " ".join(said.split())


def test_a_tournament_says_what_failed_and_goes_on(
    gauntlet: Gauntlet, script: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    players = [
        script("copy", "attack", 'cp "$1"/*.png "$2"'),
        script("silent", "targeted_attack", "echo lost my weights; exit 5"),
        script("ones", "defense", ONES),
        script("none", "defense", "true"),
    ]
    report = ("--report", tmp_path / "report.html")
    words = ("--samples", 3, "--batch-images", 2, "--out", tmp_path / "out", "--workers", 2, "--json", *report)
    status, printed, said = gauntlet("tournament", "--format", "transfer", *players, *words)
    assert status == 0
    for text in (
        "silent: batch 0, epsilon 4: crashed: its process ended with an error",
        "lost my weights",
        "silent: batch 0, epsilon 4: 2 images: no file of its name was written",
        "none: batch 0 of copy: no_result: it wrote no result file",
    ):
        assert text in " ".join(said.split())
    rows = {track: {row["name"]: row for row in found} for track, found in json.loads(printed)["standings"].items()}
    assert rows["attack"]["copy"]["opponents"] == 1
    assert rows["targeted_attack"]["silent"]["score"] == 0.0
    assert rows["defence"]["none"]["score"] == 0.0
    assert rows["defence"]["ones"]["coverage"] == 1.0
    require_report_of(json.loads(printed), (tmp_path / "report.html").read_text())


def require_report_of(result: dict[str, Any], html: str) -> None:
    """Check that the page shows what the result holds, and needs nothing else."""
    text = unescape(re.sub(r"<[^>]+>", "", html))
    pairs = [(epsilon, pair) for epsilon, pairs in result["pairs_by_epsilon"].items() for pair in pairs]
    lines = text[text.index("epsilon,attack,defence") :].splitlines()[: 1 + len(pairs)]
    for row, (epsilon, pair) in zip(csv.DictReader(lines), pairs, strict=True):
        assert row["epsilon"] == epsilon
        assert {name: row[name] for name in pair} == {name: str(value).lower() for name, value in pair.items()}
    assert len(pairs) == 8
    for heading in ("All epsilons, 3 images", "Epsilon 4, 2 images", "Epsilon 8, 1 image", "success by epsilon"):
        assert heading in text
    assert "silent: batch 0, epsilon 4: crashed: its process ended with an error" in text
    assert f"{result['standings']['defence'][0]['score']:.4f}" in text
    assert "gauntlet tournament --format transfer" in text
    own = r"data:(?:image/png|image/svg\+xml|text/csv)[;,]"
    assert not re.search(rf'<script|<link|(?:src|href)="(?!{own})|url\(|https?:', html)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("play", "--attack", "jpeg", "--defence", "noop", "--out", "out"),
            "jpeg is a submission to the defence track",
        ),
        (("play", "--attack", "noop", "--defence", "numpy-classifier", "--out", "out"), "is of the query format"),
        (("tournament", "noop", "jpeg"), "name a directory with --out"),
        (("tournament", "noop", "fgsm", "--out", "out"), "needs an attack and a defence"),
        (("play", "--attack", "noop", "--defence", "jpeg", "--out", "o", "--epsilons", "0"), "from 1 to 255"),
        (("play", "--attack", "noop", "--defence", "jpeg", "--out", "o", "--batch-images", "400"), "result_bytes"),
        (("play", "--attack", "noop", "--defence", "jpeg", "--out", "o", "--report", "no/a.html"), "cannot write"),
    ],
)
def test_it_rejects(
    words: tuple[str, ...], message: str, gauntlet: Gauntlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, said = gauntlet(words[0], "--format", "transfer", *words[1:])
    assert status in (2, 3)
    assert message in " ".join(said.split())
