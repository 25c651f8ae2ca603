"""The page of a match: numbers, charts, rows, and who sees them."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from PIL import Image as Picture

from accounts.models import User
from competitions.models import Competition, FrozenLeaderboards, SampleSet
from competitions.sample_store import samples_of
from core import object_store
from evaluation.domain.failure_reasons import Reason
from formats.query.leaderboards.models import Evaluation
from formats.query.matches.models import Match, Piece, SampleResult
from formats.query.rounds.models import RoundMatch
from rounds.models import Release, Round
from submissions.models import Submission
from tests.platform.pages.conftest import OUTCOMES

ROWS = 500


def page_of(client: Client, match: Match) -> str:
    answer = client.get(f"/matches/{match.pk}")
    assert answer.status_code == 200
    return answer.content.decode()


def table_of(client: Client, match: Match, name: str) -> list[dict[str, str]]:
    answer = client.get(f"/matches/{match.pk}/{name}.csv")
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


@pytest.fixture
def round_match(played_match: Match, planned: Round) -> RoundMatch:
    """The match as one of a published round, whose outcome uses its first four samples."""
    Evaluation.objects.get().matches.clear()
    Round.objects.filter(pk=planned.pk).update(state=Round.State.PUBLISHED)
    return RoundMatch.objects.create(round=planned, match=played_match, samples=4)


def release(round_: Round, by: User, *parts: str) -> None:
    for part in parts:
        Release.objects.create(round=round_, part=part, released_at=round_.planned_at, released_by=by)


def test_it_says_that_the_model_is_audited(client: Client, played_match: Match, shown: dict[str, Submission]) -> None:
    text = "All samples are played. The model is audited now"
    assert text not in page_of(client, played_match)
    Match.objects.filter(pk=played_match.pk).update(state=Match.State.AUDIT, finished_at=None, audit={})
    page = page_of(client, played_match)
    assert text in page
    assert "<dd>audit</dd>" in page


def test_it_says_which_player_failed_and_so_does_the_page_of_the_score(
    client: Client, played_match: Match, shown: dict[str, Submission]
) -> None:
    """One start that fails makes a score of 0: without this, neither page says why."""
    reason = Reason.EXITED_IN_SETUP
    failure = {"side": "model", "reason": str(reason), "text": reason.text, "detail": "", "in_setup": True}
    address = f"/submissions/{shown['scored'].pk}"
    assert "failed" not in page_of(client, played_match)
    assert "model failed" not in client.get(address).content.decode()
    played_match.pieces.update(failures=[failure])
    text = "<b>The model failed</b> Its process ended before it connected to the referee."
    assert text in page_of(client, played_match)
    assert '<span class="tag">model failed</span>' in client.get(address).content.decode()


def test_it_shows_what_a_score_is_made_of(client: Client, played_match: Match, shown: dict[str, Submission]) -> None:
    page = page_of(client, played_match)
    for text in (
        "Boundary attack",
        f'<a href="/submissions/{shown["scored"].pk}">Owl 1</a>',
        "by The Owls",
        "<b>2.000</b>",  # of 0, 1, 1.5, 2.5, 30 and 30
        "3 of 6",
        "2 of 6",
        "1 of 6",
        "passed",
        "version 1",
        "The attack found no adversarial. 1 sample.",
    ):
        assert text in page
    assert "style=" not in page


def test_a_submission_that_two_pools_measured_is_listed_once(
    client: Client, played_match: Match, shown: dict[str, Submission]
) -> None:
    again = played_match.evaluations.get()
    pool = again.pool
    pool.pk, pool.number = None, pool.number + 1
    pool.save()
    again.pk, again.pool = None, pool
    again.save()
    again.matches.add(played_match)
    page = page_of(client, played_match)
    scores = page[page.index("Part of the score of") :].split("</p>")[0]
    assert scores.count(f"/submissions/{shown['scored'].pk}") == 1


def test_it_reads_its_rules_once(client: Client, played_match: Match, olga: User, reads: Counter[str]) -> None:
    client.force_login(olga)
    page_of(client, played_match)
    assert reads == {"rules": 1}


def test_the_curve_says_for_each_distance_how_many_samples_had_an_adversarial(
    client: Client, played_match: Match
) -> None:
    found = {float(row["distance"]): float(row["share"]) for row in table_of(client, played_match, "success")}
    expected = {0.1: 1 / 6, 0.7: 1 / 6, 1.0: 2 / 6, 1.5: 3 / 6, 2.0: 3 / 6, 3.0: 4 / 6, 70.0: 4 / 6}
    for distance, share in expected.items():
        assert found[distance] == pytest.approx(share, abs=1e-4)
    page = page_of(client, played_match)
    assert "Points at fixed distances" in page
    assert "chart-dots" in page


def test_the_curve_of_public_samples_has_a_step_at_each_distance(client: Client, played_match: Match) -> None:
    SampleSet.objects.filter(pk=played_match.sample_set_id).update(purpose=SampleSet.Purpose.DEVELOPMENT)
    found = {float(row["distance"]): float(row["share"]) for row in table_of(client, played_match, "success")}
    assert found == {0.03: 0.1667, 1.0: 0.3333, 1.5: 0.5, 2.5: 0.6667, 70.0: 0.6667}
    assert "Points at fixed distances" not in page_of(client, played_match)


def test_organisers_see_the_rows_and_the_curves_over_queries(client: Client, played_match: Match, olga: User) -> None:
    client.force_login(olga)
    page = page_of(client, played_match)
    for text in ("Samples</h2>", "no adversarial", "Distance against queries", "Success against queries"):
        assert text in page
    rows = table_of(client, played_match, "samples")
    assert [(row["outcome"], float(row["distance"]), int(row["queries"]), row["reason"]) for row in rows] == list(
        OUTCOMES
    )
    falling = {int(row["queries"]): row for row in table_of(client, played_match, "queries")}
    # of six samples: one is at 0, three fall from 20 at queries 10 to 40, two stay at their worst case, 30
    assert float(falling[7]["median"]) == 30
    assert float(falling[50]["median"]) == 2
    assert sum(int(row["samples"]) for row in table_of(client, played_match, "distribution")) == 6
    within = {int(row["queries"]): row for row in table_of(client, played_match, "budgets")}
    assert float(within[50]["within 2"]) == 0.5
    assert float(within[30]["within 2"]) == pytest.approx(1 / 6, abs=1e-4)


def test_secret_samples_show_no_row_no_seed_and_no_worst_case(client: Client, played_match: Match, bob: User) -> None:
    client.force_login(bob)
    page = page_of(client, played_match)
    for text in (str(played_match.seed), "30.000", "Samples</h2>", "validation --", "Distance against queries"):
        assert text not in page
    for name in ("samples", "queries", "budgets", "distribution"):
        assert client.get(f"/matches/{played_match.pk}/{name}.csv").status_code == 404


def test_development_samples_show_everything(client: Client, played_match: Match) -> None:
    SampleSet.objects.filter(pk=played_match.sample_set_id).update(purpose=SampleSet.Purpose.DEVELOPMENT)
    assert "CSV of the samples" in page_of(client, played_match)
    assert len(table_of(client, played_match, "samples")) == 6


@pytest.mark.parametrize(
    ("changes", "status"),
    [({}, 200), ({"state": "playing"}, 404), ({"state": "void"}, 404), ({"counts": False}, 404)],
)
def test_it_is_public_with_a_counted_score(
    client: Client, played_match: Match, changes: dict[str, Any], status: int
) -> None:
    Evaluation.objects.update(**changes)
    assert client.get(f"/matches/{played_match.pk}").status_code == status


@pytest.mark.parametrize(("hours", "public"), [(1, True), (-1, False)])
def test_a_frozen_leaderboard_hides_later_matches_from_all_but_the_team(
    client: Client, played_match: Match, competition: Competition, bob: User, charlie: User, hours: int, public: bool
) -> None:
    finished = Evaluation.objects.get().finished_at
    assert finished is not None
    since = finished + timedelta(hours=hours)
    FrozenLeaderboards.objects.create(competition=Competition.objects.get(), since=since)
    for user, sees in ((None, public), (charlie, public), (bob, True)):
        if user:
            client.force_login(user)
        assert client.get(f"/matches/{played_match.pk}").status_code == (200 if sees else 404)


@pytest.mark.parametrize("state", [state for state in Round.State if state != Round.State.PUBLISHED])
def test_a_match_of_a_round_is_secret_until_it_is_published(
    client: Client, round_match: RoundMatch, state: str, bob: User, olga: User
) -> None:
    Round.objects.update(state=state)
    client.force_login(bob)
    assert client.get(f"/matches/{round_match.match_id}").status_code == 404
    client.force_login(olga)
    assert client.get(f"/matches/{round_match.match_id}").status_code == 200


def test_a_match_that_the_outcome_does_not_use_is_secret(client: Client, round_match: RoundMatch) -> None:
    RoundMatch.objects.update(samples=0)
    assert client.get(f"/matches/{round_match.match_id}").status_code == 404


def test_a_round_shows_only_the_samples_that_its_outcome_uses(
    client: Client, round_match: RoundMatch, olga: User
) -> None:
    release(round_match.round, olga, Release.Part.BUNDLE)
    assert "3 of 4" in page_of(client, round_match.match)
    assert len(table_of(client, round_match.match, "samples")) == 4


def test_pairs_of_a_round_after_a_freeze_are_secret_until_the_leaderboards_are_released(
    client: Client, round_match: RoundMatch
) -> None:
    since = round_match.round.window.starts_at
    FrozenLeaderboards.objects.create(competition=Competition.objects.get(), since=since + timedelta(seconds=1))
    assert client.get(f"/matches/{round_match.match_id}").status_code == 200
    FrozenLeaderboards.objects.update(since=since)
    assert client.get(f"/matches/{round_match.match_id}").status_code == 404


def test_rows_of_a_round_are_public_with_the_bundle_until_it_is_withdrawn(
    client: Client, round_match: RoundMatch, olga: User
) -> None:
    release(round_match.round, olga, Release.Part.IMAGES, Release.Part.PERTURBED)
    assert "CSV of the samples" not in page_of(client, round_match.match)
    release(round_match.round, olga, Release.Part.BUNDLE)
    assert "CSV of the samples" in page_of(client, round_match.match)
    Release.objects.filter(part=Release.Part.BUNDLE).update(withdrawn_at=round_match.round.planned_at)
    assert "CSV of the samples" not in page_of(client, round_match.match)


@pytest.mark.parametrize(
    ("parts", "seen"),
    [
        ((), set()),
        ((Release.Part.BUNDLE,), set()),
        ((Release.Part.IMAGES,), {"clean"}),
        ((Release.Part.PERTURBED,), {"perturbed"}),
        ((Release.Part.IMAGES, Release.Part.PERTURBED), {"clean", "perturbed", "difference-1", "difference-100"}),
    ],
)
def test_each_picture_follows_its_release(
    client: Client, round_match: RoundMatch, olga: User, parts: tuple[str, ...], seen: set[str]
) -> None:
    release(round_match.round, olga, *parts)
    for name in ("clean", "perturbed", "difference-1", "difference-100"):
        for sample, inside in ((1, True), (4, False), (99, False)):  # the outcome uses four samples
            answer = client.get(f"/matches/{round_match.match_id}/samples/{sample}/{name}.png")
            assert answer.status_code == (200 if name in seen and inside else 404), (name, sample)
            if answer.status_code == 200:
                assert answer.headers["Cache-Control"] == "private, max-age=600"
    assert 'id="gallery"' not in page_of(client, round_match.match)  # rows follow the bundle


def test_pictures_are_those_of_the_sample_and_its_result(
    client: Client, played_match: Match, olga: User, sample_set: SampleSet
) -> None:
    client.force_login(olga)

    def pixels(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        answer = client.get(f"/matches/{played_match.pk}/samples/1/{name}.png")
        return np.asarray(Picture.open(io.BytesIO(answer.content)))

    clean = samples_of(sample_set)[1].image
    np.testing.assert_array_equal(pixels("clean"), clean)
    np.testing.assert_array_equal(pixels("perturbed"), clean ^ 1)
    step = (clean ^ 1).astype(int) - clean
    np.testing.assert_array_equal(pixels("difference-25"), 128 + 25 * step)
    assert client.get(f"/matches/{played_match.pk}/samples/1/difference-3.png").status_code == 404


def test_the_gallery_shows_adversarials_smallest_first_and_amplifies_in_steps(
    client: Client, played_match: Match, olga: User
) -> None:
    client.force_login(olga)
    page = client.get(f"/matches/{played_match.pk}?amplify=25").content.decode()
    shown = re.findall(r"Sample (\d): distance <b>([\d.]+)</b>", page)
    assert shown == [("1", "1.000"), ("2", "1.500"), ("3", "2.500")]
    assert f"/matches/{played_match.pk}/samples/1/difference-25.png" in page
    for wrong in ("3", "x", "-1"):
        assert "difference-10.png" in client.get(f"/matches/{played_match.pk}?amplify={wrong}").content.decode()


def test_it_says_how_to_play_a_released_match_again(client: Client, round_match: RoundMatch, olga: User) -> None:
    release(round_match.round, olga, Release.Part.BUNDLE)
    assert str(round_match.match.seed) not in page_of(client, round_match.match)
    release(round_match.round, olga, Release.Part.IMAGES)
    page = page_of(client, round_match.match)
    for text in (
        "gauntlet new untargeted boundary --like boundary",
        "curl -o digits-round-1-images.zip http://testserver/competitions/digits/rounds/1/files/images",
        "--dataset released:digits-round-1-images.zip",
        "--samples 4",
        "--pieces 2,2",
        "--budget 50",
        f"--seed {round_match.match.seed}",
        "The code of Owl 1 is not public",
    ):
        assert text in page


def test_it_offers_the_development_samples_while_the_samples_are_secret(
    client: Client, played_match: Match, sample_set: SampleSet
) -> None:
    assert "Play it on your computer" not in page_of(client, played_match)
    sample_set.pk, sample_set.name, sample_set.purpose, sample_set.split = None, "dev", "development", "dev"
    sample_set.save()
    page = page_of(client, played_match)
    assert "--competition http://testserver/competitions/digits" in page
    assert "--budget" not in page
    assert "--seed 0" in page
    rules = played_match.rules
    rules.pk, rules.version = None, rules.version + 1
    rules.save()  # the address now stands for other rules than those of the match
    page = page_of(client, played_match)
    assert "--competition" not in page
    for option in ("--split dev", "--budget 50"):
        assert option in page


@pytest.mark.parametrize("values", [{"source": "tiny-imagenet:/srv/data"}, {"order": "secret"}, {"skip": 5}])
def test_it_offers_the_archive_of_development_samples_that_a_name_does_not_say(
    client: Client, played_match: Match, sample_set: SampleSet, values: dict[str, object]
) -> None:
    sample_set.pk, sample_set.name, sample_set.purpose, sample_set.split = None, "dev", "development", "dev"
    sample_set.save()
    SampleSet.objects.filter(pk=sample_set.pk).update(**values)
    assert "--competition http://testserver/competitions/digits" in page_of(client, played_match)
    rules = played_match.rules
    rules.pk, rules.version = None, rules.version + 1
    rules.save()
    page = page_of(client, played_match)
    assert "curl -o digits-development.zip http://testserver/competitions/digits/development.zip" in page
    assert "--dataset released:digits-development.zip" in page
    assert "/srv/data" not in page


def test_of_many_matches_it_offers_to_compare_the_nearest(client: Client, round_match: RoundMatch) -> None:
    match, number = round_match.match, round_match.match_id
    others = []
    for median in (5.0, 1.0, 4.0, 2.0, 3.0):
        match.pk, match.repetition = None, match.repetition + 1
        match.save()
        RoundMatch.objects.create(round=round_match.round, match=match, samples=4, median=median)
        others.append(match.pk)
    nearest = [others[1], others[3], others[4], others[2]]
    address = "&amp;".join(f"match={each}" for each in (number, *nearest))
    page = client.get(f"/matches/{number}").content.decode()
    assert f'{address}">other attacks on this model (the 4 nearest of 5)</a>' in page


def test_scores_link_to_their_matches(client: Client, played_match: Match, shown: dict[str, Submission]) -> None:
    link = f'href="/matches/{played_match.pk}"'
    assert link in client.get(f"/submissions/{shown['scored'].pk}").content.decode()
    assert link in client.get("/competitions/digits/leaderboards/model").content.decode()


def test_a_missing_file_costs_only_the_curves(
    client: Client, played_match: Match, olga: User, caplog: pytest.LogCaptureFixture
) -> None:
    client.force_login(olga)
    for piece in Piece.objects.all():
        object_store.remove(piece.artefact)
    page = page_of(client, played_match)
    assert "CSV of the samples" in page
    assert "Distance against queries" not in page


def test_it_takes_as_many_queries_for_500_samples_as_for_six(client: Client, played_match: Match) -> None:
    page_of(client, played_match)  # fills the caches
    with CaptureQueriesContext(connection) as six:
        assert "3 of 6" in page_of(client, played_match)
    _add_rows(played_match)
    with CaptureQueriesContext(connection) as many:
        assert "497 of 500" in page_of(client, played_match)
    assert len(many) == len(six) < 16


def _add_rows(match: Match) -> None:
    """Add rows up to 500 samples, without queries."""
    piece = match.pieces.latest("first")
    SampleResult.objects.bulk_create(
        SampleResult(
            match=match, piece=piece, sample=number, outcome="adversarial", distance=1.0, worst_case=30.0, queries=5,
            seconds=0.1,
        )
        for number in range(6, ROWS)
    )  # fmt: skip
