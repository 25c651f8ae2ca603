"""Every registered format implements what the apps of the site ask of a format, and plays an imported competition."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from accounts.models import User
from accounts.services import create_team
from api.formats import ApiFormat, api_formats
from api.serializers import WholeSubmissionSerializer
from competitions.bundled_baselines import bundled_repository
from competitions.formats import CompetitionFormat, competition_formats
from competitions.models import Competition, Organiser
from competitions.rules import rules_of
from competitions.services import enter, import_competition
from core import worker_notifications
from core.parts_by_format import ByFormat
from demo.formats import DemoFormat, SeasonFormat, demos
from formats.base import Format, register
from pages.formats import PageFormat, page_formats
from repositories.models import Repository
from rounds.formats import RoundFormat, round_formats
from rounds.models import Round
from submissions import services
from submissions.formats import SubmissionFormat, submission_formats
from submissions.models import Player, Submission
from tests.platform.api.openapi import check_answer, document
from tests.platform.formats.signatures import differences

REGISTRIES: dict[str, ByFormat[Any]] = {
    "competition": competition_formats,
    "submissions": submission_formats,
    "rounds": round_formats,
    "pages": page_formats,
    "api": api_formats,
    "demo": demos,
}
"""Where the apps ask for each part of a format."""

INTERFACES: dict[str, Any] = {
    "competition": CompetitionFormat,
    "submissions": SubmissionFormat,
    "rounds": RoundFormat,
    "pages": PageFormat,
    "api": ApiFormat,
    "demo": DemoFormat,
}

NAMES = sorted(set().union(*REGISTRIES.values()))
"""The registered formats."""

each_format = pytest.mark.parametrize("name", NAMES)
each_demo = pytest.mark.parametrize("name", sorted(demos))
"""The formats that a demo plays."""

FOLDERS = ("competitions", "platform/demo", "tests/toy_format")
"""Where files of competitions are."""


def parts_of(name: str) -> dict[str, Any]:
    """Return the registered parts of a format."""
    return {part: registry[name] for part, registry in REGISTRIES.items() if name in registry}


def document_of(root: Path, name: str) -> dict[str, Any]:
    """Return the parsed file of a competition of the format on the digits, open now."""
    for path in sorted(path for folder in FOLDERS for path in (root / folder).glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        on_digits = all(each["source"] == "digits" for each in document["sample_sets"])
        if on_digits and document["rules"].get("format", settings.DEFAULT_FORMAT) == name:
            now = timezone.now()
            dates = {"starts_at": now.replace(year=2020, day=1), "ends_at": now.replace(year=2099, day=1)}
            about = document["competition"] | dates | {"slug": name, "public": True}
            return document | {"competition": about, "freeze_windows": [], "rounds": []}
    raise AssertionError(f"no competition of the {name} format on the digits is in the repository")


class Played(NamedTuple):
    """A competition of a format, and a ready submission to its first track."""

    competition: Competition
    submission: Submission


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that workers are notified of; there is no broker."""
    tasks: list[str] = []
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: tasks.append(task))
    return tasks


@pytest.fixture
def played(db: None, root: Path, sent: list[str]) -> dict[str, Played]:
    """A competition of each format; Olga organises all, the Owls take part with one submission."""
    olga = User.objects.create_user("olga", "olga@example.org")
    return {name: _play(document_of(root, name), olga) for name in NAMES}


def _play(document: dict[str, Any], olga: User) -> Played:
    competition = import_competition(document)
    Organiser.objects.create(competition=competition, user=olga)
    captain = User.objects.create_user(f"captain-{competition.slug}", f"{competition.slug}@example.org")
    team = create_team(slug=f"owls-{competition.slug}", name=f"The Owls of {competition.title}", captain=captain)
    track, now = competition.tracks.order_by("pk")[0], timezone.now()
    entry = enter(team=team, competition=competition)
    repository = Repository.objects.create(entry=entry, track=track, created_at=now)
    player = Player.objects.create(
        competition=competition, track_name=track.name, digest=f"sha256:{competition.pk:064x}", title="Wise owl",
        command=["main"], repository=repository, commit="1" * 40, created_at=now,
    )  # fmt: skip
    submission = Submission.objects.create(
        repository=repository, commit="1" * 40, tag="submission-1", submitted_by=captain, received_at=now,
        title="Wise owl", licence="MIT", state=Submission.State.READY, state_since=now, player=player,
    )  # fmt: skip
    return Played(competition, submission)


def test_every_part_of_a_format_has_its_registry() -> None:
    assert set(REGISTRIES) == {field.name for field in fields(Format)} - {"name"}
    assert registered() == dict.fromkeys(REGISTRIES, NAMES) | {"demo": sorted(demos)}


def registered() -> dict[str, list[str]]:
    """Return the names of the formats that have each part."""
    return {part: sorted(registry) for part, registry in REGISTRIES.items()}


@pytest.mark.parametrize(("name", "part"), [(name, part) for part, names in registered().items() for name in names])
def test_a_part_implements_the_interface_of_its_app(name: str, part: str) -> None:
    assert list(differences(parts_of(name)[part], INTERFACES[part])) == []


@each_demo
def test_a_season_implements_its_interface(name: str) -> None:
    season = demos[name].season
    assert season is None or list(differences(season, SeasonFormat)) == []


def test_a_part_that_does_not_fit_is_found() -> None:
    class Asked(Protocol):
        @property
        def title(self) -> str: ...

        def score(self, track: str, *, frozen: bool, limit: int = 10) -> int: ...

        def plan(self, track: str) -> int: ...

    class Other:
        plan = "none"

        def score(self, name: str, more: str, *, frozen: bool, limit: int) -> int:
            return 0

    class Fitting:
        title = ""

        def score(self, track: str, frozen: bool = False, limit: int = 3, more: int = 0) -> int:
            return 0

        def plan(self, *words: str, **values: str) -> int:
            return 0

    class Called(NamedTuple):
        build: Any

    assert list(differences(Fitting(), Asked)) == []
    assert list(differences(Other(), Asked)) == [
        "title is missing",
        "score: parameter 1 is not track",
        "score: track cannot be given by name",
        "score: limit has no default",
        "score: name is not given by anyone",
        "score: more is not given by anyone",
        "plan is no method",
    ]
    assert len(list(differences(Other(), Called))) == 1


@each_format
def test_a_name_fits_addresses_and_its_column(name: str) -> None:
    assert re.fullmatch(r"[a-z][a-z-]*", name)
    assert len(name) <= (Competition._meta.get_field("format").max_length or 0)


@each_format
def test_its_schedules_have_titles_and_fit_their_column(name: str) -> None:
    schedules = round_formats[name].schedules
    assert schedules
    for schedule, title in schedules.items():
        assert title
        assert round_formats[name].schedule(schedule, guard=False) == (schedule, False)
        assert len(schedule) <= (Round._meta.get_field("schedule").max_length or 0)


@each_format
def test_a_name_is_registered_once(name: str) -> None:
    before = registered()
    with pytest.raises(ValueError, match=f"the format '{name}' is registered twice"):
        register(Format(name=name, **parts_of(name)))
    assert registered() == before


@each_format
def test_rules_have_a_default_for_each_value(name: str) -> None:
    rules = rules_of({"format": name}, 3)
    assert (rules.format, rules.version) == (name, 3)


def test_no_field_of_a_submission_is_of_two_formats() -> None:
    names = [field for name in NAMES for field in api_formats[name].submission_fields]
    assert len(names) == len({*names})
    assert not {*names} & {*WholeSubmissionSerializer.Meta.fields}


@each_format
def test_an_imported_competition_has_the_tracks_of_its_file(root: Path, played: dict[str, Played], name: str) -> None:
    competition = played[name].competition
    tracks = [track.name for track in competition.tracks.all()]
    assert competition.format == name
    assert len(tracks) == len({*tracks})
    assert {*tracks} == {*document_of(root, name)["tracks"]}


@each_format
def test_the_api_answers_of_leaderboards_without_rows(client: Client, played: dict[str, Played], name: str) -> None:
    shown = client.get(f"/api/v1/competitions/{name}").json()
    for track in shown["tracks"]:
        address = f"/api/v1/competitions/{name}/leaderboards/{track['name']}"
        assert client.get(address).json()["rows"] == []
        past = client.get(address, {"at": "2020-01-01"})
        assert past.status_code == 200 or "keeps no past leaderboards" in past.json()["detail"]
    assert client.get(f"/api/v1/competitions/{name}/rounds").json()["results"] == []


@each_format
def test_the_api_shows_a_submission_with_the_fields_of_all_formats(
    client: Client, played: dict[str, Played], name: str
) -> None:
    submission = played[name].submission
    every = [field for each in NAMES for field in api_formats[each].submission_fields]
    others = {*every} - {*api_formats[name].submission_fields}
    for reader, inside in ((None, False), (submission.submitted_by, True)):
        if reader:
            client.force_login(reader)
        shown = client.get(f"/api/v1/submissions/{submission.pk}").json()
        assert {*every} <= {*shown}
        assert {field: shown[field] for field in others} == dict.fromkeys(others)
        assert set(api_formats[name].submission(submission, inside=inside)) == {*api_formats[name].submission_fields}


@each_format
def test_the_api_answers_as_its_document_says(client: Client, played: dict[str, Played], name: str) -> None:
    described, submission = document(client), played[name].submission
    client.force_login(submission.submitted_by)
    named = {"slug": name, "track_name": submission.repository.track.name, "number": str(submission.pk)}
    named |= {"team": submission.repository.entry.team.slug}
    for path in (
        "competitions/{slug}", "competitions/{slug}/rules", "competitions/{slug}/leaderboards/{track_name}",
        "submissions/{number}", "submissions/{number}/evaluations", "submissions/{number}/matches",
        "repositories/{team}/{track_name}/submissions",
    ):  # fmt: skip
        response = client.get(f"/api/v1/{path.format(**named)}")
        assert response.status_code == 200, path
        check_answer(described, f"/api/v1/{path}", "get", response)


@each_format
@pytest.mark.django_db(transaction=True)
def test_a_withdrawal_notifies_the_workers_of_its_own_format_alone(
    played: dict[str, Played], sent: list[str], name: str
) -> None:
    notified: dict[str, set[str]] = {}
    for each, (_, submission) in played.items():
        sent.clear()
        services.withdraw(submission=submission, by=submission.submitted_by)
        notified[each] = {*sent}
    assert notified[name]
    assert all(notified[name].isdisjoint(tasks) for other, tasks in notified.items() if other != name)


@each_demo
def test_the_teams_of_the_demo_play_tracks_of_the_format(root: Path, name: str) -> None:
    document, demo = document_of(root, name), demos[name]
    teams = [*demo.teams, demo.reader]
    assert len({team.slug for team in teams}) == len(teams)
    assert len(demo.reader.entries) == 1
    for entry in (entry for team in teams for entry in team.entries):
        assert entry.track in document["tracks"]
        assert bundled_repository(entry.track, entry.like).digest
    rules = demo.rules_for(document["rules"], 3)
    assert rules_of(rules, 1).format == name
    assert "3" in demo.settings(rules, 3)


@each_demo
def test_the_demo_reads_a_competition_that_has_just_begun(played: dict[str, Played], name: str) -> None:
    competition = played[name].competition
    assert demos[name].under_way(competition) >= 1
    assert list(demos[name].results(competition)) == []
