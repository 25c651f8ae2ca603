"""Round page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.template.loader import render_to_string
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from competitions.models import Competition, FrozenLeaderboards, RulesVersion
from formats.query.matches.models import Match, Piece
from formats.query.rounds.models import RoundMatch, RoundStage, RoundWarning
from rounds.models import Round, RoundEntry
from submissions.models import Submission

Play = Callable[..., Round]

PAGE = "/competitions/digits/rounds/1"


def page_of(client: Client, track: str = "") -> str:
    """Return the page."""
    return client.get(PAGE + (f"?track={track}" if track else "")).content.decode()


@pytest.mark.parametrize(
    ("schedule", "samples", "text"),
    [
        ("halving", 4, "meets every remaining attack, on 4 secret samples. The median distance decides."),
        ("halving", 40, "first on ten of 40 secret samples, then on twice as many"),
        ("ladder-2", 10, "in stages of 2 and 5 of 10 secret samples."),
        ("ladder-2", 200, "in stages of 2, 5 and 20 of 200 secret samples."),
    ],
)
def test_the_schedule_names_no_more_samples_than_there_are(schedule: str, samples: int, text: str) -> None:
    shown = {"schedule": schedule, "sample_set": {"count": samples}}
    assert text in render_to_string("formats/query/parts/schedule_in_short.html", {"round": shown})


@pytest.mark.parametrize(
    ("schedule", "samples", "text"),
    [
        ("halving", 4, "meets every remaining attack, on all samples."),
        ("halving", 40, "on 10 samples, then on twice as many in each stage."),
        ("ladder", 30, "The stages use 8 and 16 samples."),
        ("ladder", 200, "The stages use 8, 16, 40 and 100 samples."),
        ("ladder-2", 10, "on 2 and 5 samples."),
        ("ladder-2", 200, "on 2, 5 and 20 samples."),
    ],
)
def test_nor_does_its_full_text(schedule: str, samples: int, text: str) -> None:
    shown = {"schedule": schedule, "sample_set": {"count": samples}}
    assert text in render_to_string("formats/query/parts/schedule_in_full.html", {"round": shown})


def test_the_page_shows_winners_intervals_the_cut_the_warned_pair_and_the_commitment(
    client: Client, play: Play
) -> None:
    play(30)
    page = page_of(client)
    for text in ("Round 1", "published", "Team of model-1", "Team of untargeted-5", "Team of targeted-5", "model-30"):
        assert text in page
    assert "1.88 to 2.08" in page, "the interval of the second model"
    assert "(2 to 3)" in page, "its rank interval"
    assert "The fifth <b>is not</b> separated from the sixth." in page
    assert "cut in stage 1 on 8 samples: mean rank 22.5, threshold 11.25" in page
    assert "Player untargeted-30 by Team of untargeted-30, against Player model-1 by Team of model-1" in page
    assert "on 6 of 8 samples" in page
    assert "0dd0dd" in page


def test_the_fifth_is_separated_from_the_sixth_though_teams_share_a_place(client: Client, play: Play) -> None:
    played = play(10)
    played.entries.filter(track__name="model", place=5).update(separated_from_next=True)
    second = played.entries.get(track__name="model", place=2)
    twin = played.entries.get(track__name="untargeted", order=1).submission
    twin.pk, twin.commit, twin.tag = None, "b" * 40, "submission-2"
    twin.save()
    second.pk, second.submission, second.order, second.prior = None, twin, 11, 11
    second.save()
    assert "The fifth <b>is</b> separated from the sixth." in page_of(client)


def test_it_says_what_its_numbers_mean(client: Client, play: Play) -> None:
    play(10)
    page = page_of(client)
    for text in (
        "with its 95 % interval over samples, against the opponents that counted.",
        "(L2 of pixels / 255, from 0 to ",
        ">Held</th>",
        "on more than half of the samples. The score is then the worst-case distance and carries little information",
    ):
        assert text in page
    assert ">Found nothing</th>" in page_of(client, "untargeted")


def test_failures_are_a_share_and_bars_share_one_axis(client: Client, play: Play) -> None:
    played = play(10)
    last = RoundStage.objects.filter(round=played, bracket="untargeted").order_by("number")[4]
    page = page_of(client)
    assert f"3 of {last.samples * 5:,}<" in page, "five opponents counted in the last stage"
    assert page.count('<svg class="axis"') == 1
    assert "Strongest opponent" in page
    assert "Hardest opponent" in page_of(client, "targeted")


def test_an_attack_is_not_scored_by_a_model_of_its_own_team(client: Client, play: Play) -> None:
    played = play(10)
    samples = RoundStage.objects.filter(round=played, bracket="untargeted").order_by("number")[4].samples
    attack = RoundEntry.objects.filter(round=played, track__name="untargeted", place=2)
    assert "Met 4 of 5" not in page_of(client, "untargeted")
    attack.update(met=4, value_against_all=1.234, prize_place=1)
    page = page_of(client, "untargeted")
    assert page.count(f"3 of {samples * 4:,}<") == 1
    assert page.count(f"3 of {samples * 5:,}<") == 9
    assert "met 4 of 5; 1.23 against all 5" in page
    assert "<b>Met 4 of 5</b>" in page
    assert page.count("For prizes: place 1<") == 1


def test_it_names_no_other_number_of_opponents_than_the_pools_have(client: Client, play: Play) -> None:
    rules = play(10).rules
    assert rules is not None
    RulesVersion.objects.filter(pk=rules.pk).update(values=rules.values | {"opponents": 7})
    page = page_of(client)
    assert "The rules of that day set their size" in page
    assert "first 7" not in page


def test_the_bracket_shows_all_stages(client: Client, play: Play) -> None:
    play(100)
    page = page_of(client, "untargeted")
    bracket = page[page.index('<table class="bracket">') :]
    for text in ("Stage 5", "50 of 100 advance", "cut line 37.50", "by median distance", "drawn again"):
        assert text in bracket
    assert "<b>Player model-5</b>" in bracket, "who counted"
    assert "<b>Player model-6</b>" not in bracket
    assert bracket.count('class="cut"') == 90
    assert "Team of targeted-7" not in page
    assert "Team of targeted-7" in page_of(client, "targeted")


def test_the_first_panel_is_hidden_while_leaderboards_are_frozen(client: Client, play: Play, olga: User) -> None:
    played = play(30)
    panel = "<li><b>Player untargeted-1</b></li>"
    shown = page_of(client).count(panel)
    window = played.window
    FrozenLeaderboards.objects.create(competition=window.competition, since=window.starts_at + timedelta(seconds=1))
    assert page_of(client).count(panel) == shown, "the boards were public when the round was frozen"
    FrozenLeaderboards.objects.update(since=window.starts_at)
    assert page_of(client).count(panel) == shown - 1
    client.force_login(olga)
    assert page_of(client).count(panel) == shown
    FrozenLeaderboards.objects.all().delete()
    client.logout()
    assert page_of(client).count(panel) == shown


def test_a_model_that_is_not_broken_has_no_rank(client: Client, play: Play) -> None:
    play(10)
    row = page_of(client).split("<tbody")[1].split("</tr>")[0]
    assert "not broken" in row
    assert "no place" in row


def test_entries_are_marked(client: Client, play: Play) -> None:
    played = play(10)
    models = list(played.entries.filter(track__name="model"))
    models[1].eligible, models[1].ineligible_because = False, "its licence is not open source"
    models[1].save()
    twin = played.entries.get(track__name="untargeted", order=1).submission
    twin.pk, twin.commit, twin.tag = None, "b" * 40, "submission-2"
    twin.save()
    shared = {"player": models[1].player, "place": 2, "stage": 5, "value": 1.98}
    RoundEntry.objects.create(round=played, track=models[1].track, submission=twin, order=11, prior=11, **shared)
    Submission.objects.filter(pk=models[2].submission_id).update(state="withdrawn")
    Submission.objects.filter(pk=models[3].submission_id).update(disqualified_at=played.planned_at)
    rows = page_of(client).split("<tbody")[1].split("</tr>")
    assert "No prize: its licence is not open source" in rows[1]
    assert "same content as another" in rows[1]
    assert "same content as another" in rows[2]
    assert "Team of untargeted-1" in rows[2]
    assert "No prize: it was withdrawn" in rows[3]
    assert "No prize: it was disqualified" in rows[4]


@pytest.mark.parametrize("state", ["planned", "frozen", "playing", "paused", "scored", "cancelled"])
def test_it_names_nobody_before_it_is_published(client: Client, play: Play, olga: User, state: str) -> None:
    play(10, state)
    for _ in ("the public", "an organiser"):
        page = page_of(client)
        assert "Team of" not in page
        assert "model-1" not in page
        assert "the secret salt" not in page
        assert "c0ffee" in page
        client.force_login(olga)


def test_only_organisers_get_a_link_to_the_admin(client: Client, planned: Round, olga: User, charlie: User) -> None:
    client.force_login(charlie)
    assert "/admin/rounds/round/" not in page_of(client)
    client.force_login(olga)
    assert f"/admin/rounds/round/{planned.pk}/change/" in page_of(client)


def test_it_shows_progress_and_polls(client: Client, play: Play, submission_pair: Match) -> None:
    played = Round.objects.get()
    Round.objects.update(state=Round.State.PLAYING)
    page = page_of(client)
    assert "Stage 1 of models and untargeted attacks" in page
    assert "10 of 20 triples played" in page
    again = page.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert client.get(again, headers={"HX-Request": "true"}).status_code == 204
    RoundStage.objects.create(
        round=played, bracket="untargeted", number=1, samples=200, ordered_by="median", panel={}, counted={}, loop=1,
        renewed=False,
    )  # fmt: skip
    changed = client.get(again, headers={"HX-Request": "true"}).content.decode()
    assert "Stage 1 of targeted attacks" in changed
    assert "<html" not in changed
    Round.objects.update(state=Round.State.PUBLISHED)
    assert client.get(again, headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"


@pytest.fixture
def submission_pair(play: Play, planned: Round, rules: RulesVersion) -> Match:
    """A match of round 1 that is half played."""
    play(1)
    RoundStage.objects.all().delete()
    RoundWarning.objects.all().delete()
    model, attack = (planned.entries.get(track__name=kind).player for kind in ("model", "untargeted"))
    match = Match.objects.create(
        rules=rules, sample_set=planned.sample_set, model=model, attack=attack, seed=1, created_at=planned.planned_at
    )
    RoundMatch.objects.create(round=planned, match=match)
    for number, state in enumerate(("played", "waiting")):
        Piece.objects.create(match=match, number=number, first=10 * number, count=10, state=state)
    return match


def test_it_takes_as_many_queries_for_a_hundred_of_each(
    client: Client, play: Play, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    play(100)
    client.force_login(bob)
    for track in ("model", "untargeted", "targeted"):
        with django_assert_max_num_queries(16):
            assert "model-5" in page_of(client, track)


@pytest.mark.parametrize(
    "address", ["/competitions/digits/rounds/2", f"{PAGE}?track=other", f"{PAGE}{10**30}", "/competitions/x/rounds/1"]
)
def test_it_rejects_unknown_addresses(client: Client, play: Play, address: str) -> None:
    play(2)
    assert client.get(address).status_code == 404


def test_it_rejects_users_of_a_hidden_competition(client: Client, planned: Round, olga: User) -> None:
    Competition.objects.update(public=False)
    assert client.get(PAGE).status_code == 404
    client.force_login(olga)
    assert client.get(PAGE).status_code == 200


def test_the_picture_of_the_bracket_holds_what_its_table_and_the_csv_file_hold(client: Client, play: Play) -> None:
    play(30)
    page = page_of(client)
    answer = client.get(f"{PAGE}/bracket/model.csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    figure = page.split('id="bracket-picture"')[1].split("</figure>")[0]
    kept = sum(row["outcome"] in {"kept", "spared"} for row in rows)
    cut = [row for row in rows if row["outcome"] in {"cut", "inconsistent"}]
    dots, crosses = re.findall(r'bracket-kept" d="([^"]+)"', figure), re.findall(r'bracket-cut" d="[^"]+"', figure)
    assert sum(path.count("M") for path in dots) == kept
    assert len(crosses) == len(cut) == 20
    for row in cut:
        assert f"<title>{row['player']}: {row['because']}</title>" in figure
    table = page.split('class="bracket"')[1].split("</table>")[0]
    cells = re.findall(r"<b>(\d+)</b> ([\d.]+)", table)
    assert cells == [(row["place"], row["value"]) for row in rows]
    assert ">15</text>" in figure, "so many advance from the first stage"


def test_cells_of_the_bracket_link_to_matches_where_they_are_public(
    client: Client, play: Play, rules: RulesVersion
) -> None:
    played = play(10)
    models, attacks = (
        list(RoundEntry.objects.filter(round=played, track__name=name)) for name in ("model", "untargeted")
    )
    made = [
        Match.objects.create(
            rules=rules, sample_set=played.sample_set, model=models[0].player, attack=attack.player, seed=1,
            state=Match.State.PLAYED, created_at=played.planned_at,
        )
        for attack in attacks[:2]
    ]  # fmt: skip
    for match in made:
        RoundMatch.objects.create(round=played, match=match, samples=8)
    table = page_of(client).split('class="bracket"')[1]
    assert f'/match-curves?match={made[0].pk}&amp;match={made[1].pk}">0.75</a>' in table
    since = played.window.starts_at - timedelta(days=1)
    FrozenLeaderboards.objects.create(competition=played.competition, since=since)
    page = page_of(client)
    assert "match-curves?" not in page
    assert 'id="bracket-picture"' in page, "cuts are public, who met whom is not"


def test_the_winners_have_their_interval_and_ties(client: Client, play: Play) -> None:
    played = play(10)
    RoundEntry.objects.filter(round=played, track__name="model", place=3).update(place=2)
    top = page_of(client).split('id="first"')[1].split("</section>")[0]
    assert "1.88 to 2.08; place 2 to 3; tied" in top
    assert top.count("; tied") == 2


def test_the_bracket_of_a_round_that_is_not_published_is_no_file(client: Client, play: Play) -> None:
    play(10, Round.State.PLAYING)
    assert client.get(f"{PAGE}/bracket/model.csv").status_code == 404
