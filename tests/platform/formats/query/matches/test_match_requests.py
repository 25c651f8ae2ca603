"""Requests for many matches, for some samples first and for more later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from competitions.models import Competition, RulesVersion, SampleSet
from formats.query.matches import piece_queue
from formats.query.matches.match_requests import request_matches
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import PlayedPiece
from formats.query.matches.selectors import waiting
from formats.query.matches.services import cancel, suspend
from submissions.models import Player
from tests.platform.claims import claim_piece
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers.models import Worker

ENDS = (3, 6, 10)

Played = Callable[[Piece], PlayedPiece]


@dataclass
class Requester:
    """Requests matches over the ten development samples, in pieces of 4 that also end at 3, 6 and 10."""

    rules: RulesVersion
    sample_set: SampleSet
    models: Sequence[Player]
    attacks: Sequence[Player]

    def pairs(self, models: int = 2, attacks: int = 2) -> list[tuple[Player, Player]]:
        return [(model, attack) for model in self.models[:models] for attack in self.attacks[:attacks]]

    def __call__(
        self, upto: int = 3, *, pairs: Sequence[tuple[Player, Player]] = (), repetition: int = 0
    ) -> list[Match]:
        wanted = pairs or self.pairs(1, 1)
        return request_matches(
            rules=self.rules, sample_set=self.sample_set, pairs=wanted, upto=upto, ends=ENDS, repetition=repetition
        )


@pytest.fixture
def requester(competition: Competition, rules: RulesVersion, sample_sets: dict[str, SampleSet]) -> Requester:
    """Four models and thirty attacks that are never built."""
    rules.values["piece_samples"] = 4
    rules.save()
    changed = RulesVersion.objects.select_related("competition").get(pk=rules.pk)

    def players(kind: str, count: int) -> list[Player]:
        return [
            Player.objects.create(
                competition=competition,
                track_name=kind,
                digest=f"sha256:{kind}-{number}",
                command=["python"],
                baseline=f"{kind}-{number}",
                title=f"{kind} {number}",
                created_at=competition.created_at,
            )
            for number in range(count)
        ]

    return Requester(changed, sample_sets["development"], players("model", 4), players("untargeted", 30))


def spans(match: Match) -> list[tuple[int, int, int]]:
    return list(match.pieces.values_list("number", "first", "count"))


def play_all(worker: Worker, played: Played) -> None:
    while claim := claim_piece(worker):
        piece_queue.commit(claim, played(claim.piece))


def test_a_request_for_more_samples_adds_pieces_to_the_matches_that_exist(requester: Requester) -> None:
    pairs = requester.pairs()
    matches = requester(3, pairs=pairs)
    assert [(match.model, match.attack) for match in matches] == pairs
    assert {match.state for match in matches} == {"waiting"}
    assert all(spans(match) == [(0, 0, 3)] for match in matches)
    again = requester(10, pairs=pairs[::-1])
    assert again == matches[::-1]
    assert all(spans(match) == [(0, 0, 3), (1, 3, 1), (2, 4, 2), (3, 6, 2), (4, 8, 2)] for match in matches)


def test_pieces_are_the_same_in_one_request_and_in_several(requester: Requester) -> None:
    (first,), (second,) = (requester(3, pairs=[pair]) for pair in requester.pairs(1, 2))
    for upto in ENDS:
        requester(upto, pairs=[(first.model, first.attack)])
    requester(10, pairs=[(second.model, second.attack)])
    assert spans(first) == spans(second)


@pytest.mark.django_db(transaction=True)
def test_existing_pieces_are_not_created_again(requester: Requester, notifications: list[str]) -> None:
    requester(6)
    assert notifications == ["workers.play"]
    requester(3)
    requester(6)
    assert notifications == ["workers.play"]
    assert (Match.objects.count(), Piece.objects.count()) == (1, 3)


def test_many_pairs_take_as_many_queries_as_one(requester: Requester) -> None:
    """Fifteen at most: SQLite writes no more than 999 values at once."""
    counts = []
    for pairs in (requester.pairs(1, 1), requester.pairs(2, 15)):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            requester(3, pairs=pairs)
        with CaptureQueriesContext(connection) as asked_again:
            requester(3, pairs=pairs)
        counts.append((len(asked), len(asked_again)))
    assert counts[0] == counts[1]
    assert counts[0] <= (11, 7)  # one query asks for the database's time, if the database has its own clock


def test_a_repetition_is_played_again_with_the_same_seed(requester: Requester) -> None:
    (first,), (second,) = requester(3), requester(3, repetition=7)
    assert first != second
    assert (first.seed, first.repetition, second.repetition) == (second.seed, 0, 7)


def test_a_finished_match_is_played_on(
    requester: Requester, make_worker: Callable[..., Worker], played: Played
) -> None:
    worker = make_worker()
    requester(3)
    play_all(worker, played)
    match = Match.objects.get()
    assert match.state == "played"
    (again,) = requester(6)
    match.refresh_from_db()
    assert (again.state, match.state, match.finished_at) == ("playing", "playing", None)
    play_all(worker, played)
    match.refresh_from_db()
    assert (match.state, match.audit["replayed"]) == ("played", 12)
    assert list(match.sample_results.values_list("sample", flat=True)) == list(range(6))


@pytest.mark.parametrize(("state", "pieces"), [("failed", 3), ("suspended", 3)])
def test_a_match_that_is_not_played_keeps_its_state(requester: Requester, state: str, pieces: int) -> None:
    (match,) = requester(3)
    Match.objects.update(state=state)
    requester(6)
    match.refresh_from_db()
    assert (match.state, match.pieces.count()) == (state, pieces)
    assert not waiting().exists()


def test_a_cancelled_match_is_reopened_on_request(
    requester: Requester, make_worker: Callable[..., Worker], played: Played
) -> None:
    (match,) = requester(6)
    worker = make_worker()
    first = claim_piece(worker)
    assert first is not None
    piece_queue.commit(first, played(first.piece))
    match.pieces.filter(number=1).update(state=Piece.State.FAILED, faults=3)
    cancel(Match.objects.all())
    (again,) = requester(6)
    match.refresh_from_db()
    assert (again.state, match.state, match.finished_at) == ("playing", "playing", None)
    assert match.pieces.get(number=1).faults == 0
    play_all(worker, played)
    match.refresh_from_db()
    assert match.state == "played"
    assert list(match.sample_results.values_list("sample", flat=True)) == list(range(6))


def test_a_cancelled_match_with_all_pieces_played_finishes_on_request(
    requester: Requester, make_worker: Callable[..., Worker], played: Played
) -> None:
    (match,) = requester(3)
    claim = claim_piece(make_worker())
    assert claim is not None
    cancel(Match.objects.all())
    piece_queue.commit(claim, played(claim.piece))
    (again,) = requester(3)
    match.refresh_from_db()
    assert (again.state, match.state, match.audit["replayed"]) == ("played", "played", 4)


def test_the_whole_set_can_follow_a_part_of_it(requester: Requester) -> None:
    (match,) = requester(3)
    whole = ensure_match(rules=requester.rules, sample_set=requester.sample_set, model=match.model, attack=match.attack)
    assert whole == match
    assert spans(match) == [(0, 0, 3), (1, 3, 1), (2, 4, 4), (3, 8, 2)]


@pytest.mark.parametrize("upto", [0, 11])
def test_it_rejects_missing_samples(requester: Requester, upto: int) -> None:
    with pytest.raises(ValueError, match=f"{upto} samples of a set of 10"):
        requester(upto)


def test_it_rejects_all_pairs_if_one_is_invalid(requester: Requester) -> None:
    model, attack = requester.pairs()[0]
    with pytest.raises(ValueError, match="a match needs a model and an attack"):
        requester(3, pairs=[(model, attack), (attack, model)])
    assert not Match.objects.exists()


def test_it_returns_nothing_for_no_pairs(requester: Requester) -> None:
    assert request_matches(rules=requester.rules, sample_set=requester.sample_set, pairs=[], upto=3) == []


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_create_nothing_twice(requester: Requester) -> None:
    pairs = requester.pairs(4, 5)

    def request(number: int) -> list[int]:
        order = pairs if number % 2 else pairs[::-1]
        try:
            return sorted(match.pk for match in requester(ENDS[number % 3], pairs=order))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        (keys,) = {tuple(keys) for keys in pool.map(request, range(6))}
    assert len(keys) == Match.objects.count() == 20
    assert {tuple(spans(match)) for match in Match.objects.all()} == {
        ((0, 0, 3), (1, 3, 1), (2, 4, 2), (3, 6, 2), (4, 8, 2))
    }


@pytest.mark.django_db(transaction=True)
def test_finishing_a_match_sees_concurrently_added_pieces(
    requester: Requester, make_worker: Callable[..., Worker], played: Played
) -> None:
    (match,) = requester(3)
    claim = claim_piece(make_worker())
    assert claim is not None

    def finish() -> None:
        try:
            piece_queue.commit(claim, played(claim.piece))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            requester(6)
            ending = pool.submit(finish)
            wait([ending], timeout=0.5)  # it ends in time only if it does not wait for the request
        ending.result()
    match.refresh_from_db()
    assert (match.state, waiting().count()) == ("playing", 2)


def test_suspend_resume_and_cancel_change_only_their_states(requester: Requester) -> None:
    keys = [match.pk for match in requester(3, pairs=requester.pairs())]
    chosen = Match.objects.filter(model=requester.models[0], pk__in=keys)
    assert suspend(chosen) == 2
    assert cancel(chosen.filter(attack=requester.attacks[0])) == 1
    assert list(Match.objects.values_list("state", flat=True)) == ["cancelled", "suspended", "waiting", "waiting"]
