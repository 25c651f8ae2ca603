"""The leaderboard of the transfer format: who enters when, and the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from competitions.models import Competition
from competitions.sample_store import samples_of
from evaluation.sandbox.base import Resources
from evaluation.transfer.play import Match, play
from evaluation.transfer.player import TransferPlayer
from submissions.models import Player, Submission
from submissions.sandboxes import open_sandbox
from submissions.transfer_builds import ready_player
from tests.platform.tournaments.conftest import ADD, BRIGHTNESS, COPY, play_all
from tournaments import services
from tournaments.engine_adapter import rules_of
from tournaments.selectors import current_entrants, pair_counts

Submit = Callable[..., Submission]


def test_it_works(transfer: Competition, submit: Submit, tmp_path: Path) -> None:
    brighter, defence = submit("owls", "attack", ADD), submit("bats", "defence", BRIGHTNESS)
    targeted = submit("owls", "targeted_attack", COPY)
    transfer.tracks.update(baselines=[])
    tournament = services.make_tournament(transfer)

    assert play_all(tournament) == 8  # two attacks on two batches, then one defence on all four

    rows = {(row.track.name, row.player.title): row for row in current_entrants(tournament)}
    assert set(rows) == {
        ("attack", brighter.title), ("targeted_attack", targeted.title), ("defence", defence.title),
    }  # fmt: skip
    defending = rows.pop(("defence", defence.title))
    attacking = [row.player for row in rows.values()]

    def alone(player: Player) -> TransferPlayer:
        """Name a player by its key, as the site does."""
        return replace(ready_player(player, print), name=str(player.pk))

    # the engine by itself, without a database, counts the same
    match = Match(
        rules_of(tournament),
        [alone(player) for player in attacking],
        [alone(defending.player)],
        list(samples_of(tournament.sample_set)),
        tournament.seed,
    )
    expected = play(
        match, sandbox=open_sandbox(), directory=tmp_path / "alone", resources=Resources(),
        on_batch=lambda batch: None, on_log=lambda player, text: None,
    )  # fmt: skip
    assert set(pair_counts(tournament, attacking, [defending.player])) == set(expected.pairs())
    fooled = {pair.attack: pair.fooled for pair in expected.pairs()}
    assert {str(row.player_id): row.raw for row in rows.values()} == fooled
    assert defending.opponents == 2
    assert defending.raw == sum(pair.correct for pair in expected.pairs())
