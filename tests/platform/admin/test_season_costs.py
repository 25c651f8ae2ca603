"""Organisers enter what they expect of a season, and read what it costs; nothing is stored."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.models import Competition, Organiser, SampleSet
from competitions.services import import_competition
from core import clock
from core.models import Event
from rounds.planning.plan import plan_round
from workers.models import Worker


def page_of(competition: Competition) -> str:
    return reverse("admin:competitions_competition_season_costs", args=[competition.pk])


def entered(client: Client, competition: Competition, **values: Any) -> dict[str, Any]:
    """Return what the form sends with three teams in each track, and these values."""
    form = client.get(page_of(competition)).context["form"]
    data = {field.name: 3 if field.name.startswith("teams_") else field.value() for field in form}
    return data | values


@pytest.fixture(params=["query", "transfer", "curves"])
def of_format(request: pytest.FixtureRequest, root: Path, olga: User) -> Competition:
    """A competition of each format that Olga organises, with a planned final."""
    path = {"query": "platform/demo/digits.toml"}.get(request.param, f"competitions/digits-{request.param}.toml")
    document = tomllib.loads((root / path).read_text(encoding="utf-8"))
    document["competition"]["slug"] = "imported"
    document.pop("rounds", None)
    document["sample_sets"] = [each | {"count": 5} for each in document["sample_sets"]]
    made = import_competition(document)
    Organiser.objects.create(competition=made, user=olga)
    now = clock.now()
    plan_round(
        competition=made, title="Final", kind="final", schedule="ladder-2", guard=False, samples=5, by=olga,
        source=made.sample_sets.get(purpose=SampleSet.Purpose.FINAL),
        starts_at=now + timedelta(days=1), ends_at=now + timedelta(days=2),
    )  # fmt: skip
    return made


def test_the_table_has_builds_leaderboards_and_the_planned_round(as_organiser: Client, of_format: Competition) -> None:
    change = reverse("admin:competitions_competition_change", args=[of_format.pk])
    assert page_of(of_format) in as_organiser.get(change).content.decode()
    first = as_organiser.get(page_of(of_format))
    assert "rows" not in first.context, "nobody can know how many teams there will be"
    assert "rows" in as_organiser.get(page_of(of_format), entered(as_organiser, of_format)).context
    assert "The limit of the rules: nothing was measured yet." in first.content.decode()
    events = Event.objects.count()
    answer = as_organiser.get(page_of(of_format), entered(as_organiser, of_format, days=2))
    titles = [row.title for row in answer.context["rows"]]
    assert titles[:2] == ["Builds", "Smoke tests"]
    assert any(title.startswith("Leaderboard") for title in titles)
    assert any(title == "Final" or title.startswith("Final: ") for title in titles)
    number = 3 * 2 * sum(track.quota for track in of_format.tracks.all())
    assert answer.context["rows"][0].number == f"{number:,} builds"
    assert "No worker is live now" in answer.content.decode()
    for row in answer.context["rows"]:
        assert row.made_of
        assert row.processor_hours
    assert Event.objects.count() == events


@pytest.mark.parametrize("of_format", ["query"], indirect=True)
def test_the_time_is_that_of_the_live_workers(as_organiser: Client, of_format: Competition) -> None:
    now = clock.now()
    for number in range(2):
        Worker.objects.create(name=f"arena-1/play/{number}", worker_class="cpu", started_at=now, last_seen_at=now)
    data = entered(as_organiser, of_format, days=1, build_seconds=3600, gpu_model=50)
    for track in of_format.tracks.all():
        data[f"each_day_{track.name}"] = 0
    rows = {row.title: row for row in as_organiser.get(page_of(of_format), data).context["rows"]}
    assert (rows["Builds"].processor_hours, rows["Builds"].wall_time) == ("9", "4 h 30 min")
    on_gpus = rows["Leaderboard: Robust models"]
    assert on_gpus.gpu_hours
    assert on_gpus.wall_time == "", "no worker has a GPU"


@pytest.mark.parametrize("of_format", ["query"], indirect=True)
def test_it_refuses_numbers_that_no_season_has(as_organiser: Client, of_format: Competition) -> None:
    wrong = {"days": 0, "teams_model": -1, "each_day_model": "many", "gpu_model": 101, "answer_seconds": "nan"}
    answer = as_organiser.get(page_of(of_format), entered(as_organiser, of_format, **wrong))
    assert set(answer.context["form"].errors) == set(wrong)
    assert "rows" not in answer.context


@pytest.mark.parametrize("of_format", ["query"], indirect=True)
def test_only_its_organisers_see_it(client: Client, of_format: Competition, charlie: User) -> None:
    charlie.is_staff = True
    charlie.save()
    client.force_login(charlie)
    assert client.get(page_of(of_format)).status_code in (302, 403, 404)
