"""Compared curves of submissions and of matches."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import Competition, FrozenLeaderboards
from formats.query.leaderboards.models import Evaluation
from formats.query.matches.models import Match
from submissions.models import Submission
from tests.platform.pages.conftest import play_piece

CURVES = "/competitions/digits/curves/model"
MATCHES = "/competitions/digits/match-curves"


def rows_of(client: Client, address: str) -> list[dict[str, str]]:
    answer = client.get(address)
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_a_submission_has_the_share_of_its_samples_with_an_adversarial_within_each_distance(
    client: Client, played_match: Match, shown: dict[str, Submission]
) -> None:
    scored = shown["scored"].pk
    name = f"{scored}: Owl 1 by The Owls"
    found = {float(row["distance"]): float(row[name]) for row in rows_of(client, f"{CURVES}.csv?submission={scored}")}
    assert found[0.1] == pytest.approx(1 / 6, abs=1e-4)
    assert found[1.5] == 0.5
    assert found[70.0] == pytest.approx(4 / 6, abs=1e-4)
    page = client.get(CURVES).content.decode()
    assert f'value="{scored}" checked' in page
    assert f"/curves/model.csv?submission={scored}" in page


def test_a_model_counts_a_sample_with_its_closest_adversarial_of_all_attacks(
    client: Client, played_match: Match, shown: dict[str, Submission]
) -> None:
    first = played_match.pk
    played_match.pk, played_match.repetition = None, 1
    played_match.save()
    play_piece(played_match, 0, [("adversarial", 2.0, 10, "")] * 6)
    Evaluation.objects.get().matches.set([first, played_match.pk])
    address = f"{CURVES}.csv?submission={shown['scored'].pk}"
    found = {float(row.pop("distance")): float(*row.values()) for row in rows_of(client, address)}
    assert found[1.5] == 0.5
    assert found[2.0] == 1


def test_it_takes_the_first_five_and_ignores_what_is_no_number(client: Client, played_match: Match) -> None:
    numbers = "&".join(f"match={number}" for number in ("x", "-1", played_match.pk, played_match.pk))
    rows = rows_of(client, f"{MATCHES}/success.csv?{numbers}")
    assert list(rows[0]) == ["distance", f"{played_match.pk}: Boundary attack against Owl 1"]


def test_hidden_scores_and_matches_have_no_curve(
    client: Client, played_match: Match, shown: dict[str, Submission], competition: Competition, olga: User
) -> None:
    finished = Evaluation.objects.get().finished_at
    assert finished is not None
    since = finished - timedelta(hours=1)
    FrozenLeaderboards.objects.create(competition=Competition.objects.get(), since=since)
    addresses = (f"{CURVES}.csv?submission={shown['scored'].pk}", f"{MATCHES}?match={played_match.pk}")
    for address in addresses:
        assert client.get(address).status_code == 404
    client.force_login(olga)
    for address in addresses:
        assert client.get(address).status_code == 200


def test_curves_over_queries_are_only_for_those_who_see_every_query(
    client: Client, played_match: Match, olga: User
) -> None:
    address = f"{MATCHES}/budgets.csv?match={played_match.pk}&distance=2"
    assert client.get(address).status_code == 404
    client.force_login(olga)
    name = f"{played_match.pk}: Boundary attack against Owl 1"
    within = {int(row["queries"]): float(row[name]) for row in rows_of(client, address)}
    assert within[30] == pytest.approx(1 / 6, abs=1e-4)
    assert within[50] == 0.5
    assert "within 2<" in client.get(f"{MATCHES}?match={played_match.pk}&distance=2").content.decode()


def test_a_match_of_another_competition_is_not_found(client: Client, played_match: Match) -> None:
    Competition.objects.create(
        slug="other", title="Other", public=True, starts_at=played_match.created_at,
        ends_at=played_match.created_at + timedelta(days=1), created_at=played_match.created_at,
    )  # fmt: skip
    assert client.get(f"/competitions/other/match-curves?match={played_match.pk}").status_code == 404
