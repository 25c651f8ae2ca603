"""`--competition`: rules and development samples of a competition's file, in place of the defaults of the command."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from evaluation.cli.competition_option import of_answer, read_competition
from evaluation.cli.query_submission_check import _named_opponent
from evaluation.datasets.digits import digits
from evaluation.domain.errors import Refusal
from evaluation.formats.curves.rules import CurvesRules
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.transfer.rules import TransferRules

Gauntlet = Callable[..., tuple[int, str, str]]

SAMPLES = {"source": "digits", "split": "dev", "count": 4, "target_seed": 0}

FILE = """
[competition]
title = "Small"
[rules]
shape = [64, 64, 3]
classes = 10
query_budget = 12
least_accuracy = 0.25
[[sample_sets]]
purpose = "development"
source = "digits"
split = "dev"
skip = 3
count = 5
target_seed = 9
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(FILE)
    return file


def test_a_file_gives_rules_samples_and_the_required_accuracy(small: Path) -> None:
    found = read_competition(str(small))
    assert found.rules_as(QueryRules) == QueryRules(query_budget=12, classes=10)
    assert found.least_accuracy == 0.25
    _, split, samples = found.read_samples()
    assert split == "dev"
    assert [sample.number for sample in samples] == [0, 1, 2, 3, 4], "numbered as the site numbers them"
    first = digits().samples("dev", 4)[3]
    assert (samples[0].image == first.image).all()


@pytest.mark.parametrize("file", sorted(Path("competitions").glob("*.toml")), ids=lambda file: file.stem)
def test_the_files_of_the_project_can_be_read(file: Path) -> None:
    found = read_competition(str(file))
    rules: dict[str, Callable[[], QueryRules | TransferRules | CurvesRules]] = {
        "query": lambda: found.rules_as(QueryRules),
        "transfer": lambda: found.rules_as(TransferRules),
        "curves": lambda: found.rules_as(CurvesRules),
    }
    assert rules[found.format]().format == found.format


def test_rules_of_another_format_are_refused(small: Path) -> None:
    with pytest.raises(Refusal, match="'Small' is a competition of the query format"):
        read_competition(str(small)).rules_as(TransferRules)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("missing.toml", "cannot read missing.toml"),
        ("https://arena.example/teams/owls", "is no address of a competition"),
        ("file:///etc/competitions/x", "is no address of a competition"),
    ],
)
def test_what_names_no_competition_is_refused(text: str, problem: str) -> None:
    with pytest.raises(Refusal, match=problem):
        read_competition(text)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("count = 5", 'count = "five"'),
        ("skip = 3", "skip = []"),
        ("[competition]", 'competition = "small"\n[x]'),
        ("[rules]", "[x]"),
        ("classes = 10", "format = []"),
    ],
)
def test_values_of_another_type_are_refused(small: Path, line: str, wrong: str) -> None:
    text = FILE.replace(line, wrong)
    small.write_text(f"rules = 5\n{text}" if line == "[rules]" else text)
    with pytest.raises(Refusal, match="is not the file of a competition"):
        read_competition(str(small))


def test_a_misspelt_rule_is_not_ignored(small: Path) -> None:
    small.write_text(FILE.replace("query_budget", "query_budgt"))
    with pytest.raises(Refusal, match="unknown rules: query_budgt"):
        read_competition(str(small)).rules_as(QueryRules)


def test_samples_in_an_order_that_only_the_site_knows_come_from_the_site(small: Path) -> None:
    small.write_text(FILE + 'order = "shuffled"\n')
    with pytest.raises(Refusal, match="an order that only the site knows"):
        read_competition(str(small)).read_samples()


@pytest.mark.parametrize("order", ["published", "secret"])
def test_the_archive_of_a_competition_s_samples_can_be_one_that_was_downloaded(
    small: Path, tmp_path: Path, order: str
) -> None:
    file, images = tmp_path / "small-development.zip", digits().samples("dev", 2)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("classes.json", json.dumps(digits().class_names))
        archive.writestr("samples.csv", f"number,label,target\n0,{images[0].label},7\n1,{images[1].label},8\n")
        for sample in images:
            with archive.open(f"images/{sample.number:05d}.png", "w") as picture:
                Image.fromarray(sample.image).save(picture, "png")
    small.write_text(FILE + f'order = "{order}"\n')
    of_site = replace(read_competition(str(small)), archive="https://arena.example/development.zip")
    _, _, samples = of_site.read_samples(f"released:{file}")
    assert [(sample.number, sample.target) for sample in samples] == [(0, 7), (1, 8)]
    assert (samples[1].image == images[1].image).all()


def test_a_data_set_whose_order_only_the_site_knows_is_replaced_by_its_archive(small: Path) -> None:
    small.write_text(FILE + 'order = "secret"\n')
    of_site = replace(read_competition(str(small)), archive="https://arena.example/development.zip")
    with pytest.raises(Refusal, match=r"download https://arena\.example/development\.zip and add --dataset released:"):
        of_site.read_samples("digits")


def test_options_that_the_competition_decides_are_refused(gauntlet: Gauntlet, small: Path) -> None:
    status, _, err = gauntlet("check", "numpy-classifier", "--competition", small, "--budget", 7)
    assert status == 2
    assert "the competition decides --budget" in err


@pytest.mark.parametrize(
    ("smoke_test", "problem"),
    [
        (None, "smoke_test: null in place of an object"),
        ({}, "smoke_test: rules is missing"),
        ({"rules": "those of 2018"}, "smoke_test: rules: a text in place of an object"),
        ({"rules": {}, "least_accuracy": 1, "opponent": "", "samples": {"source": 4}}, "samples: source: a whole"),
        ({"rules": {}, "least_accuracy": 1, "opponent": "", "samples": SAMPLES}, "version is missing"),
    ],
)
def test_an_answer_of_another_version_is_named(smoke_test: Any, problem: str) -> None:
    with pytest.raises(Refusal, match=f"does not say how its smoke test is played .*{problem}"):
        of_answer({"title": "Old", "smoke_test": smoke_test}, "")


def test_a_site_names_only_bundled_opponents(tmp_path: Path) -> None:
    """Not a directory of the participant's computer, which would be built and run."""
    values = {"rules": {"version": 1}, "least_accuracy": 0.5, "opponent": str(tmp_path), "samples": SAMPLES}
    told = of_answer({"title": "T", "smoke_test": values}, "https://arena.example/development.zip")
    with pytest.raises(Refusal, match="no bundled submission"):
        _named_opponent(told)
    assert _named_opponent(replace(told, archive="")) == tmp_path


def test_a_new_submission_names_its_competition(gauntlet: Gauntlet, tmp_path: Path) -> None:
    address = "https://arena.example/competitions/digits"
    assert gauntlet("new", "model", tmp_path / "new", "--competition", address)[0] == 0
    assert f'competition = "{address}"' in (tmp_path / "new" / "submission.toml").read_text()
    status, _, err = gauntlet("new", "model", tmp_path / "other", "--competition", "digits")
    assert status == 2
    assert "is no address of a competition" in err
    assert not (tmp_path / "other").exists()


CURVES = (
    FILE.replace("query_budget = 12", 'format = "curves"')
    + """
[[rules.attacks]]
name = "n-attack"
goal = "untargeted"
norm = "linf"
queries = 10
"""
)


def test_a_model_is_checked_by_the_rules_of_a_competition_of_models(gauntlet: Gauntlet, small: Path) -> None:
    small.write_text(CURVES)
    status, out, err = gauntlet("check", "numpy-classifier", "--competition", small, "--samples", 4)
    assert status == 0, err
    assert "4 of 4 clean images labelled right, at least 25% required" in out
    assert "scores" in out, "its attack needs them"
    status, _, err = gauntlet("check", "gaussian-noise", "--competition", small)
    assert status == 2
    assert "Small takes models only" in err


def test_no_match_is_played_by_the_rules_of_a_competition_of_models(gauntlet: Gauntlet, small: Path) -> None:
    small.write_text(CURVES)
    players = ("--model", "numpy-classifier", "--attack", "gaussian-noise", "--track", "untargeted")
    status, _, err = gauntlet("play", *players, "--competition", small, "--out", small.parent / "out")
    assert status == 2
    assert "whose rules this command does not play" in err
    assert "`gauntlet check`" in err
