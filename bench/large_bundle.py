"""The program `python -m bench.large_bundle NAME FILE`: writes the bundle of a round of the size of a paper's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from bench.sizes import sized
from bench.synthetic_bundles import query_record, transfer_record
from bench.tampered_bundles import SEED
from evaluation.bundle.signing import sign_file
from evaluation.formats.query.bundle.writer import write_body as write_query_body
from evaluation.formats.transfer.bundle.writer import write_body as write_transfer_body
from evaluation.formats.transfer.rules import TransferRules

FIELDS = {
    "2017": "NIPS 2017: 91 + 65 attacks, 107 defences, 5,000 images",
    "2018": "Adversarial Vision Challenge 2018: 352 models, 96 + 63 attacks, 500 images, halving",
}


def writer(name: str) -> Callable[[IO[bytes]], None]:
    """Return the function that writes the body of the round."""
    if name == "2017":
        sides = sized((91, 65, 107), smallest=(3, 2, 3))
        record = transfer_record(2017, sides, sized(5000, smallest=20), TransferRules())
        return partial(write_transfer_body, record)
    sides = sized((352, 96, 63), smallest=(12, 12, 3))
    return partial(write_query_body, query_record(2018, sides, sized(500, smallest=20), "halving"))


def main() -> None:
    """Write the bundle that the arguments name."""
    name, path = sys.argv[1:]
    with TemporaryFile() as body, Path(path).open("wb") as file:
        writer(name)(body)
        body.seek(0)
        sign_file(body, file, SEED)


if __name__ == "__main__":
    main()
