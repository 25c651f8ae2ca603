"""A match ends both players, whatever happens."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from evaluation.domain.errors import Fault
from evaluation.domain.players import TrackName
from evaluation.formats.query.referee.match import RefereedMatch
from evaluation.formats.query.referee.player_interface import PlayerExit
from evaluation.formats.query.runner.in_process_player import InProcessPlayer
from gauntlet import frames, serve_attack, serve_model


class FaultyPlayer(InProcessPlayer):
    """A player whose host fails to end it."""

    def dismiss(self, *, patience: float = 0.0) -> PlayerExit:
        super().dismiss(patience=patience)
        raise Fault("the engine does not answer")


class WatchedPlayer(InProcessPlayer):
    """A player that counts how often it was ended."""

    dismissed = 0

    def dismiss(self, *, patience: float = 0.0) -> PlayerExit:
        self.dismissed += 1
        return super().dismiss(patience=patience)


def test_the_model_is_ended_when_ending_the_attack_fails(game: Any) -> None:
    model = WatchedPlayer(lambda connected: serve_model(game.brightness, connected=connected))
    attack = FaultyPlayer(lambda connected: serve_attack(lambda *_, **__: None, connected=connected))
    match = RefereedMatch(rules=game.rules, track=TrackName.UNTARGETED, model=model, attack=attack, seed=0)
    list(match.play(game.samples(1)))
    with pytest.raises(Fault):
        match.close()
    assert model.dismissed == 1


@pytest.mark.parametrize("track", [TrackName.UNTARGETED, TrackName.TARGETED])
def test_a_model_does_not_learn_the_track(game: Any, wire: Any, track: TrackName) -> None:
    received: list[tuple[int, ...]] = []

    def model(connected: socket.socket) -> None:
        player = wire(connected)
        received.append(frames.WELCOME_PAYLOAD.unpack(player.hello(1).payload))

    game.play(raw_model=model, samples=game.samples(1, target=4), track=track)
    *_, flags, budget = received[0]
    assert (flags, budget) == (0, 0)
