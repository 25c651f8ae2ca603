"""The bundled attacks that use up any budget, against linear models whose nearest adversarial is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.baselines.shared import label_steps
from evaluation.formats.query.catalogue import SHARED_PARTS, TINY_IMAGENET, find_baseline
from gauntlet import BudgetExhausted, ModelHandle
from gauntlet.handle import Clock

Floats = NDArray[np.float64]
LoadMain = Callable[[str], ModuleType]
Answer = Callable[[Floats], int]

ATTACKS = sorted(
    name
    for name, parts in SHARED_PARTS.items()
    if "label_steps.py" in parts
    and not name.endswith("ensemble-transfer")  # it ends when its three kinds of images are searched
    and find_baseline(name).data_set != TINY_IMAGENET
)
WITHOUT_SURROGATES = [name for name in ATTACKS if "network.py" not in SHARED_PARTS[name]]
SHAPE = (8, 8, 3)
FAR = 200.0
"""Levels from the clean image to the boundary of the linear model."""

every_attack = pytest.mark.parametrize("name", ATTACKS)


def clean_image(shape: tuple[int, int, int] = SHAPE) -> NDArray[np.uint8]:
    """An image of middle levels, so that nothing is clipped near it."""
    return np.random.default_rng(1).integers(110, 146, shape, np.uint8)


def low_normal(shape: tuple[int, int, int] = SHAPE) -> Floats:
    """A unit normal of low frequencies."""
    frequencies = label_steps.LowFrequencies(shape, 4)
    return np.asarray(frequencies.draw(np.random.default_rng(2), 1)[0])


def linear(image: NDArray[np.uint8], normal: Floats, far: float = FAR) -> Answer:
    """The labels of a linear model: 1 at `far` levels or more from `image` along `normal`, else 0."""
    return lambda queried: int(np.vdot(queried - image, normal) >= far)


def handle_of(answer: Answer, image: NDArray[np.uint8], *, target: int | None = None, budget: int = 300) -> ModelHandle:
    left = budget

    def ask(images: list[bytes]) -> tuple[list[int], int]:
        nonlocal left
        left -= len(images)
        return [answer(np.frombuffer(one, np.uint8).reshape(image.shape).astype(np.float64)) for one in images], left

    label = None if target is not None else 0
    return ModelHandle(ask, image=image, label=label, target=target, classes=10, budget=budget, clock=Clock(600.0))


def run(loaded_main: LoadMain, name: str, handle: ModelHandle, image: NDArray[np.uint8]) -> None:
    """Run the attack to its end, as the SDK does."""
    try:
        answer = loaded_main(name).attack(
            handle, image.copy(), handle.label, target=handle.target, rng=np.random.default_rng(0)
        )
        assert answer is None
    except BudgetExhausted:
        assert handle.queries_left == 0


def target_of(name: str) -> int | None:
    return 1 if name.startswith("targeted-") else None


@pytest.fixture
def start_at_a_far_image(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType, Floats], None]:
    """Gives a program one far point, in place of noise and of the images in `starts.npz`."""

    def give(module: ModuleType, point: Floats) -> None:
        names = ("walking", "starting_point", "bisect", "is_adversarial")
        steps = next(getattr(module, name) for name in names if hasattr(module, name))
        monkeypatch.setitem(steps.__globals__, "far_points", lambda image, target, rng: iter([point]))

    return give


@every_attack
def test_it_nears_the_optimum_of_a_linear_model(
    loaded_main: LoadMain, name: str, start_at_a_far_image: Callable[[ModuleType, Floats], None]
) -> None:
    image, normal = clean_image(), low_normal()
    away = np.random.default_rng(3).standard_normal(SHAPE)
    far = image + 2 * FAR * normal + 6 * FAR * label_steps.unit(away - np.vdot(away, normal) * normal)
    handle = handle_of(linear(image, normal), image, target=target_of(name))
    module = loaded_main(name)
    start_at_a_far_image(module, far)
    with pytest.raises(BudgetExhausted):
        module.attack(handle, image.copy(), handle.label, target=handle.target, rng=np.random.default_rng(0))
    first = label_steps.length(far - image) / 2
    assert FAR <= 255 * handle.best_distance + 1 < 0.98 * first


@pytest.mark.parametrize("name", [name for name in WITHOUT_SURROGATES if name.startswith("targeted-")])
def test_start_images_with_another_label_are_no_starts(loaded_main: LoadMain, name: str) -> None:
    image = clean_image((64, 64, 3))
    handle = handle_of(lambda queried: 2, image, target=1)
    run(loaded_main, name, handle, image)
    assert handle.best is None
    assert handle.queries_left == 295


@every_attack
def test_it_goes_on_from_the_first_start_that_is_adversarial(loaded_main: LoadMain, name: str) -> None:
    """Only what is near to the last start image is adversarial, or to the last far point, a moved copy of the image."""
    image = clean_image((64, 64, 3))
    target = target_of(name)
    if target is None:
        known = [np.roll(image, 32, 1).astype(np.float64)]
    else:
        with np.load(find_baseline(name).repository() / "starts.npz") as starts:
            known = list(starts["images"][starts["labels"] == target].astype(np.float64))
    *others, last = known
    near = min(float(np.abs(last - other).mean()) for other in (image.astype(np.float64), *others)) / 2

    def answer(queried: Floats) -> int:
        return int(np.abs(queried - last).mean() < near)

    handle = handle_of(answer, image, target=target, budget=100)
    run(loaded_main, name, handle, image)
    assert handle.best is not None
    assert handle.best_distance < label_steps.length(last - image) / 255


@pytest.mark.parametrize("name", ["adaptive-ensemble", "boundary", "evolutionary"])
def test_it_uses_up_a_larger_budget_than_that_of_2018(loaded_main: LoadMain, name: str) -> None:
    image = clean_image()
    handle = handle_of(linear(image, low_normal(), FAR / 4), image, budget=1500)
    run(loaded_main, name, handle, image)
    assert handle.queries_left < 100  # images that were asked before are free


def test_a_search_ends_before_the_boundary() -> None:
    image, normal = clean_image(), low_normal()
    point = image + 500 * normal
    found = label_steps.bisect(handle_of(linear(image, normal), image), image.astype(np.float64), point)
    assert FAR - 1 <= np.vdot(found - image, normal) <= FAR + 500 * label_steps.TOLERANCE


def test_low_frequencies_keep_lengths_and_are_low() -> None:
    frequencies = label_steps.LowFrequencies(SHAPE, 4)
    drawn = frequencies.draw(np.random.default_rng(0), 3)
    assert drawn.shape == (3, *SHAPE)
    np.testing.assert_allclose(np.linalg.norm(drawn.reshape(3, -1), axis=1), 1)
    transform = label_steps.cosines(8, 8)
    np.testing.assert_allclose(transform @ transform.T, np.eye(8), atol=1e-12)
    assert np.abs((transform @ drawn[0, :, :, 0])[4:]).max() < 1e-12


def test_signs_of_probes_give_the_normal() -> None:
    """In d dimensions, n signs give the normal with a cosine of about sqrt(2 n / (2 n + pi d))."""
    image, normal = clean_image(), low_normal()
    point = image + FAR * normal
    handle = handle_of(linear(image, normal), image, budget=400)
    frequencies = label_steps.LowFrequencies(SHAPE, 6)
    found = label_steps.normal_at(handle, point, 100.0, 400, frequencies, np.random.default_rng(0))
    expected = math.sqrt(800 / (800 + math.pi * 108))
    assert np.vdot(found, normal) == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("name", ["geoda", "cgba"])
def test_a_step_with_the_true_normal_reaches_the_optimum(loaded_main: LoadMain, name: str) -> None:
    image, normal = clean_image(), low_normal()
    away = np.random.default_rng(3).standard_normal(SHAPE)
    point = image + FAR * normal + FAR * label_steps.unit(away - np.vdot(away, normal) * normal)
    handle = handle_of(linear(image, normal), image)
    found = loaded_main(name).step(handle, image.astype(np.float64), point, normal, 1)
    assert FAR - 1 <= label_steps.length(found - image) <= 1.02 * FAR


def test_the_semicircle_has_right_angles() -> None:
    """Thales: seen from any point of it, image and boundary point are at a right angle (CGBA, equation 7)."""
    rng = np.random.default_rng(5)
    image, point, normal = rng.uniform(0, 255, (3, *SHAPE))
    curve = label_steps.semicircle(image, point, normal)
    np.testing.assert_allclose(curve(0), point)
    np.testing.assert_allclose(curve(1), image)
    for share in (0.2, 0.7):
        assert np.vdot(curve(share) - image, curve(share) - point) == pytest.approx(0, abs=1e-6)


def test_the_tangent_touches_the_ellipsoid(loaded_main: LoadMain) -> None:
    """The tangent point is on the ellipse, and the line to the image at a right angle to its gradient there."""
    image, normal, long, short = np.zeros(SHAPE), low_normal(), 110.0, 100.0
    point = np.random.default_rng(3).standard_normal(SHAPE) * 10
    touched = loaded_main("tangent").tangent_point(image, point, normal, long, short)
    from_point = touched - point
    height = np.vdot(from_point, normal)
    along = from_point - height * normal
    assert (label_steps.length(along) / short) ** 2 + (height / long) ** 2 == pytest.approx(1)
    gradient = along / short**2 + height * normal / long**2
    assert np.vdot(gradient, touched - image) == pytest.approx(0, abs=1e-9)
    assert height > 0


def test_surfree_turns_on_the_circle_to_the_largest_angle(loaded_main: LoadMain) -> None:
    """In the plane of the normal, the farthest adversarial angle is at the boundary's second point on the circle."""
    surfree = loaded_main("surfree")
    image, normal = clean_image(), low_normal()
    away = np.random.default_rng(3).standard_normal(SHAPE)
    across = label_steps.unit(away - np.vdot(away, normal) * normal)
    point = image + FAR * normal + FAR * across
    along, distance = label_steps.unit(point - image), label_steps.length(point - image)
    turned_to = label_steps.unit(normal - np.vdot(normal, along) * along)
    handle = handle_of(linear(image, normal, FAR - 2), image)
    angle = surfree.best_angle(handle, lambda degrees: surfree.turned(image, along, turned_to, distance, degrees), 30.0)
    assert angle == pytest.approx(45, abs=2)


@pytest.mark.parametrize(("channels", "number"), [(1, 0), (1, 1), (1, 2), (3, 0), (3, 1)])
def test_the_boundary_filter_goes_on_in_the_subspace_that_the_model_looks_at(
    loaded_main: LoadMain, channels: int, number: int
) -> None:
    module = loaded_main("boundary-filter")
    image = np.broadcast_to(clean_image((64, 64, channels)), (64, 64, 3))
    subspaces, starts = module.subspaces_of(image)
    looked_at = subspaces[number]
    normal = label_steps.unit(looked_at.image_of(np.random.default_rng(2).standard_normal(looked_at.count)))
    both_ways: Answer = lambda queried: int(abs(np.vdot(queried - clean, normal)) >= 50)  # noqa: E731
    clean = image.astype(np.float64)
    handle = handle_of(both_ways, image)
    point, found = module.first_point(handle, clean, None, subspaces, starts, np.random.default_rng(0))
    assert np.isclose(abs(np.vdot(point - clean, normal)), 50, atol=10)
    assert found is looked_at


def test_the_belief_is_the_posterior_in_one_dimension(loaded_main: LoadMain) -> None:
    """Mean and variance after one answer are those of the integral."""
    module = loaded_main("boundary-filter")
    belief = module.Belief(1)
    belief.learn(np.array([0.8], np.float32), adversarial=True)
    normal, offset = np.meshgrid(np.linspace(-9, 9, 601), np.linspace(-9, 9, 601))
    likelihood = np.vectorize(lambda z: 0.5 * math.erfc(-z / math.sqrt(2)))((0.8 * normal + offset) / module.NOISE)
    weight = likelihood * np.exp(-(normal**2) / 2 - (offset / module.OFFSET) ** 2 / 2)
    weight /= weight.sum()
    mean = (weight * normal).sum()
    assert belief.mean[0] == pytest.approx(mean, rel=1e-3)
    covariance = np.diag(belief.prior) - belief.known.T @ belief.known
    assert covariance[0, 0] == pytest.approx((weight * normal**2).sum() - mean**2, rel=1e-3)
    assert covariance[0, 1] == pytest.approx((weight * normal * offset).sum() - mean * belief.mean[1], rel=1e-3)


def test_what_the_belief_learns_of_a_tangent_is_the_condition_of_a_gaussian(loaded_main: LoadMain) -> None:
    module, rng = loaded_main("boundary-filter"), np.random.default_rng(4)
    belief = module.Belief(3)
    for adversarial in (True, False, True):
        belief.learn(rng.standard_normal(3), adversarial=adversarial)
    mean, covariance = belief.mean.copy(), np.diag(belief.prior) - belief.known.T @ belief.known
    tangent = np.append(rng.standard_normal(3), 0)
    belief.learn_tangent(tangent[:-1])
    gain = covariance @ tangent / (tangent @ covariance @ tangent + module.TANGENT**2)
    np.testing.assert_allclose(belief.mean, mean - gain * (mean @ tangent), rtol=1e-4, atol=1e-6)
    known = covariance - np.outer(gain, tangent @ covariance)
    np.testing.assert_allclose(np.diag(belief.prior) - belief.known.T @ belief.known, known, rtol=1e-4, atol=1e-6)


def test_the_boundary_filter_does_not_go_on_along_its_last_step(
    loaded_main: LoadMain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search along a semicircle has used up its plane, so that the next one lies at a right angle to it."""
    module, image, normal = loaded_main("boundary-filter"), clean_image((32, 32, 3)), low_normal((32, 32, 3))
    points: list[Floats] = []

    def noted(clean: Floats, point: Floats, normal: Floats) -> Callable[[float], Floats]:
        points.append(point - image)
        return label_steps.semicircle(clean, point, normal)

    monkeypatch.setattr(module, "semicircle", noted)
    handle = handle_of(linear(image, normal), image, budget=700)
    run(loaded_main, "boundary-filter", handle, image)
    steps = [label_steps.unit(after - before) for before, after in pairwise(points)]
    cosines = [float(np.vdot(*two)) for two in pairwise(steps)]
    assert len(cosines) > 10
    assert abs(np.median(cosines)) < 0.2


def test_a_search_along_a_curve_asks_little_about_a_short_step(loaded_main: LoadMain) -> None:
    search, image, normal = loaded_main("boundary-filter").search, clean_image(), low_normal()
    for share, most in ((0.05, 5), (0.9, 10)):
        handle = handle_of(linear(image, normal, FAR * (1 - share)), image)
        found = search(handle, lambda at: image + (1 - at) * FAR * normal)
        assert np.vdot(found - image, normal) / FAR == pytest.approx(1 - share, abs=0.02)
        assert 300 - handle.queries_left <= most


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_belief_learns_from_the_image_that_was_asked_about(loaded_main: LoadMain, number: int) -> None:
    """Rounding changes a small probe, and products with the images of weights are of what is left of it."""
    module = loaded_main("boundary-filter")
    image = clean_image((64, 64, 3))
    subspace = module.subspaces_of(image)[0][number]
    weights = np.random.default_rng(2).standard_normal((2, subspace.count))
    first, second = subspace.image_of(weights)
    assert subspace.products_with(first) @ weights[1] == pytest.approx(np.vdot(first, second))
    learned: list[Floats] = []

    class Recorder:
        def learn(self, products: Floats, adversarial: bool) -> None:
            learned.append(products)

    move, point = label_steps.unit(first), image + 0.3
    module.ask(handle_of(lambda queried: 0, image), point, 60.0, move[np.newaxis], Recorder(), subspace)
    np.testing.assert_allclose(learned[0], subspace.products_with((np.rint(point + 60 * move) - point) / 60))


def test_an_evolutionary_step_ends_at_its_share_of_the_distance(loaded_main: LoadMain) -> None:
    rng = np.random.default_rng(5)
    image, point, drawn = rng.uniform(0, 255, (3, *SHAPE))
    moved = loaded_main("evolutionary").step(image, point, drawn, 0.25)
    assert label_steps.length(moved - image) == pytest.approx(0.75 * label_steps.length(point - image))


def test_an_evolutionary_step_changes_the_middle_smoothly(loaded_main: LoadMain) -> None:
    stretch = loaded_main("evolutionary").Stretch((64, 64, 3))
    assert stretch.grid == (10, 10, 3)
    stretched = stretch(np.ones(stretch.grid))
    np.testing.assert_allclose(stretched[12:52, 12:52], 1)
    assert stretched.sum() == pytest.approx(40 * 40 * 3)
    ramp = stretch(np.broadcast_to(np.arange(10.0)[:, np.newaxis, np.newaxis], stretch.grid))[14:50, 30, 0]
    np.testing.assert_allclose(np.diff(ramp), 1 / 4)
