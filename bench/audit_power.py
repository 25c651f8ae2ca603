"""`python -m bench.audit_power`: how often the audit of equal frames finds a model that lies on a share of all queries.

A liar answers a query wrongly with probability `p`, independently, while it plays, and honestly when it is audited: it
passes if at most as many of the images that are asked again had been lies as the tolerance allows. Exact binomial
probabilities; the numbers of images are those that a piece keeps. "Before" are those of version 0.1 until November
2026: 32 images a piece, and a tolerance of 2 or 5 %.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb

from evaluation.formats.query.referee.model_audit import ENOUGH_FRESH
from evaluation.formats.query.results import AuditReport

SHARES = (0.01, 0.02, 0.03, 0.05, 0.10)
PIECES = (1, 2, 20)
EARLIER_FRESH = 32


def most_allowed(images: int) -> int:
    """Return the largest number of changed labels among so many images with which a model is not found."""
    return max(n for n in range(images + 1) if not AuditReport(fresh=images, fresh_changed=n).stateful)


def most_allowed_before(images: int) -> int:
    """Return that number under the earlier tolerance."""
    return int(max(2, 0.05 * images))


def passes(share: float, images: int, allowed: Callable[[int], int] = most_allowed) -> float:
    """Return the probability that a liar on this share of the queries is not found among so many images."""
    return sum(comb(images, n) * share**n * (1 - share) ** (images - n) for n in range(allowed(images) + 1))


def main() -> None:
    """Print the table of probabilities to pass, and the highest rate of flips that an honest model may have."""
    print("| a liar on | " + " | ".join(f"{pieces} piece{'s' if pieces > 1 else ''}" for pieces in PIECES) + " |")
    print("|---|" + "---|" * len(PIECES))
    for share in SHARES:
        cells = (
            f"{passes(share, ENOUGH_FRESH * pieces):.3f} "
            f"(before {passes(share, EARLIER_FRESH * pieces, most_allowed_before):.3f})"
            for pieces in PIECES
        )
        print(f"| {share:.0%} of all queries | " + " | ".join(cells) + " |")
    print(f"| images asked | {' | '.join(str(ENOUGH_FRESH * pieces) for pieces in PIECES)} |")
    print(f"| changed labels allowed | {' | '.join(str(most_allowed(ENOUGH_FRESH * pieces)) for pieces in PIECES)} |")
    print(f"| honest flips that are blamed once in 1,000 | {' | '.join(map(_honest, PIECES))} |")


def _honest(pieces: int) -> str:
    images = ENOUGH_FRESH * pieces
    rates = [step / 100_000 for step in range(1, 2000)]
    return f"{max(rate for rate in rates if passes(rate, images) > 0.999):.2%}"


if __name__ == "__main__":
    main()
