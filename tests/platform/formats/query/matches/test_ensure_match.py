"""A match is created once, however often it is requested."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from accounts.models import User
from competitions.models import RulesVersion, SampleSet
from core.errors import Refusal
from core.models import Event
from formats.query.matches.models import Match, Piece
from formats.query.matches.services import replay_failed
from submissions.models import Player
from tests.platform.formats.query.matches.whole_match import ensure_match


def test_a_new_match_waits_and_its_pieces_cover_its_samples(match: Match) -> None:
    assert match.state == "waiting"
    assert [(piece.first, piece.count) for piece in match.pieces.all()] == [(0, 2), (2, 2), (4, 2)]
    assert 0 <= match.seed < 1 << 63


@pytest.mark.django_db(transaction=True)
def test_it_notifies_a_worker_once(match: Match, notifications: list[str]) -> None:
    assert notifications == ["workers.play"]
    ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.attack)
    assert notifications == ["workers.play"]


def test_the_last_piece_has_the_remaining_samples(
    rules: RulesVersion, sample_sets: dict[str, SampleSet], model: Player, attack: Player
) -> None:
    rules.values["piece_samples"] = 4
    rules.save()
    changed = RulesVersion.objects.get(pk=rules.pk)
    match = ensure_match(rules=changed, sample_set=sample_sets["validation"], model=model, attack=attack)
    assert [(piece.first, piece.count) for piece in match.pieces.all()] == [(0, 4), (4, 2)]


def test_it_returns_an_existing_match(match: Match) -> None:
    again = ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.attack)
    assert (again.pk, again.seed) == (match.pk, match.seed)
    assert Piece.objects.count() == 3


def test_its_seed_depends_on_what_is_played(match: Match, sample_sets: dict[str, SampleSet]) -> None:
    seed = match.seed
    other = ensure_match(
        rules=match.rules, sample_set=sample_sets["development"], model=match.model, attack=match.attack
    )
    assert other.seed != seed
    match.delete()
    again = ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.attack)
    assert again.seed == seed


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_get_the_same_match(
    rules: RulesVersion, sample_sets: dict[str, SampleSet], model: Player, attack: Player
) -> None:
    def request_matches(_: int) -> int:
        try:
            return ensure_match(rules=rules, sample_set=sample_sets["validation"], model=model, attack=attack).pk
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(request_matches, range(8)))) == 1
    assert Piece.objects.count() == 3


def test_it_rejects_two_players_of_one_side(match: Match) -> None:
    with pytest.raises(ValueError, match="a match needs a model and an attack"):
        ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.model)


def test_a_failed_match_is_replayed_on_request(match: Match, olga: User) -> None:
    Match.objects.filter(pk=match.pk).update(state="failed", fault="no engine")
    match.pieces.filter(number=1).update(state="failed", faults=3)
    match.pieces.filter(number=0).update(state="played")
    match.refresh_from_db()
    replay_failed(match, olga)
    assert (match.state, match.fault) == ("playing", "")
    assert list(match.pieces.values_list("state", "faults")) == [("played", 0), ("waiting", 0), ("waiting", 0)]
    assert Event.objects.get(verb="replay").data["fault"] == "no engine"


def test_it_rejects_to_replay_a_match_that_has_not_failed(match: Match, olga: User) -> None:
    with pytest.raises(Refusal, match="has not failed"):
        replay_failed(match, olga)
