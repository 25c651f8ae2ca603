"""Tournament of every attack against every model: parallel matches, each in a separate process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass

from evaluation.domain.players import QueryPlayer
from evaluation.domain.samples import Sample
from evaluation.formats.query.catalogue import is_bundled
from evaluation.formats.query.results import MatchResult
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.play_match import play
from evaluation.parsing.process_pool import process_pool
from evaluation.sandbox.base import Sandbox


@dataclass(frozen=True, eq=False)
class Pairing:
    """One match to play. `fresh_audit` is that of `play`."""

    model: QueryPlayer
    attack: QueryPlayer
    fresh_audit: bool


def pairings(models: Sequence[QueryPlayer], attacks: Sequence[QueryPlayer]) -> list[Pairing]:
    """Return every attack against every model. Each model is audited on a fresh start once, in its first match."""
    return [Pairing(model, attack, index == 0) for index, attack in enumerate(attacks) for model in models]


def play_all(
    matches: Sequence[Pairing],
    *,
    samples: Sequence[Sample],
    rules: QueryRules,
    sandbox: Callable[[], Sandbox],
    seed: int,
    calibration: float,
    workers: int,
    on_match: Callable[[Pairing, MatchResult], None] | None = None,
) -> list[MatchResult]:
    """Play `matches`, `workers` at a time. Return the results in the order of `matches`; raise what `play` raises.

    It uses processes, not threads, so that Ctrl-C reaches each match, which then ends its own players.
    """
    results: dict[int, MatchResult] = {}
    with process_pool(workers) as pool:
        futures = {
            pool.submit(_play_one, match, samples, rules, sandbox, seed, calibration): index
            for index, match in enumerate(matches)
        }
        try:
            for future in as_completed(futures):
                index = futures[future]
                results[index] = future.result()
                if on_match is not None:
                    on_match(matches[index], results[index])
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return list(_in_order(results))


def _in_order(results: dict[int, MatchResult]) -> Iterator[MatchResult]:
    for index in sorted(results):
        yield results[index]


def _play_one(
    match: Pairing,
    samples: Sequence[Sample],
    rules: QueryRules,
    sandbox: Callable[[], Sandbox],
    seed: int,
    calibration: float,
) -> MatchResult:
    opened = sandbox()
    return play(
        model=match.model,
        attack=match.attack,
        samples=samples,
        rules=rules,
        sandbox=opened,
        seed=seed,
        calibration=calibration,
        fresh_audit=match.fresh_audit,
        level_caches=opened.for_untrusted_code and not is_bundled(match.model.directory),
        reuse_attack=is_bundled(match.attack.directory),
    ).result
