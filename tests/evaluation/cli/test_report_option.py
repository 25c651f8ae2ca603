"""`--report`: one page that shows what result.json holds, escapes what players write, and needs nothing else."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Picture

from evaluation.charts.line_chart import BOTTOM, LEFT, RIGHT, TOP
from evaluation.charts.scales import linear_to
from evaluation.cli import main
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.images import ImageShape
from evaluation.domain.players import Side
from evaluation.domain.samples import Sample
from evaluation.formats.query.catalogue import find_baseline
from evaluation.formats.query.report import html_report as query
from evaluation.formats.query.results import (
    AuditReport,
    Failure,
    MatchResult,
    Outcome,
    PieceResult,
    RefereedSample,
    Trace,
)
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.scoring.match_curves import budgets, query_counts
from evaluation.report.page import Context

BUDGET = 60
OPTIONS = ("--samples", "6", "--budget", str(BUDGET), "--seed", "3")
PLAY = ("play", "--model", "numpy-classifier", "--attack", "boundary", "--track", "untargeted", *OPTIONS)
PLAYERS = ("numpy-classifier", "coarse-classifier", "boundary", "targeted-interpolation")
ADDRESS_ATTRIBUTES = {"src", "href", "srcset", "action", "data", "poster", "background", "formaction", "xlink:href"}


class Page(HTMLParser):
    """A page as a browser reads it: its tags with attributes, its texts by tag, and the elements of each chart."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.charts: dict[str, list[tuple[str, dict[str, str]]]] = {}
        self._chart = self._open = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self._open = tag
        self.tags.append((tag, found))
        if tag == "figure":
            self._chart = found.get("id", "")
        self.charts.setdefault(self._chart, []).append((tag, found))

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open, data))

    def text_of(self, tag: str) -> list[str]:
        return [text for of, text in self.texts if of == tag]

    def drawn(self, chart: str, kind: str) -> list[str]:
        """The paths of a chart of one class."""
        return [found["d"] for tag, found in self.charts[chart] if tag == "path" and kind in found["class"].split()]


def csv_of(found: Page) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(found.text_of("textarea")[0].removeprefix("\n"))))


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a played match with its report."""
    folder = tmp_path_factory.mktemp("match")
    assert main([*PLAY, "--out", str(folder), "--report", str(folder / "report.html")]) == 0
    return folder


@pytest.fixture(scope="module")
def tournament(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tournament with its report."""
    folder = tmp_path_factory.mktemp("tournament")
    coarse = tmp_path_factory.mktemp("models") / PLAYERS[1]
    shutil.copytree(find_baseline(PLAYERS[0]).repository(), coarse)
    program = (coarse / "main.py").read_text()
    (coarse / "main.py").write_text(program.replace(".reshape(n, -1)", ".reshape(n, -1).round(1)"))
    words = ("tournament", PLAYERS[0], str(coarse), *PLAYERS[2:], *OPTIONS, "--workers", "1", "--out", str(folder))
    assert main([*words, "--report", str(folder / "report.html")]) == 0
    return folder


def read(folder: Path) -> tuple[Page, str]:
    html = (folder / "report.html").read_text()
    return Page(html), html


def result_of(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return loaded


def successes(rows: list[dict[str, Any]]) -> np.ndarray:
    """The distance from which on each sample is a success."""
    found = {"clean_wrong": 0.0, "failed": np.inf}
    return np.array([found.get(row["outcome"], row["distance"]) for row in rows])


def changes(reached: np.ndarray, distances: Sequence[float]) -> list[float]:
    """The distances at which a curve changes, with its ends."""
    first, last = distances[0], distances[-1]
    return sorted({first, last, *(float(each) for each in reached if first < each < last)})


def height(y: str) -> float:
    """Read a share of the axis back from a place in the drawing."""
    return (BOTTOM - float(y)) / (BOTTOM - TOP)


def steps(path: str) -> list[tuple[float, float]]:
    """The points of a curve in steps, as shares of both axes."""
    start = re.match(r"M([\d.]+) ([\d.]+)", path)
    assert start
    points = [start.groups(), *re.findall(r"H([\d.]+)V([\d.]+)", path)]
    return [((float(x) - LEFT) / (RIGHT - LEFT), height(y)) for x, y in points]


def test_the_page_has_the_score_the_command_the_charts_and_the_rules_of_the_result(match: Path) -> None:
    found, html = read(match)
    result = result_of(match)
    assert f"{result['median_distance']:.3f}" in html
    assert found.text_of("code") == [f"gauntlet {' '.join(PLAY)} --out {match} --report {match / 'report.html'}"]
    assert {"success", "queries", "budgets", "distribution"} <= set(found.charts)
    facts = dict(zip(found.text_of("dt"), found.text_of("dd"), strict=True))
    assert facts["Seed"] == "3"
    assert facts["Query budget"] == str(result["rules"]["query_budget"])
    assert facts["Name"] == result["rules"]["name"]


def test_the_rows_are_those_of_the_result(match: Path) -> None:
    rows = result_of(match)["samples"]
    for shown, row in zip(csv_of(read(match)[0]), rows, strict=True):
        assert (int(shown["sample"]), shown["outcome"]) == (row["sample"], row["outcome"])
        assert float(shown["distance"]) == row["distance"]
        assert int(shown["queries"]) == row["queries"]
        assert float(shown["seconds"]) == row["seconds"]
        assert shown["reason"] == (row["reason"] or "")


def test_success_against_distance_is_that_of_the_result(match: Path) -> None:
    reached = successes(result_of(match)["samples"])
    distances = budgets(ImageShape(64, 64, 3))
    points = steps(read(match)[0].drawn("success", "chart-line")[0])
    for (x, share), distance in zip(points, changes(reached, distances), strict=True):
        assert distances[0] * (distances[-1] / distances[0]) ** x == pytest.approx(distance, rel=1e-3)
        assert share == pytest.approx((reached <= distance).mean(), abs=2e-4)


def test_the_distribution_is_that_of_the_result(match: Path) -> None:
    found = read(match)[0]
    values = [row["distance"] for row in result_of(match)["samples"]]
    bars = [re.fullmatch(r"([\d.e-]+) to ([\d.e-]+): (\d+)", text) for text in found.text_of("title")]
    counted = [(float(bar[1]), float(bar[2]), int(bar[3])) for bar in bars if bar]
    assert sum(count for _, _, count in counted) == len(values)
    for start, end, count in counted:
        assert sum(start <= value < end for value in values) == count


def test_distance_against_queries_is_that_of_the_trace(match: Path) -> None:
    result, trace = result_of(match), np.load(match / "trace.npz")
    found = read(match)[0]
    best = np.array([[row["worst_case"]] * len(query_counts(BUDGET)) for row in result["samples"]])
    for line, row in zip(best, result["samples"], strict=True):
        own = trace["sample"] == row["sample"]
        adversarial = own & (trace["label"] != row["label"]) & (trace["label"] != -2)
        paid = np.cumsum(trace["charged"] == row["sample"])
        for place, count in enumerate(query_counts(BUDGET)):
            within = trace["distance"][adversarial & (np.maximum(paid, 1) <= count)]
            line[place] = min([line[place], *within.tolist()])
        if row["outcome"] == "clean_wrong":
            line[:] = 0
    drawn = [height(y) for _, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", found.drawn("queries", "chart-line")[0])]
    end = linear_to(float(np.quantile(best, 0.75, axis=0).max())).end
    assert end * np.array(drawn) == pytest.approx(np.median(best, axis=0), abs=1e-3 * end)


def test_the_images_are_those_of_the_result(match: Path) -> None:
    found, arrays = read(match)[0], np.load(match / "perturbed.npz")
    rows = [row for row in result_of(match)["samples"] if row["outcome"] == "adversarial"]
    smallest = sorted(rows, key=lambda row: float(row["distance"]))
    pictures = [
        np.array(Picture.open(io.BytesIO(base64.b64decode(attributes["src"].partition(",")[2]))))
        for tag, attributes in found.tags
        if tag == "img"
    ]
    assert len(pictures) == 7 * len(rows)
    for place, row in enumerate(smallest):
        clean, perturbed, once = pictures[7 * place : 7 * place + 3]
        assert (clean == arrays["clean"][row["sample"]]).all()
        assert (perturbed == arrays["perturbed"][row["sample"]]).all()
        assert (once == np.clip(128 + perturbed.astype(int) - clean, 0, 255)).all()


def test_a_tournament_shows_the_medians_of_its_matches(tournament: Path) -> None:
    found, html = read(tournament)
    rows = csv_of(found)
    results = {folder.name: result_of(folder) for folder in tournament.iterdir() if folder.is_dir()}
    assert len(rows) == len(results) == 4
    for row in rows:
        result = results[f"{row['attack']}--{row['model']}"]
        assert float(row["median_distance"]) == result["median_distance"]
        assert int(row["held"]) == sum(sample["outcome"] == "failed" for sample in result["samples"])
        assert float(row["mean_queries"]) == pytest.approx(
            np.mean([sample["queries"] for sample in result["samples"]]), abs=0.05
        )
    cells = re.findall(r'<td class="h[\dx]">([\d.]+)</td>', html)
    assert sorted(cells) == sorted(f"{result['median_distance']:.2f}" for result in results.values())


def test_boards_of_a_tournament_have_rank_intervals_and_what_they_separate(tournament: Path) -> None:
    _, html = read(tournament)
    ranks = re.findall(r'(\d) <span class="quiet">\((\d) to (\d)\)</span></td><th scope="row">([\w-]+)</th>', html)
    assert {name for *_, name in ranks} == set(PLAYERS)
    assert all(int(low) <= int(rank) <= int(high) <= 2 for rank, low, high, _ in ranks)
    # each other track has one attack, so nothing to compare
    assert len(re.findall(r"<p[^>]*>With 6 samples, [^<]* separated\.</p>", html)) == 1


def test_curves_of_a_tournament_are_those_of_its_matches(tournament: Path) -> None:
    found = read(tournament)[0]
    distances = budgets(ImageShape(64, 64, 3))
    matches = [result_of(tournament / f"boundary--{model}")["samples"] for model in PLAYERS[:2]]
    pairs = np.concatenate([successes(rows) for rows in matches])
    drawn = [share for _, share in steps(found.drawn("success-untargeted", "chart-line")[0])]
    assert drawn == pytest.approx([(pairs <= at).mean() for at in changes(pairs, distances)], abs=2e-4)
    assert {"success-model", "success-targeted", "queries-untargeted", "queries-targeted"} <= set(found.charts)


def test_the_robustness_of_a_tournament_is_the_score_of_its_models(tournament: Path) -> None:
    found, html = read(tournament)
    address = re.search(r'href="data:text/csv;charset=utf-8;base64,([^"]*)" download="robustness.csv"', html)
    assert address
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(address[1]).decode())))
    matches = {model: result_of(tournament / f"boundary--{model}") for model in PLAYERS[:2]}
    assert {row["model"]: float(row["bundled attacks"]) for row in rows} == pytest.approx(
        {model: result["median_distance"] for model, result in matches.items()}, abs=1e-6
    )  # the only untargeted attack is a bundled one
    assert [row["bundled attacks"] for row in rows] == [row["best 5 attacks"] for row in rows]
    assert len(found.drawn("robustness", "chart-dots")) == 2


@pytest.mark.parametrize("kind", ["match", "tournament"])
def test_it_refers_to_nothing_outside(kind: str, request: pytest.FixtureRequest) -> None:
    found, html = read(request.getfixturevalue(kind))
    addresses = [
        value for _, attributes in found.tags for name, value in attributes.items() if name in ADDRESS_ATTRIBUTES
    ]
    assert addresses
    kinds = ("image/png", "image/svg+xml;charset=utf-8", "text/csv;charset=utf-8")
    assert all(address.startswith(tuple(f"data:{kind};base64," for kind in kinds)) for address in addresses)
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in found.tags}
    assert not re.search(r"url\(|@import|@font-face|https?:|//[a-z]", re.sub(r'(src|href)="data:[^"]*"', "", html))
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)


HOSTILE = "</title></textarea></style></pre><script>alert('1')</script><img src=x onerror=\"a()\">&amp;"


def hostile_result(attack: str) -> MatchResult:
    """A match whose every text is written by an adversary."""
    shape = ImageShape(8, 8, 3)
    rows = (
        RefereedSample(0, 0, 1, Outcome.ADVERSARIAL, 1.0, 9.0, 1, 0.1, None, 1),
        RefereedSample(1, 1, 0, Outcome.FAILED, 9.0, 9.0, 0, 0.1, Reason.ATTACK_RAISED),
    )
    empty = np.array([])
    trace = Trace(*(empty.astype(kind) for kind in ("uint16", "uint16", "uint32", "int16", "float32")))
    piece = PieceResult(rows, np.zeros((2, *shape), np.uint8), trace, 0.2)
    failure = Failure(Side.ATTACK, Reason.CRASHED, f"ValueError: {HOSTILE}")
    rules = replace(QueryRules(shape=shape, classes=2), name=HOSTILE)
    return MatchResult(rules, "untargeted", HOSTILE, attack, (piece,), AuditReport(), (failure,))


@pytest.mark.parametrize(
    "write",
    [
        lambda context: query.of_match(hostile_result(HOSTILE), context),
        lambda context: query.of_tournament([hostile_result(HOSTILE), hostile_result("a\udcffb")], context),
    ],
)
def test_it_escapes_what_players_and_data_sets_write(write: Callable[[Context], str]) -> None:
    samples = [Sample(number, np.full((8, 8, 3), 90, np.uint8), number) for number in range(2)]
    html = write(Context(samples, (HOSTILE, HOSTILE), HOSTILE, 0, f"gauntlet play {HOSTILE}"))
    found = Page(html)
    assert "script" not in {tag for tag, _ in found.tags}
    assert all(attributes["src"].startswith("data:") for tag, attributes in found.tags if tag == "img")
    assert HOSTILE in "".join(text for _, text in found.texts)
    assert f"ValueError: {HOSTILE}" in "".join(found.text_of("pre"))


@pytest.mark.parametrize(("pixels", "shown"), [(8, 12), (448, 1)])
def test_it_shows_fewer_images_if_they_are_large(pixels: int, shown: int) -> None:
    rng = np.random.default_rng(0)
    clean, perturbed = rng.integers(0, 256, (2, pixels, pixels, 3), np.uint8)
    rows = tuple(RefereedSample(n, 0, None, Outcome.ADVERSARIAL, 1.0, 9.0, 1, 0.1, None, 1) for n in range(20))
    match = hostile_result("a")
    piece = replace(match.pieces[0], samples=rows, perturbed=np.stack([perturbed] * 20))
    samples = [Sample(number, clean, 0) for number in range(20)]
    found = Page(query.of_match(replace(match, pieces=(piece,)), Context(samples, ("x", "y"), "d", 0, "c")))
    assert sum(tag == "img" for tag, _ in found.tags) == 7 * shown


def test_a_match_without_recorded_queries_has_no_curves_over_them() -> None:
    samples = [Sample(number, np.full((8, 8, 3), 90, np.uint8), number) for number in range(2)]
    found = Page(query.of_match(hostile_result("a"), Context(samples, ("x", "y"), "d", 0, "c")))
    assert {"success", "distribution"} <= set(found.charts)
    assert not {"queries", "budgets"} & set(found.charts)


def test_its_colours_are_those_of_the_site(root: Path) -> None:
    def tokens(file: str) -> dict[str, str]:
        return dict(re.findall(r"(?m)^  (--[\w-]+): (.+);$", (root / file).read_text()))

    own = tokens("evaluation/report/report.css")
    assert own.items() <= tokens("static/css/site.css").items()
    sheets = ("evaluation/report/report.css", "evaluation/charts/static/charts.css")
    used = re.findall(r"var\((--[\w-]+)", "".join((root / file).read_text() for file in sheets))
    assert set(used) - {"--side", "--chart", "--heat"} <= set(own)


@pytest.mark.parametrize("place", ["missing/report.html", "."])
def test_it_names_a_place_that_cannot_be_written_before_anything_is_played(
    gauntlet: Callable[..., tuple[int, str, str]], tmp_path: Path, place: str
) -> None:
    status, _, err = gauntlet(*PLAY, "--out", tmp_path / "out", "--report", tmp_path / place)
    assert status == 2
    assert "name" in err
    assert not (tmp_path / "out").exists()


def test_it_says_how_large_the_page_is(gauntlet: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    status, out, err = gauntlet(*PLAY, "--out", tmp_path / "out", "--report", file, "--json")
    assert status == 0
    assert json.loads(out)["samples"]
    assert f"report written to {file}, {file.stat().st_size / 1000:,.0f} kB" in err
