"""Which host gives other results than the others: an exact test over hosts and the models that they compared.

Pieces of a match that one host played are asked again on a second one. A pair of hosts then *differs* on that match if
more labels and distances are unequal than rounding explains. A model that is random, or a liar, makes every pair of
hosts differ; a host that computes wrong labels makes the pairs differ in which it takes part, whatever the model.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, lgamma

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.001
"""Probability that a site ever takes an honest host for a differing one, over all its hosts and all tests."""

CHANCE = 0.01
"""Share of unequal results up to which two hosts agree. Rounding flips one label in a thousand between processors of
two kinds (docs/statistics.md), and one in several hundred on GPUs."""

FEW = 1
"""Number of unequal results up to which two hosts agree, however few were compared."""

KNOWN_EQUAL = 1000
"""Comparisons of bundled models in which no pair of hosts differed, that count in addition to those of the site: tests
compare these models with fresh instances, so the first difference on a new site is known to be rare."""

_ALL_BUNDLED = "bundled"


@dataclass(frozen=True)
class ComparedPair:
    """The results of one match that one host of `hosts` gave and the other one repeated."""

    hosts: frozenset[str]
    player: str
    """The model's digest."""
    team: int | None
    """The model's team; None for a bundled model."""
    compared: int
    """Number of results that both hosts gave: labels of equal frames, and distances."""
    unequal: int
    """Number of them that differ."""

    @property
    def differs(self) -> bool:
        """True if more results are unequal than rounding explains."""
        return self.unequal > max(FEW, CHANCE * self.compared)


@dataclass(frozen=True)
class HostVerdict:
    """Hosts that differ beyond chance: one, or two that cannot be told apart yet. `p` is corrected for all tests."""

    hosts: tuple[str, ...]
    p: float


def judge(comparisons: Sequence[ComparedPair], newest: ComparedPair) -> HostVerdict | None:
    """Return which of the two hosts of `newest` differs from the others, None if no one does beyond chance.

    To be asked after each comparison, which is among `comparisons`. Only a comparison that differs is a test. The k-th
    of one host among n hosts is made at ALPHA / (n k (k + 1)), and these levels sum to ALPHA (the union bound), so that
    tests may go on for as long as the site lives. Of two hosts that mostly met each other, one is named only if the
    other's p-value is a thousand times larger: a third host decides.
    """
    if not newest.differs:
        return None
    hosts = set().union(*(each.hosts for each in comparisons))
    p = {host: p_value(host, comparisons) for host in newest.hosts}
    differing = Counter(host for each in comparisons if each.differs for host in each.hosts & newest.hosts)
    first, second = sorted(newest.hosts, key=lambda host: (p[host], host))
    corrected = p[first] * len(hosts) * differing[first] * (differing[first] + 1)
    if corrected >= ALPHA:
        return None
    return HostVerdict((first,) if p[first] <= ALPHA * p[second] else (first, second), corrected)


def p_value(host: str, comparisons: Sequence[ComparedPair]) -> float:
    """Return the probability that chance lets `host` take part in as many differing comparisons, or more.

    Given the number of comparisons and of differing ones of each model, every one is as likely to be a differing one
    (Fisher's exact test, over the models as strata). All bundled models are one stratum. The largest value counts
    that follows without the models of one team, so that no team can make a host look wrong.
    """
    teams = {each.team for each in comparisons if each.differs and host in each.hosts and each.team is not None}
    parts = [comparisons, *([each for each in comparisons if each.team != team] for team in teams)]
    return max(_tail(host, part) for part in parts)


def _tail(host: str, comparisons: Iterable[ComparedPair]) -> float:
    strata: defaultdict[Hashable, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for each in comparisons:
        stratum = _ALL_BUNDLED if each.team is None else each.player
        strata[stratum][host in each.hosts, each.differs] += 1
    if _ALL_BUNDLED in strata:
        strata[_ALL_BUNDLED][False, False] += KNOWN_EQUAL
    seen, chances = 0, np.ones(1)
    for counts in strata.values():
        own, differing = counts[True, False] + counts[True, True], counts[False, True] + counts[True, True]
        seen += counts[True, True]
        chances = np.convolve(chances, _hypergeometric(counts.total(), differing, own))
    return min(1.0, float(chances[seen:].sum()))


def _hypergeometric(total: int, differing: int, own: int) -> NDArray[np.float64]:
    """Return the probabilities of 0, 1, ... differing ones among `own` of `total`, of which `differing` differ."""
    most = min(differing, own)
    chances = np.zeros(most + 1)
    for k in range(max(0, own + differing - total), most + 1):
        logarithm = _choose(differing, k) + _choose(total - differing, own - k) - _choose(total, own)
        chances[k] = exp(logarithm)
    return chances


def _choose(n: int, k: int) -> float:
    """Return the logarithm of the binomial coefficient."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
