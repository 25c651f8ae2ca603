"""Hosts that give wrong labels: after how many pieces they are found, and how often an honest host is taken for one.

    python -m bench.differing_hosts [--sites 20] [--seed 7]

Each match of a simulated site has twenty pieces, which one to three hosts play and another one audits: 130 labels and
distances of each piece. Of 20 models a fifth are bundled (a hundredth of their pieces is repeated), and two are random:
they change up to 60 % of their labels from one match to the next. The others change up to two in a thousand, as
networks do on processors of two kinds. A noisy host flips one label in twenty, in playing and in auditing.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.report import table
from workers.differing_host_statistics import ComparedPair, judge

NOISE = 0.05
MODELS = 20
BUNDLED = 4
RANDOM = 2
ROUNDING = 0.002
PIECES = 20
REPEATED = 0.01
RESULTS = 130
"""Labels and distances of a piece that the host of the audit repeats."""


@dataclass
class Site:
    """What became of the hosts of a site: after how many of its own pieces each was drained."""

    noisy: Sequence[str]
    drained: dict[str, int] = field(default_factory=dict)
    undecided: int = 0

    @property
    def honest_drained(self) -> int:
        """The number of hosts that were drained without reason."""
        return len(set(self.drained) - set(self.noisy))


def simulate(seed: int, *, hosts: int, noisy: int, pieces: int, bundled: int = BUNDLED) -> Site:
    """Play until every host that is in service has played `pieces`; the first `noisy` hosts flip labels."""
    rng = np.random.default_rng(seed)
    names = [f"host-{number}" for number in range(hosts)]
    site = Site(names[:noisy])
    rates = np.concatenate([rng.uniform(0, 0.3, RANDOM), rng.uniform(0, ROUNDING, MODELS - RANDOM)])
    played, comparisons = Counter[str](), list[ComparedPair]()
    while len(live := [name for name in names if name not in site.drained]) > 1:
        if min(played[name] for name in live) >= pieces:
            break
        model = int(rng.integers(MODELS))
        of_the_site = model >= MODELS - bundled
        rate = rates[model] * (rng.uniform(0, 2) if model < RANDOM else 1)
        chosen = rng.permutation(live)[: 1 + min(len(live) - 1, int(rng.integers(1, 4)))].tolist()
        auditor, *players = chosen
        for name in players:
            own = PIECES // len(players)
            played[name] += own
            repeated = int(rng.binomial(own, REPEATED)) if of_the_site else own
            flips = [NOISE * (host in site.noisy) for host in (name, auditor)]
            changed = 1 - (1 - rate) * (1 - flips[0]) * (1 - flips[1])
            unequal = int(rng.binomial(repeated * RESULTS, changed))
            team = None if of_the_site else model
            newest = ComparedPair(frozenset({name, auditor}), f"{model}", team, repeated * RESULTS, unequal)
            comparisons.append(newest)
            found = judge(comparisons, newest)
            if found is not None and len(found.hosts) == 1:
                site.drained[found.hosts[0]] = played[found.hosts[0]]
                comparisons = [each for each in comparisons if found.hosts[0] not in each.hosts]
                break
            site.undecided += found is not None
    return site


def report(sites: int, seed: int) -> list[str]:
    """Return the table."""
    rows = []
    for hosts, noisy, bundled, pieces in (
        (2, 1, BUNDLED, 400), (3, 1, BUNDLED, 600), (5, 1, BUNDLED, 400), (10, 1, BUNDLED, 400), (10, 2, BUNDLED, 400),
        (10, 1, MODELS, 600), (50, 3, BUNDLED, 250), (50, 0, BUNDLED, 250),
    ):  # fmt: skip
        found = [simulate(seed + n, hosts=hosts, noisy=noisy, pieces=pieces, bundled=bundled) for n in range(sites)]
        after = sorted(count for site in found for name, count in site.drained.items() if name in site.noisy)
        spread = f"{np.median(after):.0f} ({after[0]} to {after[-1]})" if after else ""
        within = f"{sum(count <= 200 for count in after)} of {noisy * sites}" if noisy else ""
        cells = [spread, within, f"{sum(site.honest_drained for site in found)} of {(hosts - noisy) * sites}"]
        rows.append([f"{hosts}, {noisy} noisy" + (", all models bundled" if bundled == MODELS else ""), *cells])
    return table(["hosts", "found after pieces", "within 200", "honest hosts drained"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.differing_hosts", description="Hosts that differ.")
    parser.add_argument("--sites", type=int, default=20, metavar="N", help="sites of each kind")
    parser.add_argument("--seed", type=int, default=7, help="repeats the sites exactly")
    given = parser.parse_args()
    print("\n".join(report(given.sites, given.seed)))


if __name__ == "__main__":
    main()
