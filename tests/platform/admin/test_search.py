"""The search of the admin's sidebar: teams, submissions, commits and events that a person may see, a few of each."""

from __future__ import annotations

import re
from typing import Any

from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Team, User
from competitions.models import Competition
from core import clock, event_log
from core.administration.admin_base_classes import MOST_FOUND
from core.models import Event
from formats.query.matches.models import Match, Piece, SampleResult
from submissions.models import LogChunk, Submission
from workers.models import WorkerTime


def found(client: Client, text: str) -> list[str]:
    results = client.get(reverse("admin:search"), {"s": text, "extended": "1"}).context["results"]
    return [str(each["link"] if isinstance(each, dict) else each.link) for each in results]


def page(row: Any) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def test_it_finds_teams_submissions_commits_and_events(as_superuser: Client, rows: Any, owls: Team) -> None:
    submission = rows.more()
    assert page(owls) in found(as_superuser, "OWLS")
    assert page(submission) in found(as_superuser, "owls")
    assert page(submission) in found(as_superuser, submission.commit[:12])
    assert any("/core/event/" in each for each in found(as_superuser, f"submission:{submission.pk}"))
    assert found(as_superuser, "no such thing") == []


def test_organisers_find_rows_of_their_competitions_alone(
    as_organiser: Client, competition: Competition, rows: Any, charlie: User
) -> None:
    submission = rows.more()
    times = {name: getattr(competition, name) for name in ("created_at", "starts_at", "ends_at")}
    other = Competition.objects.create(slug="digits-2", title="More digits", **times)
    assert page(competition) in found(as_organiser, "digits")
    assert page(submission) in found(as_organiser, submission.commit)
    assert page(other) not in found(as_organiser, "digits")
    assert found(as_organiser, "charlie") == []
    as_organiser.force_login(charlie)
    assert as_organiser.get(reverse("admin:search"), {"s": "digits"}).status_code == 302


def test_it_shows_a_few_rows_of_each_model_and_the_list_all(as_superuser: Client, rows: Any) -> None:
    first = rows.more()
    copied = {field.attname: getattr(first, field.attname) for field in first._meta.fields if field.attname != "id"}
    copies = [
        Submission(**copied | {"commit": f"{number:x}".rjust(40, "e"), "tag": f"submission-{number}"})
        for number in range(100, 160)
    ]
    Submission.objects.bulk_create(copies)
    assert sum("/submission/" in each for each in found(as_superuser, "owls")) == MOST_FOUND
    listed = as_superuser.get(reverse("admin:submissions_submission_changelist"), {"q": "owls"})
    assert listed.context["cl"].result_count == 61


def test_a_list_is_searched_by_number_and_filtered_by_competition_without_reading_its_rows(
    as_superuser: Client, competition: Competition, rows: Any
) -> None:
    """A season has millions of results of samples."""
    rows.more()
    times = {name: getattr(competition, name) for name in ("created_at", "starts_at", "ends_at")}
    Competition.objects.create(slug="digits-2", title="More digits", **times)
    result = SampleResult.objects.all()[0]
    results = reverse("admin:matches_sampleresult_changelist")
    for text, expected in ((str(result.match_id), 1), ("0", 0), ("ten", 0), (str(1 << 80), 0), ("9" * 5000, 0)):
        with CaptureQueriesContext(connection) as asked:
            page = as_superuser.get(results, {"q": text})
        listed = page.context["cl"].result_list
        assert bool(listed) == bool(expected), text
        assert all(each.match_id == result.match_id for each in listed)
        reading = [each["sql"] for each in asked if '"matches_sampleresult"' in each["sql"]]
        assert len(reading) <= 2, "its number of rows, and those of the page"
        assert not any("::text" in each or "DISTINCT" in each for each in reading)
    assert "More digits" in page.content.decode()
    assert as_superuser.get(results, {"outcome": result.outcome}).context["cl"].result_count
    assert not as_superuser.get(results, {"outcome": "clean_wrong"}).context["cl"].result_count


def test_matches_are_found_by_their_players_and_events_by_whole_words_without_reading_all_rows(
    as_superuser: Client, rows: Any, alice: User
) -> None:
    """A season has hundreds of thousands of matches and millions of events."""
    rows.more()
    rows.more()
    match = Match.objects.order_by("pk")[0]
    match.model.title, match.model.digest = "A grey heron", "sha256:abcdef"
    match.model.save()
    event_log.record("publish", match, by=alice, reason="the rain")

    def listed(model: type[Model], text: str) -> tuple[list[Any], str]:
        with CaptureQueriesContext(connection) as asked:
            page = as_superuser.get(
                reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"), {"q": text}
            )
        table = f'"{model._meta.db_table}"'
        reading = [each["sql"] for each in asked if f"FROM {table}" in each["sql"] and "WHERE" in each["sql"]]
        return list(page.context["cl"].result_list), "".join(reading)

    for text in (str(match.pk), "heron", "HERON grey", "abcdef"):
        found, reading = listed(Match, text)
        assert match in found, text
        assert "UPPER" not in reading, "parts of texts are compared in the table of players alone"
    assert not listed(Match, "heron owl")[0]
    for text, expected in ((f"match:{match.pk}", 1), ("publish", 1), ("alice publish", 1), ("rain", 0)):
        found, reading = listed(Event, text)
        assert len(found) == expected, text
        assert "UPPER" not in reading
    assert Piece.objects.filter(match=match).count() == len(listed(Piece, str(match.pk))[0])


def test_build_logs_and_worker_time_are_listed_newest_first_without_sorting_all(
    as_superuser: Client, rows: Any
) -> None:
    builds = [rows.more().builds.get() for _ in range(2)]
    LogChunk.objects.all().delete()
    for first in (0, 1):
        for build in builds:
            LogChunk.objects.create(build=build, stage="build", first_line=first, lines=1, text="a", at=clock.now())
    orders = {
        LogChunk: r'"build_id" DESC, "submissions_logchunk"\."first_line" ASC',
        WorkerTime: '"id" DESC',
    }
    for model, order in orders.items():
        table = model._meta.db_table
        with CaptureQueriesContext(connection) as asked:
            page = as_superuser.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
        listing = [each["sql"] for each in asked if re.search(f'FROM "{table}".* ORDER BY "', each["sql"])]
        assert len(listing) == 1
        assert re.search(rf'ORDER BY "{table}"\.{order}$', listing[0]), listing
        if model is LogChunk:
            listed = [(each.build_id, each.first_line) for each in page.context["cl"].result_list]
            assert listed == [(build.pk, first) for build in reversed(builds) for first in (0, 1)]
