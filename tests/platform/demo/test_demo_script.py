"""The competition that the demo plays."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from pytest_django import DjangoAssertNumQueries
from rich.console import Console

from competitions.bundled_baselines import bundled_repository
from competitions.models import Competition
from core import clock
from core.errors import Refusal
from demo.credentials import CredentialStore
from demo.demo_lock import only_demo_in
from demo.demo_script import DemoSite, open_now, with_at_most
from demo.formats import DemoFormat, demos
from demo.git_push import write_copy
from demo.submission_result import DemoResult
from demo.supervisor import SiteSupervisor
from evaluation.builder.tree_digest import tree_digest
from formats.transfer.tournaments.services import make_baselines, make_tournament
from submissions.models import Submission
from tests.platform.formats.transfer.tournaments.results import commit_all


def test_smaller_sample_sets_keep_their_places_in_the_split_and_the_file_is_unchanged(root: Path) -> None:
    """With a number of samples, every set that matches are played on is smaller, and sets stay disjoint."""
    document = tomllib.loads((root / "competitions" / "avc-2018.toml").read_text(encoding="utf-8"))
    smaller = {each["name"]: each for each in with_at_most(4, document)["sample_sets"]}
    assert {name: each["count"] for name, each in smaller.items()} == {
        "development": 500,
        "validation": 4,
        "test-1": 4,
        "test-2": 4,
        "final": 4,
    }
    assert [smaller[each["name"]].get("skip", 0) for each in document["sample_sets"]] == [0, 500, 700, 900, 1100]
    assert document["sample_sets"][1]["count"] == 200, "the file's own numbers stay"
    assert with_at_most(4, document)["rounds"] == document["rounds"], "the demo plays them in the file's windows"


@pytest.mark.parametrize("days", [-20, 20])
def test_a_competition_that_is_over_or_has_not_begun_begins_now(days: int) -> None:
    """Pushes are accepted in its dates alone; one in which they are accepted keeps them."""
    now = clock.now().replace(microsecond=0)
    starts, length = now + timedelta(days=days), timedelta(days=10)
    document = {"competition": {"starts_at": starts, "ends_at": starts + length}}
    moved = open_now(document)
    assert timedelta() <= moved["competition"]["starts_at"] - now < timedelta(minutes=1)
    assert moved["competition"]["ends_at"] - moved["competition"]["starts_at"] == length
    assert open_now(moved) == moved


@pytest.mark.parametrize("name", ["decision-1000", "digits-decision-1000"])
def test_teams_push_every_attack_of_the_boards_at_1000_queries(root: Path, name: str) -> None:
    document = tomllib.loads((root / "competitions" / f"{name}.toml").read_text(encoding="utf-8"))
    pushed = {(entry.track, entry.like) for team in demos["query"].teams for entry in team.entries}
    for track, table in document["tracks"].items():
        assert pushed >= {(track, each) for each in table["baselines"]}


ABSENT = ("the baseline efficientnet-lite0", "efficientnet-lite0 of Noisy Lynxes")


@pytest.mark.django_db
@pytest.mark.parametrize("missing", ["", "weights-of-a-network"])
def test_an_entry_whose_package_is_missing_is_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    lines: list[str] = []
    teams: list[str] = []
    absent = {"efficientnet-lite0": missing}
    monkeypatch.setattr("demo.demo_script.missing_package", lambda track, name, source: absent.get(name, ""))
    monkeypatch.setattr(DemoSite, "enter", lambda site, team: teams.append(team.slug))
    monkeypatch.setattr(DemoSite, "submit", lambda site, team: None)
    site = DemoSite(
        supervisor=Mock(SiteSupervisor),
        credentials=Mock(CredentialStore),
        say=lines.append,
        competition_file=root / "competitions" / "avc-2018.toml",
    )
    site.submit_all(one_at_a_time=False)
    assert ("lynxes" in teams) == (not missing)
    assert {"owls", "otters"} <= set(teams), "models play that are no baselines, or that have their package"
    left_out = [f"Left out: {each}; for it: pip install --no-deps {missing}" for each in ABSENT]
    assert lines == (left_out if missing else [])


@pytest.fixture
def _signal_handlers_stay() -> Iterator[None]:
    """The command handles signals to its end, which is that of its process; this one goes on."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_signal_handlers_stay")
def test_a_format_without_a_demo_is_refused_with_the_formats_that_have_one(root: Path) -> None:
    with pytest.raises(CommandError, match=r"curves, of which there is no demo\n  fix: .* query or transfer"):
        call_command("demo", competition=root / "competitions" / "digits-curves.toml")


def test_it_refuses_to_play_two_competitions_in_one_state(
    root: Path, transfer: Competition, submit: Callable[..., Submission]
) -> None:
    site = DemoSite(
        supervisor=Mock(SiteSupervisor),
        credentials=Mock(CredentialStore),
        say=print,
        competition_file=root / "competitions" / "digits-transfer.toml",
    )
    submit(site.reader, "attack", "true")
    with pytest.raises(Refusal, match="plays the competition transfer\n  fix: choose another folder"):
        site.open()


def test_a_submission_that_ends_at_the_last_look_is_in_the_news_and_a_look_at_no_change_is_one_query(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    transfer: Competition,
    submit: Callable[..., Submission],
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    lines: list[str] = []
    ended: list[DemoResult] = []
    last = submit("owls", "attack", "true")
    document = tomllib.loads((root / "competitions" / "digits-transfer.toml").read_text(encoding="utf-8"))
    Competition.objects.update(slug=document["competition"]["slug"])
    site = DemoSite(
        supervisor=Mock(SiteSupervisor),
        credentials=Mock(CredentialStore),
        say=lines.append,
        competition_file=root / "competitions" / "digits-transfer.toml",
    )

    def end(competition: Competition) -> int:
        ended.append(DemoResult("1", last, "50.0%"))
        return 0

    monkeypatch.setattr(demos["transfer"], "under_way", end)
    monkeypatch.setattr(demos["transfer"], "results", lambda competition: iter(ended))
    site.watch(limit=60)
    assert [line.partition("  ")[2] for line in lines[-1:]] == ["owls, attack: 50.0%"]
    for key, score in (("2", "50.0%"), ("3", "40.0%")):
        ended.append(DemoResult(key, last, score))
        last.save()
        site.say_news()
    assert [line.partition("  ")[2] for line in lines[-2:]] == ["owls, attack: 50.0%", "owls, attack: 40.0%"]
    with django_assert_num_queries(1):  # as often as it looks, for as long as the demo is open
        site.say_news()


@pytest.mark.parametrize("samples", [3, 16, 1000])
def test_every_epsilon_has_a_batch_however_few_samples_there_are(root: Path, samples: int) -> None:
    document = tomllib.loads((root / "competitions" / "nips-2017.toml").read_text(encoding="utf-8"))
    rules = demos["transfer"].rules_for(document["rules"], samples)
    assert rules["batch_images"] == {3: 1, 16: 4, 1000: 25}[samples]
    assert {**rules, "batch_images": 25} == document["rules"], "nothing else changes"


def test_baselines_whose_package_is_missing_are_left_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr("demo.demo_script.missing_package", lambda track, name, source: "lite" * (name == "jpeg"))
    site = DemoSite(
        supervisor=Mock(SiteSupervisor),
        credentials=Mock(CredentialStore),
        say=lines.append,
        competition_file=root / "competitions" / "nips-2017.toml",
        most_samples=16,
    )
    assert lines == ["Left out: the baseline jpeg; for it: pip install --no-deps lite"]
    assert "16 validation images in batches of 4" in site.settings()
    with pytest.raises(Refusal, match="no rounds of the transfer format"):
        site.season()


@pytest.mark.parametrize("demo", [demos[name] for name in demos], ids=list(demos))
def test_virtual_teams_push_what_they_changed(tmp_path: Path, demo: DemoFormat) -> None:
    for number, entry in enumerate(entry for team in (*demo.teams, demo.reader) for entry in team.entries):
        copy = tmp_path / str(number)
        write_copy(copy, entry.like, entry.changes)
        digest = bundled_repository(entry.track, entry.like).digest
        assert (tree_digest(copy) == digest) == (not entry.changes)


def test_the_demo_of_the_transfer_format_reads_results_and_boards(
    transfer: Competition, submit: Callable[..., Submission]
) -> None:
    demo, out = demos["transfer"], io.StringIO()
    submit("owls", "defence", "true")
    assert demo.under_way(transfer) == 2, "the submission, and the baseline that is not built"
    assert list(demo.results(transfer)) == []
    make_baselines()
    tournament = make_tournament(transfer)
    assert demo.under_way(transfer) == 2
    commit_all(tournament, share=0.75)
    assert demo.under_way(transfer) == 0
    (result,) = demo.results(transfer)
    assert (result.submission.title, result.score, result.rank) == ("owls 1", "83.3% (opponents so far: 1)", 1)
    demo.print_boards(transfer, Console(file=out, width=100))
    rows = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert "1 │ owls │ owls 1 │ 83.3% │ 83.3% │ 100.0% │ 1" in rows
    assert "1 │ (baseline) │ noop │ 16.7% │ 16.7% │ 100.0% │ 1" in rows


def test_in_a_terminal_a_table_says_what_is_scored_and_lines_above_it_the_rest(
    root: Path, monkeypatch: pytest.MonkeyPatch, transfer: Competition, submit: Callable[..., Submission]
) -> None:
    theirs, own = submit("owls", "attack", "true"), submit("you", "attack", "true")
    Submission.objects.filter(pk__in=(theirs.pk, own.pk)).update(state=Submission.State.READY)
    ended = [DemoResult("1", theirs, "50.0%", rank=2), DemoResult("2", own, "75.0%", rank=1)]
    Competition.objects.update(slug="digits-transfer")
    lines: list[str] = []
    out = io.StringIO()
    supervisor = Mock(SiteSupervisor)
    supervisor.url = "http://127.0.0.1:8000"
    site = DemoSite(
        supervisor=supervisor,
        credentials=Mock(CredentialStore),
        say=lines.append,
        competition_file=root / "competitions" / "digits-transfer.toml",
    )
    monkeypatch.setattr(demos["transfer"], "under_way", lambda competition: 0)
    monkeypatch.setattr(demos["transfer"], "results", lambda competition: iter(ended))
    with site.live_table(Console(file=out, force_terminal=True, width=100, height=40)):
        site.watch(limit=60)
    shown = out.getvalue()
    assert lines == []
    assert "owls, attack: 50.0%" not in shown
    assert f"Your submission {own.pk}: scored 75.0%, rank 1. http://127.0.0.1:8000/submissions/{own.pk}" in shown
    assert shown.index("Your submission") < shown.rindex("entries done")
    rows = [[cell.strip() for cell in re.sub(r"\x1b\[[0-9;]*m", "", row).split("│")] for row in shown.splitlines()]
    assert ["owls", "attack", "scored", "50.0%", "2"] in rows
    assert ["Plain Otters", "defence", "not pushed", "", ""] in rows
    site.say_news()
    assert lines == [], "nothing is said twice"


def test_a_port_that_is_taken_is_named_with_the_fix_before_anything_is_made(root: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = subprocess.run(
            [sys.executable, "manage.py", "demo", "--port", str(port)],
            cwd=root,
            env=os.environ | {"GAUNTLET_STATE": str(tmp_path), "GAUNTLET_SANDBOX": "process", "DATABASE_URL": ""},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert refused.returncode == 1
    assert f"port {port} is in use by another program" in refused.stderr
    assert f'fix: choose another one: make demo ARGS="--port {port + 1}"' in refused.stderr
    assert "preparing the database" not in refused.stdout
    assert not (tmp_path / "site.sqlite3").exists()


def test_a_second_demo_in_one_state_folder_is_refused_with_the_fix(tmp_path: Path) -> None:
    state = tmp_path / "demo"
    with only_demo_in(state, "http://127.0.0.1:8000"):
        found = (
            rf"another demo runs in {state}, at http://127.0.0.1:8000\n  fix: stop it with Ctrl-C, or .* GAUNTLET_STATE"
        )
        with pytest.raises(Refusal, match=found), only_demo_in(state, "http://127.0.0.1:8001"):
            pass
    with only_demo_in(state, "http://127.0.0.1:8001"):
        assert (state / "demo.lock").read_text() == "http://127.0.0.1:8001"
