"""Rounds, pages and the push gate of every registered format, with submissions that nobody has played."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.services import create_team
from competitions.models import Competition, Entry, Organiser, SampleSet, Track
from competitions.services import enter, import_competition
from core import clock, notify
from core.errors import Refusal
from repositories.git_reader import GitReader
from repositories.models import Repository
from rounds import services
from rounds.formats import round_formats
from rounds.models import Release, Round
from rounds.planning.freeze import freeze
from rounds.planning.plan import plan_round
from rounds.publishing.publication import publish
from rounds.release.released_parts import release
from submissions.formats import submission_formats
from submissions.models import Player, Submission
from tests.platform.formats.test_conformance import document_of, each_format

ACTS: dict[str, Callable[[Round, User], None]] = {
    "freeze": lambda round_, by: freeze(round_=round_, by=by),
    "start": lambda round_, by: services.start(round_=round_, by=by),
    "pause": lambda round_, by: services.pause(round_=round_, by=by),
    "resume": lambda round_, by: services.resume(round_=round_, by=by),
    "publish": lambda round_, by: publish(round_=round_, by=by),
    "cancel": lambda round_, by: services.cancel(round_=round_, by=by, reason="A test."),
}
"""What organisers do with a round."""


class Open(NamedTuple):
    """A competition in which a team has a ready submission to each track."""

    competition: Competition
    olga: User
    captain: User

    def plan(self, by: User) -> Round:
        """Plan a round on the final samples, whose window begins now."""
        now = clock.now()
        return plan_round(
            competition=self.competition, title="Final", kind="final", schedule="ladder-2", guard=False, samples=4,
            source=self.competition.sample_sets.get(purpose=SampleSet.Purpose.FINAL), by=by,
            starts_at=now + timedelta(seconds=1), ends_at=now + timedelta(hours=2),
        )  # fmt: skip


@pytest.fixture
def opened(db: None, root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Open:
    """A competition of the format, which Olga organises."""
    monkeypatch.setattr(notify, "_send", lambda task, keys: None)
    document = document_of(root, name)
    tracks = {track: values | {"baselines": []} for track, values in document["tracks"].items()}
    competition = import_competition(document | {"tracks": tracks})
    olga, alice, bob = (User.objects.create_user(each, f"{each}@example.org") for each in ("olga", "alice", "bob"))
    Organiser.objects.create(competition=competition, user=olga)
    for slug, captain in (("owls", alice), ("foxes", bob)):
        entry = enter(team=create_team(slug=slug, name=slug.title(), captain=captain), competition=competition)
        for track in competition.tracks.all():
            _submit(entry, track, captain)
    return Open(competition, olga, alice)


def _submit(entry: Entry, track: Track, captain: User) -> None:
    """A team has a ready submission to a track."""
    now, commit = clock.now(), f"{entry.pk:020x}{track.pk:020x}"
    repository = Repository.objects.create(entry=entry, track=track, created_at=now)
    player = Player.objects.create(
        competition=track.competition, track_name=track.name, digest=f"sha256:{commit}", title="Wise", command=["main"],
        repository=repository, commit=commit, created_at=now,
    )  # fmt: skip
    Submission.objects.create(
        repository=repository, commit=commit, tag="submission-1", submitted_by=captain, received_at=now, title="Wise",
        licence="MIT", state=Submission.State.READY, state_since=now, player=player,
    )  # fmt: skip


@pytest.fixture
def planned(opened: Open, monkeypatch: pytest.MonkeyPatch) -> Round:
    """A round whose window has begun."""
    round_ = opened.plan(opened.olga)
    monkeypatch.setattr(clock, "database_now", lambda: round_.window.starts_at + timedelta(minutes=1))
    return round_


@each_format
def test_a_round_is_frozen_started_paused_resumed_and_cancelled(opened: Open, planned: Round, name: str) -> None:
    states = []
    for act in ("freeze", "start", "pause", "resume", "cancel"):
        ACTS[act](planned, opened.olga)
        states.append(planned.state)
    assert states == ["frozen", "playing", "paused", "playing", "cancelled"]
    assert planned.field_commitment
    assert planned.bundle_format == round_formats[name].bundle_format
    tracks = {entry.track.name for entry in planned.entries.select_related("track")}
    assert tracks == {track.name for track in opened.competition.tracks.all()}
    everything = Competition.objects.filter(format=name)
    assert round_formats[name].verify(everything, repair=False).differences == ()


@each_format
def test_a_round_that_is_advanced_before_anything_was_played_plays_on(opened: Open, planned: Round, name: str) -> None:
    ACTS["freeze"](planned, opened.olga)
    ACTS["start"](planned, opened.olga)
    for _ in range(2):
        round_formats[name].advance(planned)
    planned.refresh_from_db()
    assert (planned.state, planned.outcome) == ("playing", "")


@each_format
@pytest.mark.parametrize("act", ACTS)
def test_only_organisers_act_on_rounds(opened: Open, planned: Round, name: str, act: str) -> None:
    with pytest.raises(Refusal, match="organiser"):
        ACTS[act](planned, opened.captain)
    planned.refresh_from_db()
    assert planned.state == "planned"


@each_format
def test_only_organisers_plan_rounds(opened: Open, name: str) -> None:
    with pytest.raises(Refusal, match="organiser"):
        opened.plan(opened.captain)
    assert not Round.objects.exists()


@each_format
@pytest.mark.parametrize("part", Release.Part.values)
def test_nothing_of_an_unpublished_round_is_released(opened: Open, planned: Round, name: str, part: str) -> None:
    ACTS["freeze"](planned, opened.olga)
    with pytest.raises(Refusal, match="is frozen and cannot be released"):
        release(round_=planned, part=part, by=opened.olga, reason="Too early.")


@each_format
def test_a_round_without_an_entry_is_not_frozen(opened: Open, planned: Round, name: str) -> None:
    Submission.objects.update(state=Submission.State.WITHDRAWN)
    with pytest.raises(Refusal) as refused:
        ACTS["freeze"](planned, opened.olga)
    assert refused.value.fix


@each_format
def test_every_page_answers_everyone(client: Client, opened: Open, planned: Round, name: str) -> None:
    competition, submission = opened.competition, Submission.objects.order_by("pk")[0]
    ACTS["freeze"](planned, opened.olga)
    ACTS["start"](planned, opened.olga)
    paths = [
        *(
            reverse(f"pages:{page}", args=[name])
            for page in ("competition", "rules", "data", "citation", "share_competition")
        ),
        *(reverse(f"pages:{page}", args=[name, 1]) for page in ("round", "share_round")),
        *(reverse(f"pages:{page}") for page in ("home", "docs", "status", "leaderboards", "competitions")),
        *(
            reverse(f"{page}", args=[name, track.name])
            for page in ("pages:board", "pages:board_csv", "pages:share_board", "api:leaderboard")
            for track in competition.tracks.all()
        ),
        reverse("pages:team", args=["owls"]),
        reverse("pages:submission", args=[submission.pk]),
        reverse("api:submission", args=[submission.pk]),
        reverse("api:round", args=[name, 1]),
    ]
    for reader in (None, opened.captain, opened.olga):
        if reader is not None:
            client.force_login(reader)
        assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)


@each_format
@pytest.mark.parametrize("page", ["history", "curves", "matrix"])
def test_an_optional_page_is_shown_or_missing(client: Client, opened: Open, name: str, page: str) -> None:
    for track in opened.competition.tracks.all():
        path = reverse(f"pages:{page}", args=[name, track.name])
        assert client.get(path).status_code in (200, 404)
        assert client.get(f"{path}.csv").status_code in (200, 404)


@each_format
def test_the_push_gate_refuses_an_empty_commit_with_a_fix(opened: Open, tmp_path: Path, name: str) -> None:
    for track in opened.competition.tracks.all():
        with GitReader(tmp_path) as reader, pytest.raises(Refusal) as refused:
            submission_formats[name].preflight(track.name, "1" * 40, [], reader)
        assert refused.value.fix


@each_format
def test_a_smoke_test_has_the_rules_and_the_public_samples_of_its_competition(opened: Open, name: str) -> None:
    smoke_test = submission_formats[name].smoke_test(opened.competition)
    development = opened.competition.sample_sets.get(purpose=SampleSet.Purpose.DEVELOPMENT)
    assert smoke_test.rules.format == name
    assert len(smoke_test.samples) == development.count
    assert smoke_test.limit > timedelta(0)
