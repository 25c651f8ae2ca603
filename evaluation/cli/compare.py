"""`gauntlet compare`: attacks on the same images of each model, by distance after numbers of queries."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.cli.options import (
    Chosen,
    add_samples,
    add_sandbox,
    build_players,
    chosen_samples,
    results_directory,
    submission,
)
from evaluation.cli.output import print_error, print_table, say
from evaluation.cli.positive_number import positive
from evaluation.cli.query_commands import play_pairings, sides
from evaluation.domain.errors import Refusal
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.formats.query.catalogue import is_bundled
from evaluation.formats.query.results import MatchResult
from evaluation.formats.query.runner.kept_matches import KeptMatches, MatchSettings, hash_of_samples, read_match
from evaluation.formats.query.runner.tournament import Pairing, pairings
from evaluation.formats.query.scoring.match_curves import budgets, query_counts

if TYPE_CHECKING:
    from evaluation.formats.query.report.attack_comparison import AttackComparison

_AT = (100, 300, 1000)
_DISTANCES = 3
"""The number of fixed distances of a table: the nearest ones to the best attack's median, if none are given."""


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "compare", help="compare query attacks by distance after numbers of queries, with paired intervals"
    )
    add = command.add_argument
    text = "repositories of models and attacks, or names of bundled ones"
    add("players", nargs="+", type=submission, metavar="DIR", help=text)
    add_samples(command, split="validation", samples=20, queries=1000)
    add_sandbox(command)
    add("--at", type=_counts, metavar="N,...", help="numbers of queries of the tables (default 100,300,1000)")
    add("--within", type=_distances, default=(), metavar="D,...", help="distances of the rates of success (L2)")
    add("--white-box", action="store_true", help="compare with DDN on whole levels, for bundled networks (untargeted)")
    add("--workers", type=positive, default=os.cpu_count() or 1, help="number of parallel matches")
    add(
        "--out", type=Path, required=True, metavar="DIR", help="directory; the matches that it has are not played again"
    )
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Play what is missing, write tables and curves, and print the tables."""
    from evaluation.formats.query.report.attack_comparison import write_comparison

    chosen = chosen_samples(given)
    at = _chosen_counts(given.at, chosen.rules.query_budget)
    out = results_directory(given.out)
    models, attacks = sides(build_players(given.players, given.sandbox))
    matches = pairings(models, attacks)
    settings = MatchSettings(chosen.rules, given.seed, hash_of_samples(chosen.samples))
    kept = KeptMatches(results_directory(out / "matches"), settings)
    _play_missing(kept, matches, chosen, given)
    references = _references(models, attacks, chosen) if given.white_box else {}
    comparisons = _read(kept, matches, chosen, at, given.within, references)
    write_comparison(comparisons, out)
    for comparison in comparisons:
        _show(comparison)
    say(f"{out / 'comparison.md'}: tables; {out}: the same as CSV, distances of each image, and curves")
    return 0


def _play_missing(kept: KeptMatches, matches: Sequence[Pairing], chosen: Chosen, given: argparse.Namespace) -> None:
    missing = kept.missing(matches)
    if not missing:
        return

    def on_match(match: Pairing, result: MatchResult) -> None:
        for failure in result.failures:
            print_error(f"{match.attack.name} against {match.model.name}: {failure}")
        kept.keep(match, result, chosen.samples)

    play_pairings(missing, chosen, given, on_match)


def _read(
    kept: KeptMatches,
    matches: Sequence[Pairing],
    chosen: Chosen,
    at: Sequence[int],
    within: Sequence[float],
    references: Mapping[str, Mapping[int, float]],
) -> list[AttackComparison]:
    """Return a comparison for each track and model, in the order of the command line."""
    from evaluation.formats.query.report.attack_comparison import AttackComparison

    counts = sorted({*query_counts(chosen.rules.query_budget), *at})
    groups: dict[tuple[TrackName, str], list[Pairing]] = {}
    for match in matches:
        groups.setdefault((match.attack.track, match.model.name), []).append(match)
    found = []
    for (track, model), group in groups.items():
        read = [read_match(kept.folder(match), chosen.samples, counts) for match in group]
        reference = references.get(model) if track is TrackName.UNTARGETED else None
        comparison = AttackComparison(read, counts, at, within, reference)
        if not within and comparison.samples:
            best = min(float(np.median(closest[:, -1])) for closest in comparison.closest.values())
            comparison = replace(comparison, within=_around(budgets(chosen.rules.shape), best))
        found.append(comparison)
    return sorted(found, key=lambda each: each.track is TrackName.TARGETED)


def _references(
    models: Sequence[QueryPlayer], attacks: Sequence[QueryPlayer], chosen: Chosen
) -> dict[str, dict[int, float]]:
    """Return by model the distances of a white-box attack by sample number, for bundled models with a network."""
    from evaluation.training.white_box_reference import nearest_whole_levels, network_in

    if not any(attack.track is TrackName.UNTARGETED for attack in attacks):
        raise Refusal("the white-box attack has no target", fix="leave out --white-box, or add an untargeted attack")
    found = {}
    for model in models:
        network = network_in(model.directory) if model.directory and is_bundled(model.directory) else None
        if network is None:
            say(
                f"{model.name}: no network for a white-box attack, so the best known distances are those of the attacks"
            )
            continue
        distances = nearest_whole_levels(network, chosen.samples)
        numbers = (sample.number for sample in chosen.samples)
        found[model.name] = dict(zip(numbers, distances.tolist(), strict=True))
    return found


def _show(comparison: AttackComparison) -> None:
    from evaluation.formats.query.report.attack_comparison import seconds_per_image, table_columns, table_rows

    title = f"{comparison.track} attacks against {comparison.model}, {len(comparison.samples)} images"
    if not comparison.samples:
        say(f"{title}: none that the model labels right, so there is nothing to compare")
        return
    seconds = {match.attack: seconds_per_image(match, comparison.samples) for match in comparison.matches}
    columns = table_columns(comparison)
    # rates of success are in the files: with them, a table would be too wide for a terminal
    shown = [number for number, name in enumerate(columns) if not name.startswith("within ")]
    rows = [[*(row[number] for number in shown), f"{seconds[row[0]]:.2f}"] for row in table_rows(comparison)]
    print_table(title, [*(columns[number] for number in shown), "seconds"], rows, text=(0,))


def _around(distances: Sequence[float], middle: float) -> Sequence[float]:
    """Return the fixed distances next to `middle`, so many as a table has."""
    nearest = sorted(distances, key=lambda distance: abs(np.log(distance / max(middle, distances[0]))))
    return sorted(nearest[:_DISTANCES])


def _chosen_counts(given: Sequence[int] | None, budget: int) -> list[int]:
    """Return the numbers of queries of the tables, of which the last is the budget."""
    if given and max(given) > budget:
        raise Refusal(f"--at {max(given)} is above the budget of {budget:,} queries", fix="raise --budget")
    return sorted({*(count for count in given or _AT if count <= budget), budget})


def _counts(text: str) -> tuple[int, ...]:
    return tuple(map(positive, text.split(",")))


def _distances(text: str) -> tuple[float, ...]:
    """Parse distances, for argparse."""
    found = tuple(map(float, text.split(",")))
    if not all(0 < value < float("inf") for value in found):
        raise argparse.ArgumentTypeError(f"{text} has a distance that is not above 0")
    return found
