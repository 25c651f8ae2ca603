"""Both verifiers on random bundles and on changed copies of them: `gauntlet verify` and `tools/verify.mjs`."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.interleaved import say
from bench.programs import NotAvailableError
from bench.report import Section, table
from bench.sizes import sized
from bench.tampered_bundles import SEED, body_of, changes_of
from evaluation.bundle.key_succession import public_key
from evaluation.bundle.signing import sign
from evaluation.cli.bundle_verifier import verifier_of
from evaluation.domain.errors import Refusal
from evaluation.formats.registry import format_of_bundle

BUNDLES = sized(1000, smallest=2)
CHANGED = 2
"""Changed copies of each bundle."""

AT_ONCE = 50


def measure() -> Section:
    """Compare the verdicts; raise `AssertionError` for the first bundle on which they differ."""
    counts = {"as written": [0, 0], "changed": [0, 0]}
    seconds = {"gauntlet verify": 0.0, "verify.mjs": 0.0}
    for start in range(0, BUNDLES, AT_ONCE):
        bundles: dict[str, bytes] = {}
        for seed in range(start, min(start + AT_ONCE, BUNDLES)):
            body = body_of(seed)
            bundles[f"{seed}"] = sign(body, SEED)
            changes = changes_of(body, seed)
            for name in np.random.default_rng(seed).choice(list(changes), CHANGED, replace=False):
                bundles[f"{seed} {name}"] = changes[name]()
        began = time.process_time()
        ours = {name: said_by_python(content) for name, content in bundles.items()}
        seconds["gauntlet verify"] += time.process_time() - began
        began = time.perf_counter()
        theirs = said_by_node(bundles)
        seconds["verify.mjs"] += time.perf_counter() - began
        for name, valid in ours.items():
            assert valid == theirs[name], f"{name}: gauntlet verify says {valid}, verify.mjs {theirs[name]}"
            count = counts["changed" if " " in name else "as written"]
            count[0] += 1
            count[1] += valid
        say(f"two verifiers: {start + AT_ONCE} of {BUNDLES}")
    rows = [[what, f"{all_:,}", f"{valid:,}", f"{all_ - valid:,}", "0"] for what, (all_, valid) in counts.items()]
    said = ", ".join(f"{name} {spent:.0f} s" for name, spent in seconds.items())
    return Section(
        "Two verifiers on random bundles",
        [
            f"Half of them are of each format. Time for all of them: {said}.",
            "",
            *table(("bundles", "number", "valid", "invalid", "verdicts that differ"), rows),
        ],
    )


def said_by_python(bundle: bytes) -> bool:
    """Return True if `gauntlet verify` accepts the bundle with the right key."""
    file = BytesIO(bundle)
    try:
        return verifier_of(format_of_bundle(file))(file, public_key(SEED)).ok
    except Refusal:  # nothing to verify
        return False


def said_by_node(bundles: Mapping[str, bytes]) -> dict[str, bool]:
    """Return for each bundle whether `tools/verify.mjs` accepts it. Raise `NotAvailableError` without Node."""
    program = Path(__file__).parent.parent / "tools/verify.mjs"
    with TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        for number, content in enumerate(bundles.values()):
            (Path(folder) / f"{number}").write_bytes(content)
        words = ["node", str(program), "--key", public_key(SEED), *map(str, range(len(bundles)))]
        try:
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise NotAvailableError("Node is not installed") from None
    assert not done.stderr, done.stderr
    said = [line.partition(": ")[2].startswith("valid") for line in done.stdout.splitlines()]
    return dict(zip(bundles, said, strict=True))
