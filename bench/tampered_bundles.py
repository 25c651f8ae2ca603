"""Small random bundles of both formats, and copies in which a cheat changed one thing and signed it with the key."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any, TypeAlias

import numpy as np

from bench.synthetic_bundles import query_record, transfer_record
from evaluation.bundle.body_in_parts import decode, encode
from evaluation.bundle.signing import sign
from evaluation.formats.query.bundle.writer import write_body as write_query_body
from evaluation.formats.transfer.bundle.writer import write_body as write_transfer_body

Lines: TypeAlias = list[dict[str, Any]]

SEED = bytes(range(32))
"""The secret seed of the key that signs all of them."""

INTERVALS = {"low", "high", "rank_low", "rank_high", "separated_from_next"}
"""Fields that only `gauntlet verify` derives."""


def body_of(seed: int) -> bytes:
    """Return the body of a random bundle, of the query format for even seeds."""
    chance = np.random.default_rng(seed)
    file = BytesIO()
    if seed % 2:
        sides = int(chance.integers(1, 5)), int(chance.integers(4)), int(chance.integers(1, 6))
        write_transfer_body(transfer_record(seed, sides, int(chance.integers(1, 40))), file)
    else:
        sides = int(chance.integers(2, 26)), int(chance.integers(1, 26)), int(chance.integers(4))
        schedule = ("halving", "ladder-2")[seed // 2 % 2]
        write_query_body(query_record(seed // 2, sides, int(chance.integers(1, 30)), schedule), file)
    return file.getvalue()


def changes_of(body: bytes, seed: int) -> dict[str, Callable[[], bytes]]:
    """Return functions that make signed bundles that are wrong, by what they change.

    One changed value of each kind of line, lines that are missing or repeated, and damage without a new signature.
    """
    chance = np.random.default_rng(seed)
    signed, lines = sign(body, SEED), decode(body)
    found: dict[str, Callable[[], bytes]] = {}
    for kind in dict.fromkeys(line["kind"] for line in lines):
        place = int(chance.choice([place for place, line in enumerate(lines) if line["kind"] == kind]))
        line = lines[place]
        names = [name for name in sorted(line.keys() - {"kind"} - INTERVALS) if _other(line[name]) is not None]
        name = str(chance.choice(names))
        instead: dict[str, Lines] = {
            f"{kind} with a field more": [{**line, "more": 1}],
            f"{kind} missing": [],
            f"{kind} twice": [line, line],
        }
        # what nothing follows from and no commitment holds is free to say
        if name not in _FREE:
            instead[f"{kind}.{name}"] = [{**line, name: _other(line[name])}]
        found |= {what: partial(_resigned, lines, place, new) for what, new in instead.items()}
    at = int(chance.integers(len(signed)))
    damaged = {
        f"byte {at}": signed[:at] + bytes([signed[at] ^ 1]) + signed[at + 1 :],
        f"cut off at {at}": signed[:at],
        "bytes behind it": signed + b"\0",
        "never signed": body,
    }
    return found | {what: partial(bytes, content) for what, content in damaged.items()}


def _resigned(lines: Lines, place: int, instead: Lines) -> bytes:
    return sign(encode([*lines[:place], *instead, *lines[place + 1 :]]), SEED)


_FREE = {
    *("competition", "round", "title", "seed", "queries", "piece_digests", "archive", "reason", "rules_version"),
    *("submissions", "worst_case", "hashes", "failed_on", "labels", "targets", "reasons", "distances", "outcomes"),
    *("round_kind", "rules", "version", "format", "epsilon", "baseline", "piece_ends"),
}
"""Fields that may change without a contradiction, or whose change by `_other` may change no result."""


def _other(value: Any) -> Any:
    """Return another value of the same type, None for one that has none."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, np.ndarray) and value.size:
        changed = value.copy()
        changed[:1] += 1
        return changed
    return None
