"""The bundled attacks with surrogates: with a gradient that is right, and with surrogates that are missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from evaluation.baselines.shared import label_steps
from evaluation.formats.query.catalogue import SHARED_PARTS, TINY_IMAGENET, find_baseline
from gauntlet import BudgetExhausted, ModelHandle
from gauntlet.handle import Clock

Floats = NDArray[np.float64]
LoadMain = Callable[[str], ModuleType]

SHAPE = (8, 8, 3)
FAR = 200.0
"""Levels from the clean image to the boundary of the linear model."""

ATTACKS = [
    name
    for name, parts in SHARED_PARTS.items()
    if "surrogate_networks.py" in parts and find_baseline(name).data_set != TINY_IMAGENET
]
FIRST_ATTACKS = ["iterative-transfer", "single-step-transfer", "targeted-iterative-transfer"]
"""They have nothing but the lines of their surrogates, and the last one those to images of the target class."""

BY_SIGNS = ["ensemble-transfer", "sqba", "targeted-ensemble-transfer"]
"""Their steps are signs, which do not lead to the nearest point, but to the nearest one along them."""

every_attack = pytest.mark.parametrize("name", ATTACKS)


class Linear(nn.Module):
    """Two logits of images (n, c, h, w) in 0..1, whose boundary is `far` levels from `image` along `normal`."""

    def __init__(self, image: NDArray[np.uint8], normal: Floats, far: float) -> None:
        super().__init__()
        self.normal = torch.from_numpy(normal).permute(2, 0, 1).float()
        self.offset = float(np.vdot(image, normal)) + far

    def forward(self, images: Tensor) -> Tensor:
        above = 0.05 * ((255 * images * self.normal).sum((1, 2, 3)) - self.offset)
        return torch.stack([torch.zeros_like(above), above], 1)


def clean_image(shape: tuple[int, int, int] = SHAPE) -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(110, 146, shape, np.uint8)


def low_normal(shape: tuple[int, int, int] = SHAPE) -> Floats:
    return np.asarray(label_steps.LowFrequencies(shape, 4).draw(np.random.default_rng(2), 1)[0])


def handle_of(
    image: NDArray[np.uint8], answer: Callable[[Floats], int], budget: int, target: int | None = None
) -> ModelHandle:
    left = budget

    def ask(images: list[bytes]) -> tuple[list[int], int]:
        nonlocal left
        left -= len(images)
        return [answer(np.frombuffer(one, np.uint8).reshape(image.shape).astype(np.float64)) for one in images], left

    return ModelHandle(
        ask,
        image=image,
        label=0 if target is None else None,
        target=target,
        classes=10,
        budget=budget,
        clock=Clock(600.0),
    )


def run(
    module: ModuleType, image: NDArray[np.uint8], name: str, answer: Callable[[Floats], int], budget: int, seed: int = 0
) -> float:
    """Run an attack on one sample, as the SDK does; return the distance in levels that it found."""
    target = 1 if name.startswith("targeted-") else None
    handle = handle_of(image, answer, budget, target)
    try:
        module.attack(handle, image.copy(), handle.label, target=target, rng=np.random.default_rng(seed))
    except BudgetExhausted:
        assert handle.queries_left == 0
    return 255 * handle.best_distance


@pytest.fixture
def give_surrogates(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType, list[nn.Module]], None]:
    """Gives a program other networks."""

    def give(module: ModuleType, networks: list[nn.Module]) -> None:
        monkeypatch.setitem(module.surrogates_for.__globals__, "NETWORKS", networks)

    return give


@every_attack
def test_the_gradient_of_a_surrogate_that_is_right_leads_to_the_optimum(
    load_main: LoadMain, give_surrogates: Callable[[ModuleType, list[nn.Module]], None], name: str
) -> None:
    image, normal = clean_image(), low_normal()
    module = load_main(name)
    give_surrogates(module, [Linear(image, normal, FAR / 2)])  # its boundary is elsewhere, its normal is right
    found = run(module, image, name, lambda queried: int(np.vdot(queried - image, normal) >= FAR), 60)
    along_signs = FAR * label_steps.length(np.sign(normal)) / np.abs(normal).sum()
    assert FAR - 1 <= found <= 1.03 * (along_signs if name in BY_SIGNS else FAR)


@pytest.mark.parametrize("shape", [(64, 64, 2), (3, 5, 3)])
@every_attack
def test_surrogates_are_left_out_where_they_cannot_see_an_image(
    loaded_main: LoadMain, name: str, shape: tuple[int, int, int]
) -> None:
    image = clean_image(shape)
    found = run(loaded_main(name), image, name, lambda queried: int(np.abs(queried - image).mean() > 1), 40)
    assert np.isfinite(found) == (not name.startswith("targeted-"))


def test_a_surrogate_that_does_not_move_an_image_is_no_direction(loaded_main: LoadMain) -> None:
    name, image = "iterative-transfer", np.zeros((8, 8, 3), np.uint8)  # a surrogate points below black
    assert np.isfinite(run(loaded_main(name), image, name, lambda queried: int(queried.mean() > 1), 40))


@pytest.mark.parametrize("name", [*ATTACKS, *FIRST_ATTACKS])
def test_without_weights_it_says_so_and_ends(
    name: str, load_main: LoadMain, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = find_baseline(name)
    baseline.assemble(tmp_path)
    for weights in tmp_path.glob("surrogate*.safetensors"):
        weights.unlink()
    monkeypatch.setattr(type(baseline), "repository", lambda self: tmp_path)
    module, image = load_main(name), clean_image((64, 64, 3))
    assert "no weights of" in capsys.readouterr().out
    found = run(module, image, name, lambda queried: int(np.abs(queried - image).mean() > 1), 40)
    has_other_lines = name in ATTACKS or name.startswith("targeted-")
    assert np.isfinite(found) == has_other_lines


def test_a_surrogate_that_is_wrong_on_the_image_is_made_right(
    load_main: LoadMain, give_surrogates: Callable[[ModuleType, list[nn.Module]], None]
) -> None:
    image = clean_image()
    module = load_main("adaptive-ensemble")
    give_surrogates(module, [Linear(image, low_normal(), -50.0)])
    (surrogate,) = module.surrogates_for(image, 0, None)
    logits = surrogate(torch.from_numpy(image / 255).float().permute(2, 0, 1)[None])[0]
    assert logits.argmax() == 0
    assert module.surrogates_for(image, 2, None) == []  # it does not know the label


def test_the_belief_follows_a_surrogate_that_is_right_and_leaves_another_alone(
    load_main: LoadMain,
    give_surrogates: Callable[[ModuleType, list[nn.Module]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the geometric mean of four draws: a single one may be half as near as another, whatever the surrogates are."""
    image, normal = clean_image((32, 32, 3)), low_normal((32, 32, 3))
    other = label_steps.unit(np.random.default_rng(7).standard_normal(normal.shape))
    name, found = "guided-boundary-filter", {}
    module = load_main(name)
    monkeypatch.setattr(module, "perturbations", lambda image, label, target: [])
    cases: dict[str, list[nn.Module]] = {
        "none": [],
        "right": [Linear(image, normal, FAR)],
        "wrong": [Linear(image, other, FAR)],
    }
    for case, surrogates in cases.items():
        give_surrogates(module, surrogates)
        distances = [
            run(module, image, name, lambda queried: int(np.vdot(queried - image, normal) >= FAR), 150, seed)
            for seed in range(4)
        ]
        found[case] = float(np.exp(np.mean(np.log(distances))))
    assert found["right"] < 1.1 * FAR < found["none"]
    assert found["wrong"] == pytest.approx(found["none"], rel=0.2)


def test_the_first_image_of_a_surrogate_fills_the_ball_of_its_size(load_main: LoadMain) -> None:
    module, image, normal = load_main("biased-boundary"), clean_image(), low_normal()
    asked: list[float] = []

    def answer(queried: Floats) -> int:
        asked.append(label_steps.length(queried - image) / 255)
        return 0

    model = handle_of(image, answer, 20)
    assert module.transferred(model, image, [Linear(image, normal, FAR).eval()], 0, None) is None
    assert len(asked) == len(module.START_SIZES)
    assert asked[0] == pytest.approx(module.START_SIZES[0], rel=0.01)


def test_a_biased_step_ends_at_its_share_of_the_distance(load_main: LoadMain) -> None:
    module = load_main("biased-boundary")
    rng = np.random.default_rng(5)
    image, point, drawn = rng.uniform(0, 255, (3, *SHAPE))
    distance, source = label_steps.length(point - image), label_steps.unit(image - point)
    moved = module.step(image, point, module.across(drawn, source), 0.3, 0.1)
    assert label_steps.length(moved - image) == pytest.approx(0.9 * distance)
    turned = np.arccos(np.vdot(label_steps.unit(moved - image), -source))
    assert np.tan(turned) == pytest.approx(0.3)


def test_perlin_noise_is_zero_at_the_corners_of_its_lattice(load_main: LoadMain) -> None:
    noise = load_main("biased-boundary").perlin_noise((20, 20, 3), np.random.default_rng(0))
    assert np.abs(noise[::4, ::4]).max() < 1e-12
    assert (np.abs(noise[2::4, 2::4]) > 0.1).mean() > 0.3


def test_late_candidates_take_changes_back(load_main: LoadMain) -> None:
    module = load_main("biased-boundary")
    rng = np.random.default_rng(5)
    image, point = rng.uniform(0, 255, (2, 20, 20, 3))
    jittered = module.candidate(image, point, module.JITTER_AT, None, rng)
    changed = (jittered != point).any(2)
    assert changed[0, 1:5].all()
    assert not changed[1:5, 1:5].any()
    single = module.candidate(image, point, module.PIXELS_FROM, None, rng)
    ((place,),) = (np.nonzero((single != point).ravel())[0][np.newaxis],)
    assert np.abs(point - image).ravel()[place] == np.abs(point - image).max()


def test_derivatives_along_a_right_and_a_wrong_prior_turn_the_ray_to_the_normal(load_main: LoadMain) -> None:
    module, image, normal = load_main("prior-opt"), clean_image(), low_normal()
    clean, (wrong, off) = image.astype(np.float64), np.random.default_rng(7).standard_normal((2, *SHAPE))
    ray = label_steps.unit(normal + 1.5 * label_steps.unit(off))
    point = clean + FAR / np.vdot(ray, normal) * ray
    model = handle_of(image, lambda queried: int(np.vdot(queried - image, normal) >= FAR), 1000)
    directions = module.across(ray, [normal, wrong])
    products = np.tensordot(directions, [ray, *directions], ((1, 2, 3), (1, 2, 3)))
    np.testing.assert_allclose(products, [[0, 1, 0], [0, 0, 1]], atol=1e-9)
    slope = module.gradient(model, clean, point, directions)
    # on a plane, the distance along a ray is FAR over the ray's component along the normal
    expected = [-np.vdot(one, normal) / np.vdot(ray, normal) for one in directions]
    np.testing.assert_allclose([np.vdot(slope, one) for one in directions], expected, atol=0.1)
    moved, _ = module.descend(model, clean, point, slope, module.FIRST_STRIDE)
    assert label_steps.length(moved - clean) < 1.03 * FAR < label_steps.length(point - clean)


def test_a_surrogate_is_asked_at_its_own_boundary_on_the_ray(load_main: LoadMain) -> None:
    module, image, normal = load_main("prior-opt"), clean_image(), low_normal()
    surrogate, asked = Linear(image, normal, FAR / 3), []
    surrogate.register_forward_hook(lambda network, images, logits: asked.append(images[0]))
    found = module.prior(surrogate, image.astype(np.float64), image + FAR * normal, 0, None)
    (levels,) = 255 * asked[-1].detach().permute(0, 2, 3, 1).numpy()
    assert FAR / 3 <= np.vdot(levels - image, normal) <= 1.2 * FAR / 3
    assert np.vdot(label_steps.unit(found), normal) > 0.999


def test_a_direction_of_two_classes_is_their_signs_mixed(load_main: LoadMain) -> None:
    module, image, normal = load_main("sqba"), clean_image(), low_normal()
    mixed = module.dual_direction(Linear(image, normal, FAR), image.astype(np.float64), 0)
    np.testing.assert_allclose(mixed, np.sign(normal))


def test_surrogates_that_mislead_are_left_for_estimated_normals(
    load_main: LoadMain, give_surrogates: Callable[[ModuleType, list[nn.Module]], None]
) -> None:
    module, image, normal = load_main("sqba"), clean_image(), low_normal()
    give_surrogates(module, [Linear(image, label_steps.unit(np.random.default_rng(7).standard_normal(SHAPE)), FAR)])

    def found(budget: int) -> float:
        return run(module, image, "sqba", lambda queried: int(np.vdot(queried - image, normal) >= FAR / 4), budget)

    assert found(400) < 0.7 * found(40)


def test_the_momentum_is_nesterovs_without_and_slower_with_unmeasured_parts(load_main: LoadMain) -> None:
    module = load_main("pars-opt")
    along, besides = np.array([3.0, 0.0]), np.array([0.0, 4.0])
    assert module.known_share(np.zeros(2), besides, 16.0) == 0
    assert module.known_share(along, besides, 1.0) == pytest.approx(9 / 25)
    assert module.known_share(along, besides, 4.0) == pytest.approx(9 / 73)
    assert module.known_share(along, np.zeros(2), 4.0) == module.LARGEST_SHARE
    assert module.unmeasured_ratio(768) == pytest.approx(768 / (2 / np.pi * (module.PROBES - 1) + 1))
    # with the whole gradient, a step is as long as the inverse of the curvature
    assert module.step_size(1.0, 16.0) == 1
    assert module.step_size(0.0, 16.0) == pytest.approx(1 / 16**2)
    assert module.step_size(0.5, 16.0) == pytest.approx((0.5 + 0.5 / 16) / (0.5 + 0.5 * 16))
    for product in (0.01, 0.3, 1.0):
        weight = module.momentum_weight(product)
        assert weight**2 == pytest.approx((1 - weight) * product)


def test_the_radius_is_that_at_which_the_model_errs_for_each_kind(load_main: LoadMain) -> None:
    module, image, normal = load_main("ensemble-transfer"), clean_image(), low_normal()
    opposite = clean_image() // 2 + 64
    surrogates = [Linear(image, normal, FAR / 2), Linear(opposite, normal, FAR / 2)]
    ensemble = module.Ensemble(surrogates)
    images = torch.from_numpy(image / 255).float().permute(2, 0, 1)[None]
    torch.testing.assert_close(ensemble(images), (surrogates[0](images) + surrogates[1](images)) / 2)
    kinds = list(module.kinds(ensemble, image, 0, None))
    assert len(kinds) == 3
    for images_of in kinds:
        assert np.abs(images_of(8.0) - image).max() == pytest.approx(8.0, rel=1e-3)
        model = handle_of(image, lambda queried: int(np.vdot(queried - image, normal) >= FAR), 100)
        module.search_radius(model, image.astype(np.float64), images_of)
        assert model.best is not None
        radius = FAR / np.abs(normal).sum()
        assert np.abs(model.best.astype(np.float64) - image).max() == pytest.approx(radius, abs=1.5)
    assert len(list(module.kinds(ensemble, image, None, 1))) == 2


def test_no_query_is_spent_on_a_kind_that_is_no_nearer_than_the_best_known(load_main: LoadMain) -> None:
    module, image, normal = load_main("ensemble-transfer"), clean_image(), low_normal()
    model = handle_of(image, lambda queried: int(np.vdot(queried - image, normal) >= FAR), 100)
    model.best_distance = 0.01
    for images_of in module.kinds(module.Ensemble([Linear(image, normal, FAR)]), image, 0, None):
        module.search_radius(model, image.astype(np.float64), images_of)
    assert model.queries_left == 100
