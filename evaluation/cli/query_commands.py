"""The query format in `gauntlet play` and `gauntlet tournament`: attacks against models."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from evaluation.cli import query_leaderboard_tables
from evaluation.cli.options import (
    Chosen,
    build_players,
    chosen_samples,
    open_sandbox,
    require_distinct_names,
    results_directory,
)
from evaluation.cli.output import print_error, print_json, print_table, progress_bar, say
from evaluation.cli.report_option import context_of, require_writable, write_report
from evaluation.domain.errors import ManifestRefusal, Refusal
from evaluation.domain.players import QueryPlayer, Side, TrackName
from evaluation.formats.query.catalogue import is_bundled
from evaluation.formats.query.results import MatchResult, Outcome
from evaluation.formats.query.runner.match_result_files import as_dict, median_distance, write_result
from evaluation.formats.query.runner.play_match import play
from evaluation.formats.query.runner.smoke_test_checks import describe_failure
from evaluation.formats.query.runner.tournament import Pairing, pairings, play_all
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.host_speed import processor_factor
from evaluation.sandbox.process_sandbox import ProcessSandbox

SHOWN_CHARACTERS = 2000
"""The number of characters shown of a failed player's output."""


def play_one(given: argparse.Namespace) -> int:
    """Run `gauntlet play` in the query format: `given.attack` against `given.model`."""
    chosen = chosen_samples(given)
    require_writable(given.report)
    out = results_directory(given.out)
    model, attack = build_players([given.model, given.attack], given.sandbox)
    require_track(model, TrackName.MODEL, given.model)
    if given.track or attack.track is TrackName.MODEL:
        require_track(attack, TrackName(given.track or TrackName.UNTARGETED), given.attack)
    sandbox = open_sandbox(given.sandbox)
    with progress_bar(len(chosen.samples), f"{attack.name} against {model.name}") as bar:
        played = play(
            model=model,
            attack=attack,
            samples=chosen.samples,
            rules=chosen.rules,
            sandbox=sandbox,
            seed=given.seed,
            calibration=processor_factor(),
            sizes=given.pieces,
            level_caches=sandbox.for_untrusted_code and not is_bundled(model.directory),
            on_piece=lambda piece: bar.step(len(piece.samples)),
        )
    result = played.result
    write_result(result, chosen.samples, out)
    if given.report:
        from evaluation.formats.query.report import html_report as query  # as in `context_of`

        write_report(
            query.of_match(result, context_of(given, chosen.dataset, chosen.split, chosen.samples)), given.report
        )
    if given.json:
        print_json(as_dict(result))
    else:
        _show(result, given.out)
    logs = {Side.MODEL: played.model_logs, Side.ATTACK: played.attack_logs}
    for failure in result.failures:
        print_error(f"the {failure.side} failed: {describe_failure(failure)}")
        output = "".join(logs[failure.side]).strip()[-SHOWN_CHARACTERS:]
        if output:
            say(f"last output of the {failure.side}:\n{output}")
    return 3 if any(failure.in_setup for failure in result.failures) else 0


def play_all_of(given: argparse.Namespace) -> int:
    """Run `gauntlet tournament` in the query format: all attacks of `given.players` against all models."""
    require_writable(given.report)
    players, chosen = build_players(given.players, given.sandbox), chosen_samples(given)
    results = play_tournament(players, chosen, given)
    if given.report:
        from evaluation.formats.query.report import html_report as query  # as in `context_of`

        write_report(
            query.of_tournament(results, context_of(given, chosen.dataset, chosen.split, chosen.samples)), given.report
        )
    if given.json:
        print_json(query_leaderboard_tables.for_json(results))
    else:
        query_leaderboard_tables.show(results)
    return 0


def play_tournament(players: list[QueryPlayer], chosen: Chosen, given: argparse.Namespace) -> list[MatchResult]:
    """Play all pairs with a progress bar; write the matches below `given.out` if that is set."""
    models, attacks = sides(players)
    if given.out:
        results_directory(given.out)
    failures: list[str] = []

    def on_match(match: Pairing, result: MatchResult) -> None:
        failures.extend(f"{match.attack.name} against {match.model.name}: {f}" for f in result.failures)
        if given.out:
            write_result(result, chosen.samples, given.out / f"{match.attack.name}--{match.model.name}")

    results = play_pairings(pairings(models, attacks), chosen, given, on_match)
    for failure in failures:
        print_error(failure)
    return results


def play_pairings(
    matches: Sequence[Pairing],
    chosen: Chosen,
    given: argparse.Namespace,
    on_match: Callable[[Pairing, MatchResult], None],
) -> list[MatchResult]:
    """Play these pairs with a progress bar; `on_match` gets each result as it comes."""
    open_sandbox(given.sandbox)
    with progress_bar(len(matches), "matches") as bar:

        def show(match: Pairing, result: MatchResult) -> None:
            bar.step(text=f"{match.attack.name} against {match.model.name}")
            on_match(match, result)

        return play_all(
            matches,
            samples=chosen.samples,
            rules=chosen.rules,
            sandbox=DockerSandbox if given.sandbox == "docker" else ProcessSandbox,
            seed=given.seed,
            calibration=processor_factor(),
            workers=given.workers,
            on_match=show,
        )


def sides(players: Sequence[QueryPlayer]) -> tuple[list[QueryPlayer], list[QueryPlayer]]:
    """Return the models and the attacks. Raise `Refusal` if a side has none, or two players have one name."""
    require_distinct_names([player.name for player in players])
    models = [player for player in players if player.track is TrackName.MODEL]
    attacks = [player for player in players if player.track is not TrackName.MODEL]
    if not models or not attacks:
        raise Refusal("matches need a model and an attack", fix="name at least one repository of each side")
    return models, attacks


def require_track(player: QueryPlayer, track: TrackName, directory: Path) -> None:
    """Raise `ManifestRefusal` if a submission belongs to another track."""
    if player.track is track:
        return
    fix = "name another directory"
    if TrackName.MODEL not in (player.track, track):
        fix = f"play it with --track {player.track}, or {fix}"
    elif not is_bundled(directory):
        fix = f'set track = "{track}" in its submission.toml, or {fix}'
    raise ManifestRefusal(f"{directory} is a submission to the {player.track} track, not to the {track} track", fix=fix)


def _show(result: MatchResult, out: Path) -> None:
    counts = (
        (str(outcome).replace("_", " "), sum(row.outcome is outcome for row in result.samples)) for outcome in Outcome
    )
    rows = [
        ("median distance", f"{median_distance(result):.4f}"),
        *((name, str(count)) for name, count in counts),
        ("queries", f"{sum(row.queries for row in result.samples):,}"),
        ("replayed", f"{result.audit.replayed}, {result.audit.changed} with another label"),
        ("written to", str(out)),
    ]
    title = f"{result.attack} against {result.model}, {result.track}, {len(result.samples)} samples"
    print_table(title, ("", ""), rows, text=(0, 1))
