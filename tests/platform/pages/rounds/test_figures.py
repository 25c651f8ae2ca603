"""The figures of a round of the query format: equal to standings and results, and hidden like these."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import FrozenLeaderboards, RulesVersion, SampleSet
from formats.query.leaderboards.models import Evaluation, Pool
from formats.query.matches.models import Match
from formats.query.rounds.models import RoundMatch, RoundStage
from rounds.models import Round, RoundEntry
from submissions.models import Submission
from tests.platform.pages.conftest import evaluated, play_piece

Play = Callable[..., Round]

PAGE = "/competitions/digits/rounds/1"
COUNTED = ((("adversarial", 1.0), ("adversarial", 4.0)), (("adversarial", 2.0), ("adversarial", 0.5)))
"""The samples of the first model against the two attacks that count; the closest ones are 1.0 and 0.5."""


def rows(client: Client, name: str) -> list[dict[str, str]]:
    answer = client.get(f"{PAGE}/figures/{name}.csv")
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


@pytest.fixture
def measured(
    play: Play, planned: Round, pool: Pool, played_match: Match, sample_set: SampleSet, rules: RulesVersion
) -> Round:
    """A published round of three players on each track.

    The first model met two attacks that count, on two samples that the outcome uses and on two others; the second one
    has a score against the first pool, from `played_match`, and one against a later pool.
    """
    play(3)
    planned.sample_set = sample_set
    planned.save()
    models = list(planned.entries.filter(track__name="model").order_by("place"))
    attacks = list(planned.entries.filter(track__name="untargeted").order_by("place")[:2])
    RoundStage.objects.filter(bracket="untargeted", number=5).update(
        samples=2, counted={"models": [], "attacks": [each.player.digest for each in attacks]}
    )
    for attack, outcomes in zip(attacks, COUNTED, strict=True):
        match = Match.objects.create(
            rules=rules, sample_set=sample_set, model=models[0].player, attack=attack.player, seed=1, state="played",
            created_at=planned.planned_at,
        )  # fmt: skip
        play_piece(match, 0, [(outcome, distance, 40, "") for outcome, distance in outcomes])
        play_piece(match, 2, [("adversarial", 0.01, 40, "")] * 2)
        RoundMatch.objects.create(round=planned, match=match, samples=2)
    second = models[1].submission
    first = evaluated(second, pool, sample_set, rules)
    first.matches.add(played_match)
    later = Pool.objects.create(track=pool.track, number=2, made_at=planned.planned_at, reason="A better one.")
    later.places.create(place=1, player=pool.players.get())
    evaluated(second, later, sample_set, rules)
    Evaluation.objects.filter(pool=later).update(value=0.25)
    return planned


def test_medians_are_the_scores_of_the_leaderboard_and_of_the_round(client: Client, measured: Round) -> None:
    found = rows(client, "robustness")
    first, counted = "attacks of the first pool", "attacks that count in this round"
    values = {row.place: row.value for row in measured.entries.filter(track__name="model")}
    assert [(row["place"], row[first], row[counted]) for row in found] == [
        ("1", "", ""),  # not broken, and never met the first pool
        ("2", "1.25", f"{values[2]:g}"),
        ("3", "", f"{values[3]:g}"),
    ]
    page = client.get(PAGE).content.decode()
    assert 'id="robustness"' in page
    drawing = client.get(f"{PAGE}/figures/robustness.svg")
    assert drawing["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert f">{counted}</text>" in drawing.content.decode()


def test_curves_count_the_closest_adversarial_of_the_attacks_of_a_set(client: Client, measured: Round) -> None:
    counted = rows(client, "counted-attacks")
    assert set(counted[0]) == {"distance", "Team of model-1"}
    for row in counted:
        closest = [1.0, 0.5]
        share = sum(distance <= float(row["distance"]) for distance in closest) / 2
        assert float(row["Team of model-1"]) == share
    pool = rows(client, "first-pool")
    assert set(pool[0]) == {"distance", "Team of model-2"}
    for row in pool:
        share = sum(distance <= float(row["distance"]) for distance in (0.0, 1.0, 1.5, 2.5)) / 6
        assert float(row["Team of model-2"]) == pytest.approx(share, abs=1e-4)
    for name in ("counted-attacks", "first-pool"):  # the samples are secret: between two distances nothing is known
        drawing = client.get(f"{PAGE}/figures/{name}.svg").content.decode()
        curve = re.search('class="chart-line chart-1" d="(M[^"]+)"', drawing)
        assert curve is not None
        assert "H" not in curve[1], "steps would say that successes are at the next larger distance"
        assert drawing.count('class="chart-dots chart-1"') == 1


def test_two_models_of_a_team_have_a_curve_each(client: Client, measured: Round, rules: RulesVersion) -> None:
    """One counts for the team, and another is one of its submissions that an organiser made a baseline."""
    first, _, third = measured.entries.filter(track__name="model").order_by("place")
    at = measured.planned_at
    of_team = {"repository": first.submission.repository, "commit": "b" * 40, "tag": "submission-2"}
    Submission.objects.filter(pk=third.submission_id).update(baseline_at=at, **of_team)
    attack = Match.objects.filter(model=first.player)[0].attack
    match = Match.objects.create(
        rules=rules, sample_set=measured.sample_set, model=third.player, attack=attack, seed=1, state="played",
        created_at=at,
    )  # fmt: skip
    play_piece(match, 0, [("adversarial", 0.25, 40, "")] * 2)
    RoundMatch.objects.create(round=measured, match=match, samples=2)
    names = [f"Team of model-1, submission {each.submission_id}" for each in (first, third)]
    counted = rows(client, "counted-attacks")
    assert list(counted[0]) == ["distance", *names]
    for row in counted:
        share = sum(distance <= float(row["distance"]) for distance in (1.0, 0.5)) / 2
        assert [float(row[name]) for name in names] == [share, float(row["distance"]) >= 0.25]


def test_a_round_has_no_figures_before_it_is_published(client: Client, measured: Round, olga: User) -> None:
    Round.objects.update(state=Round.State.SCORED)
    client.force_login(olga)
    assert 'id="figures"' not in client.get(PAGE).content.decode()
    for name in ("robustness", "first-pool", "counted-attacks"):
        assert client.get(f"{PAGE}/figures/{name}.csv").status_code == 404
        assert client.get(f"{PAGE}/figures/{name}.svg").status_code == 404
    assert "The best scores by round" not in client.get("/competitions/digits/history/model").content.decode()


def test_frozen_leaderboards_hide_what_would_show_their_scores(client: Client, measured: Round, olga: User) -> None:
    since = measured.planned_at - timedelta(days=1)
    FrozenLeaderboards.objects.create(competition=measured.competition, since=since)
    assert client.get(f"{PAGE}/figures/first-pool.csv").status_code == 404
    assert client.get(f"{PAGE}/figures/counted-attacks.csv").status_code == 404
    assert {row["attacks of the first pool"] for row in rows(client, "robustness")} == {""}
    client.force_login(olga)
    assert rows(client, "first-pool")
    assert rows(client, "counted-attacks")


def test_the_best_by_round_are_the_first_that_are_still_there(client: Client, measured: Round) -> None:
    address = "/competitions/digits/history/model/rounds"
    columns = dict(measured.competition.tracks.values_list("name", "title"))

    def best(track: str) -> tuple[str, str]:
        (row,) = csv.DictReader(io.StringIO(client.get(f"{address}.csv").content.decode()))
        return row[columns[track]], row[f"first of {columns[track]}"]

    assert best("model") == ("", "Team of model-1"), "it is not broken"
    assert best("untargeted") == ("1.01", "Team of untargeted-1")
    winner = RoundEntry.objects.get(track__name="untargeted", place=1)
    Submission.objects.filter(pk=winner.submission_id).update(disqualified_at=measured.planned_at)
    assert best("untargeted") == ("1.02", "Team of untargeted-2")
    assert client.get(f"{address}.svg").status_code == 200
    assert 'id="rounds"' in client.get("/competitions/digits/history/model").content.decode()
