"""The leaderboard of the transfer format: who enters when, and the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from accounts.models import User
from competitions.models import Competition
from competitions.sample_store import samples_of
from core import object_store
from core.errors import Fault
from evaluation.formats.transfer.runner.play_match import TransferMatch, play
from evaluation.formats.transfer.runner.transfer_player import TransferPlayer
from evaluation.sandbox.base import Resources
from formats.transfer.tournaments import pair_totals, services
from formats.transfer.tournaments.boards import best_of, board_of
from formats.transfer.tournaments.engine_runs import rules_of
from formats.transfer.tournaments.player_builds import ready_player
from formats.transfer.tournaments.selectors import baseline_players, current_entrants
from formats.transfer.tournaments.tournament_verification import differing
from submissions.models import Player, Submission
from submissions.services import end_baseline, make_baseline
from tests.platform.formats.transfer.tournaments.conftest import ADD, CHECKSUM, COPY, play_all
from tests.platform.formats.transfer.tournaments.results import commit_all
from workers.sandboxes import open_sandbox

Submit = Callable[..., Submission]


@pytest.mark.slow(6)
def test_scores_are_those_of_the_engine_and_a_changed_one_is_found_and_repaired(
    transfer: Competition, push: Submit, tmp_path: Path
) -> None:
    brighter, defence = push("owls", "attack", ADD), push("bats", "defence", CHECKSUM)
    targeted = push("owls", "targeted_attack", COPY)
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
    match = TransferMatch(
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
    assert set(pair_totals.pair_counts(tournament, attacking, [defending.player])) == set(expected.pairs())
    fooled = {pair.attack: pair.fooled for pair in expected.pairs()}
    assert {str(row.player_id): row.raw for row in rows.values()} == fooled
    assert defending.opponents == 2
    assert defending.raw == sum(pair.correct for pair in expected.pairs())

    # the nightly verification finds a changed score, and writes the right one
    assert list(differing(tournament)) == []
    tournament.entrants.filter(pk=defending.pk).update(score=0.999)
    (found,) = differing(tournament, repair=True)
    assert (found.problem, found.repaired) == (f"score is 0.999 and should be {defending.score}", True)
    assert list(differing(tournament)) == []


def test_a_baseline_and_its_unchanged_copy_are_one_opponent(transfer: Competition, submit: Submit) -> None:
    submit("bats", "defence", "true")
    copied = submit("owls", "attack", "true")
    services.make_baselines()
    copied.player = Player.objects.get(baseline="noop")
    copied.save()
    commit_all(services.make_tournament(transfer))
    attacks, defences = (board_of(transfer.tracks.get(name=name)) for name in ("attack", "defence"))
    assert sorted((row.title, row.baseline) for row in attacks.rows) == [("noop", True), ("owls 2", False)]
    assert (defences.opponents, defences.rows[0].opponents) == (1, 1)


def test_an_upgrade_with_other_files_of_a_baseline_replaces_its_player(transfer: Competition, submit: Submit) -> None:
    submit("bats", "defence", "true")
    services.make_baselines()
    tournament = services.make_tournament(transfer)
    commit_all(tournament)
    # as if an earlier version had made the player from other files
    Player.objects.filter(baseline="noop").update(digest="sha256:1", tree_digest="sha256:2")
    before = Player.objects.get(baseline="noop")
    with pytest.raises(Fault, match="this version of Gauntlet bundles another noop than the one that is noop"):
        ready_player(before, print)
    assert services.make_baselines() == 1
    assert services.make_baselines() == 0
    commit_all(tournament)
    attacks = board_of(transfer.tracks.get(name="attack"))
    assert [row.player for row in attacks.rows] == [Player.objects.get(baseline="noop", digest__gt="sha256:1").pk]


def test_a_baseline_whose_image_is_gone_is_built_again_and_takes_its_place(transfer: Competition) -> None:
    services.make_baselines()
    # built on another base image; the store has its image, until somebody empties it
    image = object_store.put(b'{"rootfs": {"diff_ids": []}}')
    Player.objects.update(digest="sha256:1", image=f"sha256:{image}")
    lost = Player.objects.get()
    tournament = services.make_tournament(transfer)
    services.advance(tournament)
    assert tournament.attack_runs.update(faults=1) == 2
    assert services.make_baselines() == 0

    object_store.remove(image)
    assert (services.make_baselines(), services.make_baselines()) == (1, 0)

    services.advance(tournament)
    ((_, built),) = baseline_players(transfer)
    assert built != lost
    assert set(tournament.attack_runs.values_list("attack", "faults")) == {(built.pk, 0)}


def test_runs_of_a_baseline_that_were_given_up_are_played_after_its_image_was_built_again(
    transfer: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.make_baselines()
    image = object_store.put(b'{"rootfs": {"diff_ids": []}}')
    Player.objects.update(image=f"sha256:{image}")
    tournament = services.make_tournament(transfer)
    services.advance(tournament)
    tournament.attack_runs.update(faults=2, state="failed")
    object_store.remove(image)

    def built(track: object, name: str, on_log: object) -> Player:
        equal = object_store.put(b'{"rootfs": {"diff_ids": []}, "created": "later"}')
        Player.objects.update(image=f"sha256:{equal}")
        return Player.objects.get()

    monkeypatch.setattr(services, "baseline_player", built)
    monkeypatch.setattr(services, "keep_image", lambda player: None)
    assert (services.make_baselines(), services.make_baselines()) == (1, 0)

    assert set(tournament.attack_runs.values_list("state", "faults")) == {("waiting", 0)}


def test_a_submission_that_was_made_a_baseline_plays_on_beside_an_older_one_of_its_team(
    transfer: Competition, submit: Submit, olga: User
) -> None:
    transfer.tracks.update(baselines=[])
    tournament = services.make_tournament(transfer)
    submit("bats", "defence", CHECKSUM)
    older = submit("owls", "attack", COPY)
    commit_all(tournament)
    newer = submit("owls", "attack", "true")
    commit_all(tournament)
    track = transfer.tracks.get(name="attack")
    assert [row.submission for row in board_of(track).rows] == [newer.pk]
    make_baseline(submission=newer, by=olga, reason="known")
    commit_all(tournament)
    rows = board_of(track).rows
    assert {(row.submission, row.team, row.baseline) for row in rows} == {
        (older.pk, "owls", False),
        (newer.pk, "owls", True),
    }
    assert [row.submission for row in best_of([track], 5)[track.pk]] == [older.pk]
    end_baseline(submission=newer, by=olga, reason="unknown")
    commit_all(tournament)
    assert [row.submission for row in board_of(track).rows] == [newer.pk]
