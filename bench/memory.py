"""The referee's memory over a million queries."""

from __future__ import annotations

from bench import programs
from bench.interleaved import say
from bench.report import Section, table
from bench.sizes import sized

QUERIES = sized(1_000_000, smallest=10_000)
IMAGES = 50
SECONDS = sized(0.5, smallest=0.001)
MARKS = (0.1, 0.5, 1.0)


def measure() -> Section:
    """Play pieces of ten samples under the rules of 2018, one after the other, in frames of 50 images."""
    resident: dict[float, int] = {}
    done = 0
    with programs.referee("constant_model", "raw_attack", piece_samples=10) as referee:
        while done < QUERIES:
            done += IMAGES * referee.block(IMAGES, SECONDS).requests
            for mark in MARKS:
                if mark not in resident and done >= mark * QUERIES:
                    resident[mark] = referee.resident_bytes()
                    say(f"memory: {done:,} queries")
    rows = [[f"{mark * QUERIES:,.0f}", f"{size / 2**20:.1f} MiB"] for mark, size in resident.items()]
    growth = (resident[1.0] - resident[0.1]) / 2**20
    lines = [
        *table(["queries", "the referee's resident memory"], rows),
        "",
        *table(["", "target", "measured"], [["growth from 10 % to the end", "flat", f"{growth:+.1f} MiB"]]),
    ]
    return Section("The referee's memory", lines)
