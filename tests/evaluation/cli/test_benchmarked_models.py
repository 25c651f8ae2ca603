"""Models of `gauntlet benchmark` that are no files: submissions in their sandbox, and those of RobustBench."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from evaluation.cli.main import main
from evaluation.formats.curves.runner.results_file import decode
from evaluation.formats.registry import find_bundled

RANDOM_LABELS = (
    "import gauntlet, numpy\ngauntlet.serve_model(lambda images: numpy.random.randint(0, 10, len(images)))\n"
)
CRASHES = "import gauntlet\ngauntlet.serve_model(lambda images: 1 / 0)\n"
FORGETS = """
count = 0

def tires(images):
    global count
    count += len(images)
    return scores(images) * (1.0 if count < 200 else 2.0)

serve_model(predict, scores=tires, gradients=gradients)
"""
"""Its scores depend on how much it was asked before."""

ROBUSTBENCH = """
import torch

def load_model(model_name, model_dir="./models", dataset="cifar10", threat_model="Linf", custom_preprocessing=None):
    if (model_name, dataset, threat_model) != ("Standard", "digits", "L2"):
        raise KeyError(model_name)
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.AvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(192, 10))
"""
"""A stand-in with the signature of `robustbench.utils.load_model` 1.1."""


def benchmark(model: str, out: Path, *options: str) -> int:
    small = ["--samples", "4", "--queries", "20", "--norm", "linf", "--attacks", "bim,square,nes", "--out", str(out)]
    return main(["benchmark", "--model", model, *small, *options])


def submission(folder: Path, code: str) -> str:
    (folder / "main.py").write_text(code)
    (folder / "submission.toml").write_text(
        '[submission]\ntrack = "model"\nrun = "python main.py"\ntitle = "Model"\nlicence = "MIT"\n'
    )
    return f"submission:{folder}"


def bundled_code(folder: Path) -> str:
    """Return the code of the bundled model without its last lines; its weights are copied."""
    source = find_bundled("numpy-classifier").repository()
    (folder / "weights.npz").write_bytes((source / "weights.npz").read_bytes())
    return (source / "main.py").read_text().partition("if __name__")[0]


def test_a_submission_is_attacked_with_what_it_offers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark("submission:numpy-classifier", tmp_path, "--json") == 0
    said = capsys.readouterr()
    assert [row["attack"] for row in json.loads(said.out)] == ["bim", "square"]
    assert "left out: nes estimates gradients from changes that rounding removes" in said.err.replace("\n", " ")
    found = decode((tmp_path / "results" / "numpy-classifier--bim--untargeted--linf.npz").read_bytes())
    assert found.model_digest == find_bundled("numpy-classifier").digest
    assert found.gradients[found.right].all()
    steps = found.distances * 255
    assert (steps.round() / 255).tolist() == found.distances.tolist()


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (RANDOM_LABELS, "is random, and does not say so"),
        (CRASHES, "failed: its process ended with an error"),
    ],
)
def test_a_submission_that_cannot_be_benchmarked_is_refused(
    tmp_path: Path, code: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert benchmark(submission(tmp_path, code), tmp_path / "out", "--attacks", "evolutionary", "--norm", "l2") == 2
    assert problem in capsys.readouterr().err.replace("\n", " ")


def test_a_submission_whose_scores_depend_on_earlier_questions_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    model = submission(folder, bundled_code(folder) + FORGETS)
    for _ in range(2):  # what the first call kept is not used again
        assert benchmark(model, tmp_path / "out") == 2
        assert "got another scores from a fresh instance" in capsys.readouterr().err.replace("\n", " ")


def test_a_model_of_robustbench_is_loaded_by_its_name_and_threat_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "robustbench"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "utils.py").write_text(ROBUSTBENCH)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert benchmark("robustbench:L2/Standard", tmp_path / "out", "--json", "--attacks", "fgsm") == 0
        assert [row["model"] for row in json.loads(capsys.readouterr().out)] == ["Standard"]
        assert benchmark("robustbench:Unknown", tmp_path / "out") == 2
        assert "robustbench cannot load Unknown for digits and Linf" in capsys.readouterr().err.replace("\n", " ")
    finally:
        for name in ("robustbench", "robustbench.utils"):
            sys.modules.pop(name, None)


def test_check_shows_whether_the_scores_that_a_model_offers_are_those_of_its_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = find_bundled("numpy-classifier").repository()
    assert main(["check", str(good), "--samples", "4"]) == 0
    assert "0 of 4 images with other gradients when asked again" in capsys.readouterr().out.replace("\n", " ")
    wrong = bundled_code(tmp_path) + "\nserve_model(predict, scores=lambda images: -scores(images))\n"
    assert main(["check", submission(tmp_path, wrong).partition(":")[2], "--samples", "4"]) == 3
    assert "4 of 4 images with scores below another than the label's" in capsys.readouterr().out.replace("\n", " ")


def test_check_starts_a_model_no_further_time_that_offers_labels_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(
        sys.modules, "evaluation.formats.curves.models.sandboxed_classifier", None
    )  # an import of it fails
    labels = bundled_code(tmp_path) + "\nserve_model(predict)\n"
    assert main(["check", submission(tmp_path, labels).partition(":")[2], "--samples", "4"]) == 0
    assert "scores" not in capsys.readouterr().out
