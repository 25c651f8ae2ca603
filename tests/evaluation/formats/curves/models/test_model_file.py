from __future__ import annotations

from pathlib import Path

import pytest
import torch

from evaluation.domain.errors import Refusal
from evaluation.formats.curves.models.classifier import NetworkClassifier
from evaluation.formats.curves.models.model_file import read_model

LINEAR = """
import torch
from torch import nn
def load():
    network = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))
    nn.init.ones_(network[1].weight)
    return network
"""


def read(folder: Path, text: str) -> NetworkClassifier:
    path = folder / "model.py"
    path.write_text(text)
    return read_model(path, 3, torch.device("cpu"))


def test_a_network_gets_images_in_the_range_that_its_file_declares(tmp_path: Path) -> None:
    images = torch.rand(2, 3, 2, 2)
    plain = read(tmp_path, LINEAR)
    scaled = read(tmp_path, f"{LINEAR}\nINPUT_RANGE = (0, 255)")
    weights = plain.logits(images) - plain.logits(torch.zeros_like(images))
    assert torch.allclose(scaled.logits(images) - scaled.logits(torch.zeros_like(images)), 255 * weights, rtol=1e-4)


def test_it_is_named_after_its_folder_and_declares_what_it_is(tmp_path: Path) -> None:
    model = read(tmp_path, f"{LINEAR}\nRANDOM, PASSES = True, 4")
    assert (model.name, model.classes, model.random, model.passes) == (tmp_path.name, 3, True, 4)


def test_its_digest_changes_with_code_and_weights(tmp_path: Path) -> None:
    torch.manual_seed(0)
    first = read(tmp_path, LINEAR).digest
    assert read(tmp_path, LINEAR.replace("ones_", "zeros_")).digest != first
    assert read(tmp_path, f"{LINEAR}\n# changed").digest != first


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def load(", "SyntaxError"),
        ("import absent_module", "absent_module"),
        ("", r"no function load\(\)"),
        ("def load(): raise OSError('no weights')", "no weights"),
        ("def load(): return 3", "returned int"),
        (f"{LINEAR}\nINPUT_RANGE = (1, 0)", "INPUT_RANGE"),
        (f"{LINEAR}\nINPUT_RANGE = 'all'", "INPUT_RANGE"),
        (f"{LINEAR}\nPASSES = 0", "PASSES"),
        (f"{LINEAR}\nCLASSES = 3.0", "CLASSES"),
    ],
)
def test_a_file_that_is_not_as_described_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(Refusal, match=problem):
        read(tmp_path, text)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="there is no file"):
        read_model(tmp_path / "model.py", 3, torch.device("cpu"))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("images.flatten(1)[:, :3] / 0", "not finite"),
        ("images.flatten(1)[:, :4]", r"\(2, 4\)"),
        ("images.flatten(1)[:1, :3]", r"\(1, 3\)"),
        ("images.flatten(1)[:, 0].long()", "int64"),
        ("images.flatten(1)[:, 0]", r"float32 \(2,\), not"),
        ("3.0", "float, not"),
    ],
)
def test_answers_that_are_no_scores_are_refused(tmp_path: Path, answer: str, problem: str) -> None:
    text = f"from torch import nn\nclass N(nn.Module):\n  def forward(self, images): return {answer}\nload = N"
    model = read(tmp_path, text)
    with pytest.raises(Refusal, match=problem):
        model.labels(torch.zeros(2, 3, 2, 2))
