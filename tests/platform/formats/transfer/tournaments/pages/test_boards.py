"""Leaderboard, matrix, pair, submission and team page of the transfer format, and what a freeze hides."""

from __future__ import annotations

import csv
import html
import io
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from competitions.models import Competition, FrozenLeaderboards, RulesVersion
from evaluation.legacy.environment import VARIABLE
from formats.transfer.pages import pair_page_data, submission_page_data
from formats.transfer.tournaments import services
from formats.transfer.tournaments.boards import board_of
from formats.transfer.tournaments.models import Entrant, Tournament
from pages.competition.data_set_page_data import data_set
from submissions.models import Submission
from tests.platform.formats.transfer.tournaments.pages.conftest import Send, play
from tests.platform.pages.test_news import titles

pytestmark = pytest.mark.usefixtures("others_read_first")

BOARD = "/competitions/transfer/leaderboards"
MATRIX = "/competitions/transfer/matrix/attack"

# attack: six images in batches of four and two; one is not made, so 5 // 2 = 1 + 1 of 6 fool the defence
FOOLED = 2


def text_of(client: Client, address: str) -> str:
    """Return a page."""
    return client.get(address).content.decode().replace("\N{NO-BREAK SPACE}", " ")


def rows_of(client: Client, address: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(client.get(address).content.decode())))


def test_feeds_have_the_scores_of_teams_until_a_freeze(
    client: Client, played: Tournament, transfer: Competition
) -> None:
    feeds = [f"{BOARD}/attack/feed.atom", "/teams/owls/feed.atom"]
    attack, owls = (titles(client, feed) for feed in feeds)
    assert attack == ["The Owls: Brighter, 33.3 %"]
    assert owls == ["The Owls: Aimed, 33.3 %", *attack]
    FrozenLeaderboards.objects.create(competition=transfer, since=timezone.now())
    assert [titles(client, feed) for feed in feeds] == [[], []]


def test_the_board_has_scores_and_marks_baselines(client: Client, played: Tournament) -> None:
    owls, baseline = rows_of(client, f"{BOARD}/attack.csv")
    assert (owls["rank"], owls["team"], owls["raw"], owls["baseline"]) == ("1", "owls", str(FOOLED), "False")
    assert [float(owls[name]) for name in ("score", "coverage")] == pytest.approx([FOOLED / 6, 5 / 6])
    assert (baseline["rank"], baseline["title"], baseline["baseline"]) == ("2", "noop", "True")
    page = text_of(client, f"{BOARD}/attack")
    for text in (
        "33.3 %",
        "83.3 %",
        "The Owls",
        "Brighter",
        "baseline",
        "once it has met every opponent",
        "1 opponent.",
    ):
        assert text in page
    answer = client.get("/api/v1/competitions/transfer/leaderboards/attack").json()
    assert [row["score"] for row in answer["rows"]] == [round(FOOLED / 6, 6), 0.0]
    assert answer["frozen_since"] is None


def test_who_is_being_evaluated_is_listed_with_its_progress(
    client: Client, played: Tournament, send: Send, transfer: Competition
) -> None:
    newer = send("bats", "defence", "Median of nine")
    services.advance(played)
    page = text_of(client, f"{BOARD}/defence")
    assert "Being evaluated" in page
    assert "0 of 6" in page  # three attacks on two batches
    assert "Median of five" in page
    play(played, most=2)
    assert "2 of 6" in text_of(client, f"{BOARD}/defence")
    assert "2 of 6 runs played" in text_of(client, reverse("pages:submission", args=[newer.pk]))
    play(played)
    page = text_of(client, f"{BOARD}/defence")
    assert "Being evaluated" not in page
    assert "Median of five" not in page


def test_the_page_of_a_submission_that_a_newer_one_replaced_says_so_and_waits_for_nothing(
    client: Client, played: Tournament, send: Send
) -> None:
    counted = Submission.objects.get(title="Median of five")
    replaced, newest = send("bats", "defence", "Median of nine"), send("bats", "defence", "Median of ten")
    services.advance(played)
    client.force_login(replaced.submitted_by)
    address = reverse("pages:submission", args=[replaced.pk])
    page = text_of(client, address)
    assert f"Submission {newest.pk}</a> is newer and is evaluated in its place" in page
    assert "the score appears here" in text_of(client, reverse("pages:submission", args=[newest.pk]))
    play(played)
    for each in (counted, replaced):
        page = text_of(client, reverse("pages:submission", args=[each.pk]))
        assert f"Submission {newest.pk}</a> is newer and counts on the" in page
        assert "the score appears here" not in page
        assert "data-live" not in page, "nothing of it changes any more"


def test_the_board_needs_few_queries(
    client: Client, played: Tournament, send: Send, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        send(f"team-{number}", "attack", f"Attack {number}")
    play(played)
    track = played.competition.tracks.get(name="attack")
    with django_assert_max_num_queries(12):
        assert len(board_of(track).rows) == 14
    for address in (MATRIX, "/", "/competitions/transfer", f"{BOARD}/attack"):
        with django_assert_max_num_queries(40):
            client.get(address)


def test_the_matrix_counts_the_batches_of_an_epsilon(client: Client, played: Tournament) -> None:
    owls, baseline = rows_of(client, f"{MATRIX}.csv")
    assert (owls["attack"], owls["defence"], owls["images"], owls["made"]) == ("Brighter", "Median of five", "6", "5")
    assert float(owls["share"]) == pytest.approx(FOOLED / 6)
    assert float(baseline["share"]) == 0
    first, second = (rows_of(client, f"{MATRIX}.csv?epsilon={epsilon}")[0] for epsilon in (8, 16))
    assert (first["images"], first["made"], first["share"]) == ("4", "3", "0.25")
    assert (second["images"], second["made"], second["share"]) == ("2", "2", "0.5")
    page = text_of(client, f"{MATRIX}?epsilon=8")
    assert ">25.0</a>" in page
    assert f'href="{MATRIX}.csv?epsilon=8" download>' in page
    assert '<a href="/competitions/transfer/matrix/targeted_attack?epsilon=8">' in page
    for query, name in (("", "transfer-matrix-attack"), ("?epsilon=8", "transfer-matrix-attack-epsilon-8")):
        assert f'filename="{name}.csv"' in client.get(f"{MATRIX}.csv{query}").headers["Content-Disposition"]
    assert "/competitions/transfer/pairs/" in page
    for epsilon in ("7", "x", "-8", "8.0"):
        assert client.get(f"{MATRIX}?epsilon={epsilon}").status_code == 404


def pair_address(sent: dict[str, Submission], attack: str = "attack") -> str:
    """Return the address of a pair."""
    return f"/competitions/transfer/pairs/{sent[attack].player_id}/{sent['defence'].player_id}"


def test_a_pair_has_counts_reasons_and_notes(client: Client, played: Tournament, sent: dict[str, Submission]) -> None:
    page = text_of(client, pair_address(sent))
    for text in (
        "Brighter against Median of five", "25.0 %", "50.0 %", "33.3 %", "3 of 4", "Its process ended with an error",
        "2 images: it left the epsilon ball", "3 rows of result files", "12 s",
    ):  # fmt: skip
        assert text in page
    assert "a secret of the team" not in page
    assert "Share with the target class" in text_of(client, pair_address(sent, "targeted"))
    # one that does not count
    attack, defence = sent["attack"].player_id, sent["defence"].player_id
    for path in (f"{defence}/{attack}", f"{attack}/{attack}", f"{attack}/99999", f"{10**30}/{defence}"):
        assert client.get(f"/competitions/transfer/pairs/{path}").status_code == 404


def test_only_organisers_see_errors_by_class(
    client: Client, played: Tournament, sent: dict[str, Submission], rita: User
) -> None:
    """A defence that labels one image only would learn its class from them."""
    client.force_login(User.objects.get(username="captain-bats"))
    assert "Errors by class" not in text_of(client, pair_address(sent))
    client.force_login(rita)
    assert "Errors by class" in text_of(client, pair_address(sent))


def test_a_submission_has_its_standing_and_runs(
    client: Client, played: Tournament, sent: dict[str, Submission]
) -> None:
    address = reverse("pages:submission", args=[sent["attack"].pk])
    page = text_of(client, address)
    for text in ("Rank 1 on the", "33.3 %", "1 run ended with an error", "Its process ended with an error", "3 of 4"):
        assert text in page
    assert "a secret of the team" not in page
    client.force_login(User.objects.get(username="captain-owls"))
    assert "a secret of the team" in text_of(client, address)
    defence = text_of(client, reverse("pages:submission", args=[sent["defence"].pk]))
    assert "Median of five" in defence
    assert "Right label" in defence


def test_the_api_has_the_standing_or_the_runs_of_a_submission(
    client: Client, played: Tournament, sent: dict[str, Submission], send: Send
) -> None:
    found = client.get(reverse("api:submission", args=[sent["attack"].pk])).json()
    assert found["runs"] is None
    assert {name: found["standing"][name] for name in ("rank", "score", "raw", "worst", "coverage", "opponents")} == {
        "rank": 1, "score": 0.333333, "raw": FOOLED, "worst": 0.333333, "coverage": 0.833333, "opponents": 1,
    }  # fmt: skip
    newer = send("owls", "attack", "Brighter still")
    services.advance(played)
    play(played, most=1)
    found = client.get(reverse("api:submission", args=[newer.pk])).json()
    assert (found["standing"], found["runs"]) == (None, {"played": 1, "needed": 3})


def test_many_runs_have_pages(
    client: Client, played: Tournament, sent: dict[str, Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (pair_page_data, submission_page_data):
        monkeypatch.setattr(module, "RUNS_PER_PAGE", 1)
    for address in (pair_address(sent), reverse("pages:submission", args=[sent["attack"].pk])):
        assert "Page 2 of 2" in text_of(client, f"{address}?page=2")
        assert "3 of 4" in text_of(client, address)
        runs = text_of(client, f"{address}?page=2").split('id="runs"')[-1].split('id="own-runs"')[-1]
        assert "3 of 4" not in runs, "that is the first batch"


def test_a_team_has_a_standing_for_each_track(client: Client, played: Tournament) -> None:
    page = text_of(client, "/teams/owls")
    assert "33.3 %" in page
    assert "counts since" in page
    assert "1 submission tried. No selection by score takes place: the newest one counts." in page
    client.force_login(User.objects.get(username="captain-owls"))
    assert "metadata.json" in text_of(client, "/teams/owls")
    assert "gauntlet new targeted_attack ." in text_of(client, "/teams/owls")


def test_a_team_page_repeats_no_submission_and_has_no_empty_history(client: Client, played: Tournament) -> None:
    page = text_of(client, "/teams/owls")
    assert "Newest:" not in page
    assert 'id="history"' not in page


def test_without_an_opponent_that_counts_there_are_dashes(client: Client, played: Tournament) -> None:
    Entrant.objects.update(rank=None, score=None, raw=None, worst=None, opponents=None)
    row = text_of(client, f"{BOARD}/attack").split('<tr role="row">')[-1]
    assert re.findall(r'data-name="(?:Raw|Worst) score">([^<]*)<', row) == ["&#8211;", "&#8211;"]


def test_submissions_of_2017_are_named_where_they_run(
    client: Client, sent: dict[str, Submission], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made/lib/python3.11/site-packages").mkdir(parents=True)
    (tmp_path / "made/bin").mkdir()
    (tmp_path / "made/bin/python").touch()
    client.force_login(User.objects.get(username="captain-owls"))
    for configured, shown in (("", False), ("made", True), ("missing", False)):
        monkeypatch.delenv(VARIABLE, raising=False)
        if configured:
            monkeypatch.setenv(VARIABLE, str(tmp_path / configured))
        page = text_of(client, "/teams/owls?track=targeted_attack")
        assert ("Submissions of 2017 work unchanged." in page) == shown, configured
        assert "The classes to reach, counted from 1, are in" in page


def test_classes_are_counted_from_1_where_participants_look(client: Client, transfer: Competition) -> None:
    page = text_of(client, "/competitions/transfer/data")
    assert "Label in files" in page
    assert [f'<tr><td class="end">{label}</td>' in page for label in (0, 1, 10, 11)] == [False, True, True, False]
    found = data_set(transfer)
    assert found is not None
    assert [(row.number, row.name) for row in found.rows][::9] == [(1, "0"), (10, "9")]
    rules = " ".join(text_of(client, "/competitions/transfer/rules").split())
    assert "Classes in files</th><td>counted from 1 " in rules


def test_the_paper_of_2017_is_cited(client: Client, transfer: Competition) -> None:
    page = text_of(client, "/competitions/transfer/citation")
    assert "They follow the Adversarial Attacks and Defences Competition of NIPS 2017" in page
    assert "Kurakin, Alexey and Goodfellow, Ian" in page
    assert "2018 Adversarial Vision" not in page
    assert "Brendel" not in page


def test_the_docs_are_of_the_formats_of_open_competitions(client: Client, transfer: Competition) -> None:
    both = {
        "query": ("submission.toml", "L2 distance", "gauntlet init my-model"),
        "transfer": ("metadata.json", "counted from 1"),
    }

    def described() -> set[str]:
        page = text_of(client, "/docs")
        return {name for name, texts in both.items() if all(text in page for text in texts)}

    page = text_of(client, "/docs")
    assert described() == {"transfer"}
    for text in ("gauntlet init my-attack", "gauntlet new attack .", "SLUG/leaderboards/attack", "Larger is better."):
        assert text in page
    for text in ("submission.toml", "L2", "Smaller is better", "pool", "my-model", "untargeted"):
        assert text not in page
    other = Competition.objects.create(
        slug="digits",
        title="Digits",
        starts_at=transfer.starts_at,
        ends_at=transfer.ends_at,
        public=True,
        created_at=transfer.created_at,
    )
    assert described() == {"query", "transfer"}
    assert "in the transfer format against every opponent" in text_of(client, "/docs")
    Competition.objects.filter(pk=transfer.pk).update(ends_at=transfer.starts_at + timedelta(days=1))
    assert described() == {"query"}
    other.delete()
    assert described() == {"query"}, "none is open"


def test_the_lines_of_commands_in_the_docs_are_not_cut_off(client: Client, transfer: Competition) -> None:
    blocks = re.findall(r"<pre[^>]*><code>(.*?)</code>", client.get("/docs").content.decode(), re.DOTALL)
    assert len(blocks) == 4
    assert max(len(html.unescape(line)) for block in blocks for line in block.splitlines()) <= 70


def test_the_best_team_is_shown_with_its_rank(client: Client, played: Tournament) -> None:
    first, second = board_of(played.competition.tracks.get(name="attack")).rows
    assert not first.baseline
    Entrant.objects.filter(player=first.player).update(rank=2)
    Entrant.objects.filter(player=second.player).update(rank=1)
    page = " ".join(text_of(client, "/leaderboards").split())
    assert "Best team</th>" in page
    assert re.search(r">The Owls</a> <a[^>]*>Brighter</a>", page)
    assert "First place" not in page
    for address in ("/", "/competitions/transfer"):
        assert "Larger share is better. Baselines are left out." in text_of(client, address)


def test_the_board_states_the_rule_in_force(client: Client, transfer: Competition) -> None:
    version = transfer.rules_versions.get()
    for rule in ("coverage", "complete"):
        RulesVersion.objects.filter(pk=version.pk).update(values=version.values | {"opponents": rule})
        page = text_of(client, f"{BOARD}/attack")
        assert ("weighted by its coverage" in page) == (rule == "coverage")
        assert ("the opponents that processed every image" in page) == (rule == "complete")


def test_the_home_page_explains_the_format_of_its_competitions(client: Client, transfer: Competition) -> None:
    page = text_of(client, "/")
    assert "plays it against every opponent" in page
    assert "best opponents" not in page
    assert "gauntlet new attack my-attack" in page
    assert "epsilon" in page
    assert "query" not in page


def test_a_freeze_hides_scores_from_the_public(
    client: Client, played: Tournament, sent: dict[str, Submission], rita: User
) -> None:
    FrozenLeaderboards.objects.create(competition=played.competition, since=timezone.now())
    own = {reverse(f"{of}:submission", args=[sent["attack"].pk]) for of in ("pages", "api")} | {"/teams/owls"}
    shared = {
        f"{BOARD}/attack",
        f"{BOARD}/attack.csv",
        MATRIX,
        f"{MATRIX}.csv",
        "/",
        "/leaderboards",
        pair_address(sent),
    }
    shared |= {"/competitions/transfer", "/api/v1/competitions/transfer/leaderboards/attack"}

    def seen() -> set[str]:
        pages = {address: text_of(client, address) for address in shared | own}
        return {address for address, page in pages.items() if "33.3" in page or "0.333333" in page}

    assert seen() == set()
    for reader, sees in (("captain-bats", set()), ("captain-owls", own), ("rita", shared | own)):
        client.force_login(User.objects.get(username=reader))
        assert seen() == sees, reader


def test_before_the_first_run_the_board_is_empty(client: Client, transfer: Competition) -> None:
    assert "No submission has a score yet" in text_of(client, f"{BOARD}/defence")
    assert "No pair of these tracks" in text_of(client, MATRIX)
    assert rows_of(client, f"{BOARD}/defence.csv") == []
