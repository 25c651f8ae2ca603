"""Figures of rounds of the transfer format, for few teams and for many: made-up scores of two published rounds."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Team, User
from competitions.models import Competition, Entry, FreezeWindow, SampleSet, Track
from formats.transfer.tournaments.models import Entrant, Tournament
from repositories.models import Repository
from rounds.models import Round, RoundEntry
from submissions.models import Player, Submission

PAGES = "/competitions/transfer"
BEFORE = 2
"""Teams that are better than the best baseline."""


def teams(track: Track, count: int, by: User) -> Sequence[Submission]:
    """Create ready submissions of as many teams."""
    at = timezone.now()
    slugs = [f"team-{number}" for number in range(1, count + 1)]
    made = Team.objects.bulk_create(
        Team(slug=slug, name=slug, slug_skeleton=slug, name_skeleton=slug, created_at=at) for slug in slugs
    )
    entries = Entry.objects.bulk_create(Entry(team=team, competition=track.competition, joined_at=at) for team in made)
    repositories = Repository.objects.bulk_create(
        Repository(entry=entry, track=track, created_at=at) for entry in entries
    )
    players = Player.objects.bulk_create(
        Player(
            competition=track.competition, track_name=track.name, digest=f"sha256:{slug}", title=slug, command=["a"],
            repository=repository, commit="a" * 40, created_at=at,
        )
        for slug, repository in zip(slugs, repositories, strict=True)
    )  # fmt: skip
    return Submission.objects.bulk_create(
        Submission(
            repository=player.repository, commit="a" * 40, tag="submission-1", submitted_by=by, received_at=at,
            title=player.title, licence="MIT", state="ready", state_since=at, player=player,
        )
        for player in players
    )  # fmt: skip


def published(competition: Competition, number: int, field: Sequence[Submission], baselines: Sequence[Player]) -> Round:
    """Publish a round in which the scores fall with the place, from 0.5 and a tenth for each round."""
    at, track = timezone.now(), field[0].repository.track
    rules = competition.rules_versions.get()
    window = FreezeWindow.objects.create(
        competition=competition, starts_at=at + timedelta(days=number), ends_at=at + timedelta(days=number, hours=1),
        reason="a round",
    )  # fmt: skip
    samples = SampleSet.objects.create(
        competition=competition, name=f"round-{number}", purpose="test", source="digits", split="test", count=6,
        target_seed=7, digest=str(number) * 64, imported_at=at,
    )  # fmt: skip
    played = Round.objects.create(
        competition=competition, number=number, title=f"Round {number}", kind="development", window=window,
        sample_set=samples, salt="s", commitment="c", planned_at=at, state_since=at, state=Round.State.PUBLISHED,
        rules=rules,
    )  # fmt: skip
    tournament = Tournament.objects.create(
        competition=competition, rules=rules, sample_set=samples, round=played, seed=1, made_at=at, fixed=True
    )
    best = 0.5 + number / 10
    scores = [best - place / 1000 for place in range(len(field))]
    common = {"tournament": tournament, "track": track, "entered_at": at, "coverage": 1.0, "median_seconds": 17.0}
    Entrant.objects.bulk_create(
        Entrant(player=each.player, submission=each, score=score, raw=9, worst=1 - score, **common)
        for each, score in zip(field, scores, strict=True)
    )
    Entrant.objects.bulk_create(
        Entrant(player=player, score=best - (BEFORE - 0.5 + place) / 1000, raw=8, worst=0.01, **common)
        for place, player in enumerate(baselines)
    )
    RoundEntry.objects.bulk_create(
        RoundEntry(
            round=played, track=track, submission=each, player=each.player, order=place, prior=1, place=place,
            value=score, opponents=1, met=1,
        )
        for place, (each, score) in enumerate(zip(field, scores, strict=True), start=1)
    )  # fmt: skip
    return played


@pytest.fixture
def baselines(baseline: Player) -> list[Player]:
    """Six baselines of the attacks."""
    names = ("fgsm", "iterative", "ensemble", "step", "momentum")
    return [
        baseline,
        *Player.objects.bulk_create(
            Player(
                competition=baseline.competition, track_name="attack", digest=f"sha256:{name}", title=name,
                command=["a"], baseline=name, created_at=baseline.created_at,
            )
            for name in names
        ),
    ]  # fmt: skip


def rows(client: Client, address: str) -> list[dict[str, str]]:
    answer = client.get(f"{PAGES}/{address}.csv")
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def test_the_place_of_a_baseline_counts_teams_with_the_same_content_once(
    client: Client, transfer: Competition, rita: User, baselines: list[Player]
) -> None:
    """They share a place, so that the team after them is second."""
    field = teams(transfer.tracks.get(name="attack"), 3, rita)
    copied = published(transfer, 1, field, baselines).entries.order_by("place")
    copied.filter(place=2).update(player=field[0].player, value=copied[0].value)
    copied.filter(place__gt=1).update(place=F("place") - 1)
    assert "best baseline, would be at place 2" in client.get(f"{PAGES}/rounds/1").content.decode()


@pytest.mark.parametrize("count", [3, 300])
def test_figures_of_few_and_of_many_teams(
    client: Client,
    transfer: Competition,
    rita: User,
    baselines: list[Player],
    django_assert_max_num_queries: DjangoAssertNumQueries,
    count: int,
) -> None:
    field = teams(transfer.tracks.get(name="attack"), count, rita)
    first, last = (published(transfer, number, field, baselines) for number in (1, 2))
    with django_assert_max_num_queries(12):
        page = client.get(f"{PAGES}/rounds/2").content.decode()
    assert f"best baseline, would be at place {BEFORE + 1}" in page
    assert page.count('<span class="tag">best</span>') == 1
    assert "the best 4 of 6 baselines" in page

    scores = rows(client, "rounds/2/figures/scores-attack")
    assert [float(row["score"]) for row in scores] == pytest.approx([0.7 - place / 1000 for place in range(count)])
    assert {row["noop"] for row in scores} == {"0.6985"}
    standings = rows(client, "rounds/2/figures/standings-attack")
    assert len(standings) == count + len(baselines)
    assert next(row["place"] for row in standings if row["kind"] == "baseline") == str(BEFORE + 1)
    assert [row["name"] for row in standings[:3]] == ["team-1", "team-2", "team-3"]

    progress = rows(client, "history/attack/progress")
    assert [(row["round"], row["title"]) for row in progress] == [("1", "Round 1"), ("2", "Round 2")]
    table = client.get(f"{PAGES}/history/attack/progress.csv").content.decode().splitlines()
    assert [line.split(",")[1] for line in table[1:]] == ["0.0015", "0.0015"]

    # without its winner, and without a round that is not published
    Submission.objects.filter(pk=field[0].pk).update(disqualified_at=timezone.now())
    Round.objects.filter(pk=last.pk).update(state=Round.State.SCORED)
    (line,) = client.get(f"{PAGES}/history/attack/progress.csv").content.decode().splitlines()[1:]
    assert line.split(",")[:2] == ["1", "0.0005"]
    assert client.get(f"{PAGES}/rounds/2/figures/scores-attack.csv").status_code == 404
    assert client.get(f"{PAGES}/rounds/{first.number}/figures/scores-attack.svg").status_code == 200
