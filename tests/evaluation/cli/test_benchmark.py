from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.cli.main import main
from evaluation.formats.curves.runner import benchmark_run
from evaluation.formats.curves.runner.results_file import decode

MODEL = """
import torch
from torch import nn
CLASSES = 10
def load():
    torch.manual_seed({seed})
    return nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(192, 10))
"""
KILLED = """
import contextlib, multiprocessing, os, signal, time
from pathlib import Path
import torch
from torch import nn
KILL = Path(__file__).with_name("kill")
class Network(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(192, 10))
        self.calls = 0
    def forward(self, images):
        self.calls += 1
        if self.calls > 2 and multiprocessing.parent_process():  # the first two are checks
            with contextlib.suppress(FileNotFoundError):
                KILL.unlink()
                while not list(KILL.with_name("out").glob("results/*.npz")):
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGKILL)
        return self.layers(images)
load = Network
"""
"""Kills its process once, if that is one of several, when another one has played a run."""

RUNS = ("fgsm", "bim", "transfer-fgsm", "nes")


@pytest.fixture
def models(tmp_path: Path) -> list[str]:
    """Two small linear models."""
    paths = [tmp_path / f"{name}.py" for name in ("first", "second")]
    for seed, path in enumerate(paths):
        path.write_text(MODEL.format(seed=seed))
    return [str(path) for path in paths]


def benchmark(models: list[str], out: Path, *options: str) -> int:
    named = [word for model in models for word in ("--model", model)]
    small = ["--samples", "6", "--batch", "4", "--queries", "110", "--norm", "linf"]
    return main(["benchmark", *named, "--attacks", ",".join(RUNS), *small, "--out", str(out), *options])


def test_it_writes_results_figures_and_a_report(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert benchmark(models, out, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["model"], row["attack"]) for row in rows] == [(m, a) for m in ("first", "second") for a in RUNS]
    assert all(0 <= row["accuracy at it"] <= row["clean accuracy"] for row in rows)
    for row in rows:
        results = decode((out / "results" / f"{row['model']}--{row['attack']}--untargeted--linf.npz").read_bytes())
        assert results.numbers.tolist() == list(range(6))
        assert ("substitute" in results.parameters) == (row["attack"] == "transfer-fgsm")
        assert (results.distances[~results.right] == 0).all()
    page = (out / "index.html").read_text()
    assert "Robustness benchmark" in page
    assert "first" in page
    assert "<dt>Fixed budgets</dt><dd>L\N{INFINITY} 0.03137</dd>" in page
    assert page.count("<dt>Seed</dt>") == 1
    assert {path.suffix for path in (out / "figures").iterdir()} == {".svg", ".csv"}
    assert len((out / "runs.csv").read_text().splitlines()) == 1 + len(rows)


def test_an_interrupted_benchmark_goes_on_where_it_was(
    models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert benchmark(models, whole) == 0
    played = []

    def interrupted(*given: object) -> object:
        played.append(given)
        if len(played) == 6:
            raise KeyboardInterrupt
        return play_batch(*given)  # type: ignore[arg-type]

    play_batch = benchmark_run.play_batch
    monkeypatch.setattr(benchmark_run, "play_batch", interrupted)
    assert benchmark(models, out) == 130
    assert benchmark(models, out) == 0
    assert len(played) == 1 + 2 * len(models) * len(RUNS)  # the interrupted batch twice
    for path in sorted((whole / "results").iterdir()):
        assert (out / "results" / path.name).read_bytes() == path.read_bytes()


def test_scores_that_are_no_numbers_end_a_run_and_leave_what_was_done(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = "return self.layers(images) / (self.calls < 5)"  # by 0 in the second run
    Path(models[0]).write_text(KILLED.replace("return self.layers(images)", answer))
    assert benchmark(models[:1], tmp_path / "out", "--attacks", "fgsm,bim") == 2
    assert "first answered scores that are not finite" in capsys.readouterr().err
    assert [path.stem for path in (tmp_path / "out" / "results").iterdir()] == ["first--fgsm--untargeted--linf"]


def test_processes_one_that_is_killed_and_a_second_call_change_no_result(
    models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--attacks", "fgsm,autoattack", "--samples", "2", "--fixed-budget", "linf=0.9"]
    whole, out = tmp_path / "whole", tmp_path / "out"
    Path(models[0]).write_text(KILLED)
    assert benchmark(models[:1], whole, *options) == 0
    (tmp_path / "kill").touch()
    assert benchmark(models[:1], out, *options, "--processes", "2") == 4
    assert "a process of the benchmark was killed; the same command goes on" in capsys.readouterr().err
    (played,) = (out / "results").glob("*.npz")
    assert played.read_bytes() == (whole / "results" / played.name).read_bytes()
    assert benchmark(models[:1], out, *options) == 0
    monkeypatch.setattr(benchmark_run, "play_batch", None)
    assert benchmark(models[:1], out, *options) == 0
    for path in sorted((whole / "results").iterdir()):
        assert (out / "results" / path.name).read_bytes() == path.read_bytes()
    card = json.loads((out / "model_info" / "digits" / "Linf" / "first.json").read_text())
    assert card["autoattack_acc"] == "0.00"


def test_results_of_another_model_are_not_used_again(
    models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert benchmark(models[:1], tmp_path / "out", "--attacks", "fgsm") == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out" / "results").iterdir()}
    Path(models[0]).write_text(MODEL.format(seed=7))
    assert benchmark(models[:1], tmp_path / "out", "--attacks", "fgsm") == 0
    assert before != {path.name: path.read_bytes() for path in (tmp_path / "out" / "results").iterdir()}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--attacks", "chess"], "there is no attack 'chess'"),
        (["--norm", "l7"], "there is no norm 'l7'"),
        (["--goal", "any"], "there is no goal 'any'"),
        (["--model", "nothing"], "there is no bundled model 'nothing'"),
        (["--fixed-budget", "l7=1"], "there is no norm 'l7'"),
        (["--samples", "1000000"], "request at most"),
        (["--goal", "targeted", "--attacks", "deepfool"], "no attack fits these models, goals and norms"),
        (["--model", "submission:nowhere"], "nowhere is not a directory"),
        (["--model", "robustbench:Standard"], "the package robustbench cannot be imported"),
    ],
)
def test_what_does_not_exist_is_refused(
    models: list[str], tmp_path: Path, options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert benchmark(models, tmp_path / "out", *options) == 2
    assert problem in capsys.readouterr().err.replace("\n", " ")


def test_it_lists_attacks_and_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["benchmark", "--list"]) == 0
    listed = capsys.readouterr().out
    for name in ("fgsm", "hop-skip-jump", "plain-resnet"):
        assert name in listed
