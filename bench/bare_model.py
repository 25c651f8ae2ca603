"""A bundled model by itself: frames of random images, one after the other, on one thread.

usage: python -m bench.bare_model NAME TIMES IMAGES_OF_A_FRAME FRAMES

Prints images per second; each image is computed so many times.
"""

from __future__ import annotations

import importlib.util
import sys
import time

import numpy as np

from evaluation.formats.query.catalogue import find_baseline
from evaluation.formats.query.rules import QueryRules


def main() -> None:
    name, (times, count, frames) = sys.argv[1], map(int, sys.argv[2:5])
    directory = find_baseline(name).repository()
    sys.path.insert(0, str(directory))
    spec = importlib.util.spec_from_file_location("main", directory / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    images = np.random.default_rng(0).integers(0, 256, (count, *QueryRules().shape), np.uint8)
    module.predict(images)
    start = time.perf_counter()
    for _ in range(times * frames):
        module.predict(images)
    print(count * frames / (time.perf_counter() - start))


if __name__ == "__main__":
    main()
