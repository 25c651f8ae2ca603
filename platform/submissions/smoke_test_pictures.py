"""Pictures of smoke tests, which are played on public samples: kept for the team for a while.

They show what an attack does, so only those who see the log of a build may see them.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from competitions.sample_pictures import CLEAN, PERTURBED, picture_of
from core import clock, object_store, platform_error_report
from core.errors import HostFault, Refusal
from evaluation.domain.images import Image
from evaluation.domain.smoke_test_pictures import PicturedSmokeSample
from submissions.models import Build

log = logging.getLogger(__name__)

KEPT_FOR = timedelta(days=30)
"""How long the pictures of a build are kept, at most `MAX_BYTES` of `evaluation.domain.smoke_test_pictures` of each."""

_AREA = "smoke-pictures"
_STEP = "step-"


@dataclass(frozen=True, kw_only=True)
class KeptStep:
    """A query that came closer than all before. `picture` is the name of its picture, empty without one."""

    query: int
    distance: float
    label: int
    picture: str


@dataclass(frozen=True, kw_only=True)
class KeptSample:
    """A sample of a smoke test, as `PicturedSmokeSample` without its images.

    `largest_change` is that of a pixel value.
    """

    label: int
    target: int | None
    clean_label: int | None
    found: int | None
    distance: float | None
    queries: int | None
    perturbed: bool
    largest_change: int | None
    path: Sequence[KeptStep]


def keep(build: Build, samples: Sequence[PicturedSmokeSample]) -> None:
    """Keep the pictures of a build's smoke test. A build does not fail for want of them."""
    if not samples:
        return
    try:
        digest = object_store.put(_pack(build, samples), _AREA)
    except HostFault as fault:
        platform_error_report.report(log, fault, "%s has no pictures", build)
        return
    build.held().update(pictures={"object": digest, "samples": [_row(sample) for sample in samples]})


def kept(build: Build) -> Sequence[KeptSample]:
    """Return the samples of a build whose pictures are kept; none for a build that is older than that."""
    if not build.pictures or build.finished_at is None or build.finished_at < clock.database_now() - KEPT_FOR:
        return ()
    return [
        KeptSample(
            **{name: value for name, value in row.items() if name != "path"},
            path=[
                KeptStep(query=query, distance=distance, label=label, picture=f"{_STEP}{number}" if pictured else "")
                for number, (query, distance, label, pictured) in enumerate(row["path"])
            ],
        )
        for row in build.pictures["samples"]
    ]


def picture(build: Build, sample: int, name: str) -> bytes:
    """Return a picture of a sample as PNG. Raise `Refusal` for an unknown one, and `HostFault` if it is missing."""
    if sample >= len(kept(build)):
        raise Refusal(f"{build} has no pictures of sample {sample}", fix="choose another one")
    with np.load(io.BytesIO(object_store.get(build.pictures["object"], _AREA)), allow_pickle=False) as images:
        if name.startswith(_STEP):
            return picture_of(PERTURBED, images[f"{sample}-{CLEAN}"], lambda: _image(images, sample, name))
        return picture_of(name, images[f"{sample}-{CLEAN}"], lambda: _image(images, sample, PERTURBED))


def remove_old() -> int:
    """Remove pictures that are no longer shown; return how many builds had them."""
    # a day more than they are shown for: a build ends after its pictures were stored
    old = object_store.stored_before(_AREA, clock.now() - KEPT_FOR - timedelta(days=1))
    for name in old:
        object_store.remove(name, _AREA)
    return len(old)


def _row(sample: PicturedSmokeSample) -> dict[str, Any]:
    change = None
    if sample.perturbed is not None:
        change = int(np.abs(sample.perturbed.astype(np.int16) - sample.clean).max())
    return {
        "label": sample.label,
        "target": sample.target,
        "clean_label": sample.clean_label,
        "found": sample.found,
        "distance": sample.distance,
        "queries": sample.queries,
        "perturbed": sample.perturbed is not None,
        "largest_change": change,
        "path": [(step.query, step.distance, step.label, step.image is not None) for step in sample.path],
    }


def _pack(build: Build, samples: Sequence[PicturedSmokeSample]) -> bytes:
    file = io.BytesIO()
    images: dict[str, Any] = dict(_images(samples))
    # with its key, so that equal pictures of two builds are not one object, which goes with the older build
    np.savez_compressed(file, build=np.int64(build.pk), **images)
    return file.getvalue()


def _images(samples: Sequence[PicturedSmokeSample]) -> Iterator[tuple[str, Image]]:
    for number, sample in enumerate(samples):
        yield f"{number}-{CLEAN}", sample.clean
        if sample.perturbed is not None:
            yield f"{number}-{PERTURBED}", sample.perturbed
        for place, step in enumerate(sample.path):
            if step.image is not None:
                yield f"{number}-{_STEP}{place}", step.image


def _image(images: Mapping[str, Image], sample: int, name: str) -> Image:
    try:
        return images[f"{sample}-{name}"]
    except KeyError:
        raise Refusal(f"sample {sample} has no picture {name}", fix="choose another one") from None
