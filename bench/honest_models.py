"""`python -m bench.honest_models`: how often the audit changes labels of honest models, and how often it blames one.

Each kind of model plays pieces of ten samples against an attack that keeps near the decision boundary, through the
referee. A fresh process with the same model is then asked again about every image that the attack asked about: in the
same frames in another order, in other frames of the same sizes, in frames of 64 and alone. The closest adversarials
of each sample, which verdicts ask about, are counted apart. The true label of a sample is the model's own, so that
each sample is attacked.

The last columns are the chance that a match blames the model, by exact binomial probabilities for the sizes of the
audit, if each rate of changes is the upper end of its 95 % interval: the sum of the chances of the four limits.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import binom, binomtest

from bench.audits import stay_at_the_boundary
from bench.report import table
from evaluation.baselines.shared import lite_network, network
from evaluation.datasets.load import load_dataset
from evaluation.domain.images import Images
from evaluation.domain.players import TrackName
from evaluation.domain.samples import Sample
from evaluation.formats.query.catalogue import find_baseline
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.referee.model_audit import ENOUGH_FRESH, MOST_ALONE, RATE
from evaluation.formats.query.results import AuditReport
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from gauntlet import serve_attack, serve_model

Predict = Callable[[Any], NDArray[np.int64]]
Result = TypeVar("Result")

PIECES = (1, 5, 20)
"""Lengths of the matches for which the chance of blame is computed."""

CLOSEST = 10
"""Number of the closest adversarials of each sample that are counted as candidates of a verdict."""

MOST_IMAGES = 64
"""Images of the largest frame of the protocol."""


COLUMNS = ("model", "attack", "images", "same frames", "other frames", "frames of 64", "alone", "verdicts denied")


@dataclass(frozen=True)
class Kind:
    """An honest model: its networks, and how it computes when it plays and when it is audited."""

    name: str
    networks: tuple[str, ...]
    bfloat16: bool = False
    flips: bool = False
    threads: int = 1
    audit_threads: int = 1
    audited_with_avx2: bool = False


AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
"""Environment in which torch computes as on a processor without AVX-512: that of another host."""

DIGITS = (
    Kind("plain-resnet", ("plain-resnet",)),
    Kind("plain-resnet, 2 threads", ("plain-resnet",), threads=2, audit_threads=2),
    Kind("plain-resnet, 1 thread, audited with 2", ("plain-resnet",), audit_threads=2),
    Kind("plain-resnet, with flipped copies", ("plain-resnet",), flips=True),
    Kind("ensemble of three", ("plain-resnet", "frozen-noise", "adversarial-logit-pairing")),
    Kind("plain-resnet, audited with AVX2", ("plain-resnet",), audited_with_avx2=True),
    Kind("plain-resnet, bfloat16", ("plain-resnet",), bfloat16=True),
    Kind("plain-resnet, bfloat16, audited with AVX2", ("plain-resnet",), bfloat16=True, audited_with_avx2=True),
)
TINY_IMAGENET = (
    Kind("compact-plain", ("compact-plain",)),
    Kind("compact-plain, audited with AVX2", ("compact-plain",), audited_with_avx2=True),
    Kind("compact-plain, bfloat16", ("compact-plain",), bfloat16=True),
    Kind("compact-plain, bfloat16, audited with AVX2", ("compact-plain",), bfloat16=True, audited_with_avx2=True),
    Kind("efficientnet-lite0", ("efficientnet-lite0",)),
    Kind("efficientnet-lite0, bfloat16", ("efficientnet-lite0",), bfloat16=True),
)


@dataclass(frozen=True, eq=False)
class Played:
    """What an attack asked about in a piece: frames of images (n, h, w, 3), and columns with a value for each image."""

    frames: list[Images]
    labels: NDArray[np.int64]
    candidate: NDArray[np.bool_]
    truth: NDArray[np.int64]


@dataclass(frozen=True)
class Changes:
    """Numbers of images asked again, and of those with another label; denied candidates are adversarial no more."""

    images: int = 0
    equal: int = 0
    company: int = 0
    full: int = 0
    alone: int = 0
    candidates: int = 0
    denied: int = 0

    def __add__(self, other: Changes) -> Changes:
        return Changes(**{name: value + getattr(other, name) for name, value in vars(self).items()})


def predictor(kind: Kind, threads: int) -> Predict:
    """Return the function that labels images (n, h, w, 3); it sets the threads of this process."""
    torch.set_num_threads(threads)
    return partial(_predict, kind, [_load(name) for name in kind.networks])


def _load(name: str) -> torch.nn.Module:
    weights = find_baseline(name).source / "weights.safetensors"
    if name == "efficientnet-lite0":
        return lite_network.load_network(weights)
    return network.load_network(weights, noise_level=0.5 if name == "frozen-noise" else 0.0)


def _predict(kind: Kind, networks: Sequence[torch.nn.Module], images: Any) -> NDArray[np.int64]:
    pixels = network.as_input(images)
    views = [pixels, pixels.flip(3)] if kind.flips else [pixels]
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=kind.bfloat16):
        logits = [one(view) for one in networks for view in views]
        total = logits[0] if len(logits) == 1 else torch.stack([each.softmax(1) for each in logits]).sum(0)
        labels: NDArray[np.int64] = total.argmax(1).numpy()
    return labels


def played(kind: Kind, attack: str, pieces: Sequence[Sequence[Sample]], queries: int) -> list[Played]:
    """Play pieces in this process; return what the attack asked about in each."""
    predict = predictor(kind, kind.threads)
    return [_played(predict, ATTACKS[attack](), samples, queries) for samples in pieces]


def _played(predict: Predict, attack: Callable[..., Any], samples: Sequence[Sample], queries: int) -> Played:
    own = predict(np.stack([sample.image for sample in samples]))
    samples = [replace(sample, label=int(label)) for sample, label in zip(samples, own, strict=True)]
    asked: list[Images] = []
    answered: list[NDArray[np.int64]] = []

    def watched(images: Any) -> NDArray[np.int64]:
        labels = predict(images)
        asked.append(np.array(images))
        answered.append(labels)
        return labels

    match = RefereedMatch(
        # no time limit: a busy host must not end a piece
        rules=QueryRules(query_budget=queries, model_seconds_per_image=10.0, attack_seconds_per_sample=600.0),
        track=TrackName.UNTARGETED,
        model=InProcessPlayer(lambda connected: serve_model(watched, connected=connected)),
        attack=InProcessPlayer(lambda connected: serve_attack(attack, connected=connected)),
        seed=samples[0].number,
        fresh_audit=False,
    )
    try:
        trace = match.play_piece(list(samples)).trace
    finally:
        match.close()
    # the first frame has the clean images, those of the verdict follow the attack's
    ends = np.cumsum([len(frame) for frame in asked[1:]])
    frames = asked[1 : 2 + int(np.searchsorted(ends, len(trace)))]
    labels = np.concatenate(answered[1:])[: len(trace)]
    truth = np.array([{sample.number: sample.label for sample in samples}[int(number)] for number in trace.sample])
    candidate = np.zeros(len(trace), bool)
    for sample in samples:
        adversarial = np.flatnonzero((trace.sample == sample.number) & (labels != truth))
        candidate[adversarial[np.argsort(trace.distance[adversarial], kind="stable")[:CLOSEST]]] = True
    return Played(frames, labels, candidate, truth)


def asked_again(kind: Kind, pieces: Sequence[Played], seed: int) -> Changes:
    """Ask a model in this process again about the images of all pieces; return the counts."""
    predict = predictor(kind, kind.audit_threads)
    return sum(
        (_asked_again(predict, piece, random.Random(f"{seed} {n}")) for n, piece in enumerate(pieces)), Changes()
    )


def _asked_again(predict: Predict, piece: Played, rng: random.Random) -> Changes:
    images, count = np.concatenate(piece.frames), len(piece.labels)
    sizes = [len(frame) for frame in piece.frames]
    starts = np.cumsum([0, *sizes])
    whole = [list(range(start, start + size)) for start, size in zip(starts, sizes, strict=False)]
    equal = _labels(predict, images, rng.sample(whole, len(whole)))
    company = _labels(predict, images, _cut(rng, count, sizes))
    full = _labels(predict, images, _cut(rng, count, [MOST_IMAGES]))
    alone = _labels(predict, images, _cut(rng, count, [1]))
    return Changes(
        images=count,
        **{
            name: int((labels != piece.labels).sum())
            for name, labels in (("equal", equal), ("company", company), ("full", full), ("alone", alone))
        },
        candidates=int(piece.candidate.sum()),
        denied=int((company == piece.truth)[piece.candidate].sum()),
    )


def _cut(rng: random.Random, count: int, sizes: Sequence[int]) -> list[list[int]]:
    """Return the indices below `count` in random order, in frames of sizes drawn from `sizes`."""
    order = rng.sample(range(count), count)
    frames = []
    while order:
        size = rng.choice(sizes)
        frames.append(order[:size])
        order = order[size:]
    return frames


def _labels(predict: Predict, images: Images, frames: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    labels = np.full(len(images), -1)
    for frame in frames:
        labels[list(frame)] = predict(images[list(frame)])
    return labels


def blamed(changes: Changes, pieces: int, rules: QueryRules) -> float:
    """Return a bound of the chance that a match of so many pieces blames a model with these rates of changes."""
    replays = pieces * int(RATE * rules.piece_samples * rules.query_budget)
    verdicts = pieces * rules.piece_samples
    chances = (
        _above(
            changes.equal, changes.images, pieces * ENOUGH_FRESH, lambda n, of: AuditReport(fresh=of, fresh_changed=n)
        ),
        _above(changes.company, changes.images, replays, lambda n, of: AuditReport(replayed=of, changed=n)),
        _above(
            changes.alone, changes.images, pieces * MOST_ALONE, lambda n, of: AuditReport(alone=of, alone_changed=n)
        ),
        _above(changes.denied, changes.candidates, verdicts, lambda n, of: AuditReport(judged=of, denied=n)),
    )
    return min(1.0, sum(chances))


def _above(changed: int, images: int, asked: int, report: Callable[[int, int], AuditReport]) -> float:
    """Return the chance that more of `asked` images change than are tolerated, at the upper end of the rate."""
    most = max(n for n in range(asked + 1) if report(n, asked).passed)
    rate = binomtest(changed, images).proportion_ci(method="exact").high
    return float(binom.sf(most, asked, rate))


def _boundary() -> Callable[..., Any]:
    """Return the attack of the bundled submission `boundary`."""
    spec = importlib.util.spec_from_file_location("bundled_boundary", find_baseline("boundary").source / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    attack: Callable[..., Any] = module.attack
    return attack


ATTACKS: dict[str, Callable[[], Callable[..., Any]]] = {
    "boundary": _boundary,
    "at the boundary": lambda: stay_at_the_boundary,
}
"""The bundled boundary attack; and one that crosses the boundary with every query (see `bench.audits`)."""


def in_fresh_process(
    function: Callable[..., Result], *arguments: Any, variables: Mapping[str, str] | None = None
) -> Result:
    """Return `function(*arguments)`, computed by a new process with these variables in its environment."""
    fork = multiprocessing.get_context("fork")  # of a process that has imported torch and computed nothing
    with ProcessPoolExecutor(1, fork, initializer=_set_variables, initargs=(variables or {},)) as process:
        return process.submit(function, *arguments).result()


def _set_variables(variables: Mapping[str, str]) -> None:
    os.environ.update(variables)  # torch and its libraries read them when they compute for the first time


def measure(kind: Kind, attack: str, samples: Sequence[Sample], queries: int, pieces: int) -> Changes:
    """Play pieces and ask again about what was asked in them."""
    size = QueryRules().piece_samples
    chosen = [samples[start : start + size] for start in range(0, pieces * size, size)]
    found = in_fresh_process(played, kind, attack, chosen, queries)
    return in_fresh_process(asked_again, kind, found, 0, variables=AVX2 if kind.audited_with_avx2 else {})


def row(kind: Kind, attack: str, changes: Changes) -> list[str]:
    """Return the cells of a kind of model."""
    counts = (changes.equal, changes.company, changes.full, changes.alone)
    return [
        kind.name,
        attack,
        f"{changes.images:,}",
        *(_rate(count, changes.images) for count in counts),
        f"{changes.denied} of {changes.candidates}",
        *(_chance(blamed(changes, pieces, QueryRules())) for pieces in PIECES),
    ]


def _rate(count: int, of: int) -> str:
    high = binomtest(count, of).proportion_ci(method="exact").high
    return f"{count} (< {high:.2%})"


def _chance(chance: float) -> str:
    return f"{chance:.1e}" if 1e-12 < chance < 0.0995 else f"{chance:.2f}"


def main() -> None:
    """Print a row for each kind of model and attack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny-imagenet", metavar="DIR", help="measure models of Tiny ImageNet, with these images")
    parser.add_argument("--queries", type=int, default=200, help="queries per sample")
    parser.add_argument("--pieces", type=int, default=2, help="pieces of ten samples of each kind and attack")
    parser.add_argument("--attack", choices=ATTACKS, action="append", help="which attacks (default both)")
    names = [kind.name for kind in (*DIGITS, *TINY_IMAGENET)]
    parser.add_argument("--model", choices=names, action="append", help="which models of these images (default all)")
    parser.add_argument("--smallest", action="store_true", help="run all code at the smallest size; no figure is valid")
    given = parser.parse_args()
    data = "digits" if given.tiny_imagenet is None else f"tiny-imagenet:{given.tiny_imagenet}"
    kinds: Sequence[Kind] = DIGITS if given.tiny_imagenet is None else TINY_IMAGENET
    kinds = [kind for kind in kinds if given.model is None or kind.name in given.model]
    queries, pieces, attacks = given.queries, given.pieces, given.attack or list(ATTACKS)
    if given.smallest:
        queries, pieces, attacks, kinds = 20, 1, attacks[:1], kinds[-3:-2]
    samples = load_dataset(data).first("validation", pieces * QueryRules().piece_samples)
    lengths = [f"blamed, {pieces} piece{'s' if pieces > 1 else ''}" for pieces in PIECES]
    print("\n".join(table((*COLUMNS, *lengths), [])))
    for kind in kinds:
        for attack in attacks:
            cells = row(kind, attack, measure(kind, attack, samples, queries, pieces))
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
