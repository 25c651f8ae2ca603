"""`python -m bench.played_liars`: how often played matches pass a model that lies on a share of all queries.

The liar (`bench/players/liar_model`) is played and audited as any submission, in the process sandbox, in matches of
25 pieces of eight samples. A match of fewer pieces is a group of pieces of these: each piece has its own frames and
counts, and the lies of two pieces are independent. The share that passes the audit of equal frames is compared with
the exact probability of `bench.audit_power` for the numbers of images that were asked. "Whole audit" counts the
replays, verdicts and images asked alone, too: the liar lies there as well, as it cannot tell them from other queries.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from scipy.stats import binomtest

from bench.audit_power import SHARES, passes
from bench.report import table
from evaluation.builder.choose_builder import choose_builder
from evaluation.datasets.load import load_dataset
from evaluation.domain.players import QueryPlayer
from evaluation.formats.query.catalogue import find_baseline
from evaluation.formats.query.results import AuditReport, sum_reports
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.play_match import play
from evaluation.sandbox.host_speed import calibrate
from evaluation.sandbox.process_sandbox import ProcessSandbox

PLAYERS = Path(__file__).resolve().parent / "players"
RULES = QueryRules(classes=10, query_budget=60, piece_samples=8)
"""Frames of eight images: the audit asks 16 of them, the 128 images of the exact table."""

PIECES = (1, 2, 5)
"""Lengths of the matches."""


def build_liar(share: float, folder: Path) -> QueryPlayer:
    """Return the liar on this share of the queries, built from a repository that is written into `folder`."""
    shutil.copytree(PLAYERS / "liar_model", folder)
    shutil.copy(find_baseline("numpy-classifier").source / "weights.npz", folder)
    (folder / "share.txt").write_text(str(share), encoding="ascii")
    return build(folder)


def build(folder: Path) -> QueryPlayer:
    """Return the player of a repository."""
    return choose_builder("process").build(folder, on_log=lambda line: None)


def audits(liar: QueryPlayer, *, matches: int, samples: int | None = None) -> Iterator[list[AuditReport]]:
    """Play matches against noise; yield the audits of the pieces of each."""
    attack, sandbox, calibration = build(PLAYERS / "noise-attack"), ProcessSandbox(), calibrate()
    chosen = load_dataset("digits").samples("validation")[:samples]
    for seed in range(matches):
        played = play(
            model=liar,
            attack=attack,
            samples=chosen,
            rules=RULES,
            sandbox=sandbox,
            seed=seed,
            calibration=calibration,
            level_caches=False,
            reuse_attack=True,
        )
        yield [piece.audit for piece in played.result.pieces]


def grouped(reports: Sequence[AuditReport], pieces: int) -> list[AuditReport]:
    """Return the audits of the matches of so many pieces; the rest is left out."""
    ends = range(pieces, len(reports) + 1, pieces)
    return [sum_reports(reports[end - pieces : end]) for end in ends]


def rows_of(share: float, pieces: int, played: Sequence[Sequence[AuditReport]]) -> list[list[str]]:
    """Return the row of one share and length: the matches, and how many passed; none where too little was played."""
    matches = [match for reports in played for match in grouped(reports, pieces)]
    if not matches:
        return []
    kept = sum(not match.stateful for match in matches)
    whole = sum(match.passed for match in matches)
    exact = sum(passes(share, match.fresh) for match in matches) / len(matches)
    cells = [f"{share:.0%}", str(pieces), f"{len(matches):,}", f"{exact:.3f}"]
    return [[*cells, *(_with_interval(count, len(matches)) for count in (kept, whole))]]


def _with_interval(count: int, of: int) -> str:
    interval = binomtest(count, of).proportion_ci(method="exact")
    return f"{count / of:.3f} ({interval.low:.3f} to {interval.high:.3f})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=40, help="matches of 25 pieces for each share")
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="shares of the queries (default all)")
    parser.add_argument("--smallest", action="store_true", help="run all code at the smallest size; no figure is valid")
    given = parser.parse_args()
    header = ("a liar on", "pieces", "matches", "passes, exact", "passed the equal frames", "passed the whole audit")
    print("\n".join(table(header, [])))
    for share in given.shares[-1:] if given.smallest else given.shares:
        with tempfile.TemporaryDirectory() as folder:
            liar = build_liar(share, Path(folder) / "liar")
            size = {"matches": 1, "samples": 16} if given.smallest else {"matches": given.matches}
            found = list(audits(liar, **size))
        for pieces in (*PIECES, len(found[0])):
            for cells in rows_of(share, pieces, found):
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
