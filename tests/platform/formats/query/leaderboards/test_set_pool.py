"""Pools: the frozen opponents of a track."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from accounts.models import User
from core import clock
from core.errors import Fault, Refusal
from core.models import Event
from formats.query.leaderboards import services
from formats.query.leaderboards.evaluation_basis import keys_in_force, opposing_pool, pool_in_force, ranking_basis
from submissions.models import Player

if TYPE_CHECKING:
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


def test_a_new_pool_is_in_force_for_the_opposing_tracks_and_keeps_its_order(env: BoardFixture, olga: User) -> None:
    first = env.pool("model", "plain", "robust")
    players = [env.player("model", title) for title in ("new", "old")]
    second = services.set_pool(track=env.tracks["model"], players=players, reason="round 1", by=olga)
    assert (first.number, second.number) == (1, 2)
    assert [(place.place, place.player.title) for place in second.places.all()] == [(1, "new"), (2, "old")]
    assert pool_in_force(env.tracks["model"]) == second
    assert [opposing_pool(env.tracks[kind]) for kind in ("model", "untargeted", "targeted")] == [None, second, second]
    event = Event.objects.get(subject=f"pool:{second.pk}")
    assert (event.by, event.reason, event.data["players"]) == (olga, "round 1", ["new", "old"])


def test_the_bases_of_all_tracks_are_those_of_each_of_them(env: BoardFixture) -> None:
    """The one query for a page agrees with the rules for one track, whose newest opposing pool counts."""
    tracks = list(env.tracks.values())
    for title, kind in enumerate(("model", "untargeted", "model", "targeted", "untargeted", "untargeted")):
        env.pool(kind, str(title))
        single = {track.pk: basis.key if (basis := ranking_basis(track)) else None for track in tracks}
        assert keys_in_force(tracks) == single
    opposing = {"model": "untargeted", "untargeted": "model", "targeted": "model"}
    for kind, track in env.tracks.items():
        newest = env.tracks[opposing[kind]].pools.latest("number")
        assert single[track.pk] == (newest.pk, env.competition.rules_versions.get().pk, env.sample_set.pk)


@pytest.mark.parametrize(
    ("count", "problem"), [(0, "a pool cannot have 0 players"), (6, "a pool cannot have 6 players")]
)
def test_it_rejects_none_and_more_than_the_rules_say(env: BoardFixture, count: int, problem: str) -> None:
    players = [env.player("model", str(number)) for number in range(count)]
    with pytest.raises(Refusal, match=problem) as caught:
        services.set_pool(track=env.tracks["model"], players=players, reason="")
    assert caught.value.fix == "choose 1 to 5 players, as the rules say"


def test_it_rejects_a_player_twice(env: BoardFixture) -> None:
    player = env.player("model", "plain")
    with pytest.raises(Refusal, match="twice"):
        services.set_pool(track=env.tracks["model"], players=[player, player], reason="")


def test_it_rejects_a_player_of_another_track(env: BoardFixture) -> None:
    with pytest.raises(Refusal, match="does not belong to the track digits/untargeted"):
        services.set_pool(track=env.tracks["untargeted"], players=[env.player("model", "plain")], reason="")


@pytest.fixture
def with_baselines(env: BoardFixture, monkeypatch: pytest.MonkeyPatch) -> BoardFixture:
    """The model track names six baselines, all taken as built; `broken` cannot be."""

    def built(competition: object, name: str, on_log: object) -> Player:
        if name == "broken":
            raise Fault("no bundled submission is called 'broken'")
        return env.player("model", name)

    monkeypatch.setattr(services, "baseline_player", built)
    track = env.tracks["model"]
    track.baselines = ["a", "b", "c", "d", "e", "f"]
    track.save()
    return env


def test_the_first_pool_holds_the_first_baselines(with_baselines: BoardFixture) -> None:
    (pool,) = services.make_first_pools()
    assert (pool.track, pool.number, pool.reason) == (with_baselines.tracks["model"], 1, "the bundled baselines")
    assert [place.player.title for place in pool.places.all()] == ["a", "b", "c", "d", "e"]
    assert services.make_first_pools() == []


def test_a_failed_baseline_build_affects_only_its_own_track(with_baselines: BoardFixture) -> None:
    broken = with_baselines.tracks["untargeted"]
    broken.baselines = ["broken"]
    broken.save()
    assert [pool.track.name for pool in services.make_first_pools()] == ["model"]


def test_a_private_competition_has_its_pools_when_it_begins(with_baselines: BoardFixture) -> None:
    competition = with_baselines.competition
    competition.public, competition.starts_at = False, clock.now() + timedelta(hours=1)
    competition.save()
    assert services.make_first_pools() == []
    competition.starts_at = clock.now() - timedelta(hours=1)
    competition.save()
    assert len(services.make_first_pools()) == 1


def test_a_first_pool_is_built(env: BoardFixture) -> None:
    track = env.tracks["untargeted"]
    track.baselines = ["gaussian-noise", "salt-and-pepper"]
    track.save()
    (pool,) = services.make_first_pools()
    players = [place.player for place in pool.places.select_related("player")]
    assert [player.baseline for player in players] == track.baselines
    assert {player.track_name for player in players} == {"untargeted"}
