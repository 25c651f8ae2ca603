"""Rounds, leaderboards, pages and the push gate of every registered format, with results that nobody played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.models import Competition, SampleSet
from core import clock
from core.errors import Refusal
from evaluation.bundle.signature_check import Checked, verify_signed
from evaluation.cli import main
from evaluation.formats.registry import formats as engine_formats
from formats.query.matches.models import Match
from pages.formats import page_formats
from repositories.git_reader import GitReader
from rounds.formats import round_formats
from rounds.models import Release, Round
from rounds.objections.closing import answer
from rounds.objections.filing import file_objection
from rounds.planning.freeze import freeze
from rounds.publishing.publication import publish
from rounds.release.released_parts import release
from rounds.release.signing_keys import public_key
from rounds.running import lifecycle
from rounds.site_verification import verify
from submissions.formats import submission_formats
from submissions.models import Player, Submission
from submissions.services import make_baseline
from tests.platform.conftest import FakeClock
from tests.platform.formats.conftest import Open
from tests.platform.formats.page_permissions import differences
from tests.platform.formats.simulated_work import play, sweep_and_play, worker
from tests.platform.formats.test_conformance import each_format
from workers import queue
from workers.lease import Leased

ACTS: dict[str, Callable[[Round, User], None]] = {
    "freeze": lambda round_, by: freeze(round_=round_, by=by),
    "start": lambda round_, by: lifecycle.start(round_=round_, by=by),
    "pause": lambda round_, by: lifecycle.pause(round_=round_, by=by),
    "resume": lambda round_, by: lifecycle.resume(round_=round_, by=by),
    "publish": lambda round_, by: publish(round_=round_, by=by),
    "cancel": lambda round_, by: lifecycle.cancel(round_=round_, by=by, reason="A test."),
}
"""What organisers do with a round."""


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
def test_a_submission_that_was_made_a_baseline_enters_without_prizes(opened: Open, planned: Round, name: str) -> None:
    baseline = Submission.objects.earliest("pk")
    if not submission_formats[name].has_baselines:
        with pytest.raises(Refusal, match="has no baselines"):
            make_baseline(submission=baseline, by=opened.olga, reason="Everybody knows it.")
        return
    make_baseline(submission=baseline, by=opened.olga, reason="Everybody knows it.")
    ACTS["freeze"](planned, opened.olga)
    entry = planned.entries.get(submission=baseline)
    assert (entry.eligible, entry.ineligible_because) == (False, "the organisers made it a baseline")


@each_format
@pytest.mark.slow(15)
def test_a_round_from_its_plan_to_the_verified_bundle(
    the_clock: FakeClock, opened: Open, name: str, client: Client, tmp_path: Path
) -> None:
    """Everything that a round goes through, with results that workers make up."""
    current_app.loader.import_default_modules()  # as a worker does when it starts
    olga, round_ = opened.olga, opened.plan(opened.olga)
    assert round_.schedule in round_formats[name].schedules
    the_clock.at = round_.window.starts_at
    ACTS["freeze"](round_, olga)
    ACTS["start"](round_, olga)
    for _ in range(2):
        round_formats[name].advance(round_)
    round_.refresh_from_db()
    assert (round_.state, round_.outcome) == ("playing", ""), "nothing was played"
    _answers(client, opened, [None], released=False)
    ACTS["pause"](round_, olga)
    assert play() == 0
    ACTS["resume"](round_, olga)
    lost = queue.claim(worker("lost/play/0"))
    assert lost is not None
    the_clock.forward(seconds=2 * Leased.LEASE.total_seconds())
    assert sweep_and_play() > 0
    round_.refresh_from_db()
    assert (round_.state, round_.problem) == ("scored", "")
    _placed(opened, round_)
    assert len(round_formats[name].preview(round_)) == opened.competition.tracks.count()

    the_clock.at = round_.window.ends_at + timedelta(minutes=1)
    ACTS["publish"](round_, olga)
    for part in ("bundle", "images"):
        release(round_=round_, part=part, by=olga, reason="It is over.")
    verified_bundle(client, round_, tmp_path)
    _objections(client, opened, round_, the_clock)
    sweep_and_play()
    _leaderboards(client, opened.competition)
    _pictures(client, opened.competition)
    _answers(client, opened, [None, opened.olga], released=True)
    assert differences(round_, Submission.objects.earliest("pk"), User.objects.get(username="bob"), olga) == {}
    assert verify(opened.competition).differences == ()
    round_.entries.filter(place=1).update(place=7)
    assert verify(opened.competition).differences


def _placed(opened: Open, round_: Round) -> None:
    """Both entries of each track are there, and one is first."""
    for track in opened.competition.tracks.all():
        places = sorted(entry.place or 0 for entry in round_.entries.filter(track=track))
        assert places[0] == 1, track
        assert len(places) == 2


def verified_bundle(client: Client, round_: Round, tmp_path: Path) -> None:
    """The site's key signed it for everybody, and `gauntlet verify` accepts it where the engine has the format."""
    name = round_.competition.format
    content = client.get(reverse("pages:round_file", args=[name, 1, "bundle"])).getvalue()
    signed = verify_signed(content, public_key(), None, None, lambda lines: Checked((), (f"{len(list(lines))} lines",)))
    assert signed.ok, signed.problems
    if name in {each.name for each in engine_formats}:
        bundle = tmp_path / "bundle.jsonl"
        bundle.write_bytes(content)
        published = ["--samples", round_.commitment, "--field", round_.field_commitment]
        assert main(["verify", str(bundle), "--key", public_key(), *published]) == 0


def _objections(client: Client, opened: Open, round_: Round, the_clock: FakeClock) -> None:
    """A team objects to the result, to an entry and to a match where the format has some; the result becomes final.

    The file of the objections is signed, and the bundle stays as it is.
    """
    name, page = round_.competition.format, reverse("pages:round", args=[round_.competition.slug, 1])
    # what the tests before wrote in this database has taken the first keys
    players = list(Player.objects.values_list("pk", flat=True))
    keys = [str(key) for key in Match.objects.values_list("pk", flat=True)]
    keys += [f"{attack}/{other}" for attack in players for other in players]
    matches = round_formats[name].find_matches(round_, keys)
    assert bool(matches) == bool(page_formats[name].attack_tracks)
    assert round_formats[name].find_matches(round_, ["", "0", "x", "-1", "1/", "9" * 30, "1/2/3", "\u0661"]) == {}
    subjects: list[dict[str, Any]] = [{}, {"entry": round_.entries.earliest("pk").pk}]
    client.force_login(opened.captain)
    for key in list(matches)[:1]:
        subjects.append({"match": key})
        assert len(matches[key].players) == 2
        of_match = client.get(page_formats[name].match_address(round_, key))
        assert "Object to this match" in of_match.content.decode()
    made = [file_objection(round_=round_, by=opened.captain, text="Wrong.", **subject) for subject in subjects]
    assert "Provisional: objections until" in client.get(page).content.decode()
    client.logout()
    bundle = b"".join(client.get(f"{page}/files/bundle"))
    for each in made:
        answer(objection=each, upheld=False, by=opened.olga, reason="It is right.")
    the_clock.forward(days=3)
    shown = client.get(page).content.decode()
    assert "Final: objections were accepted until" in shown
    assert shown.count("Answer of the organisers") == len(subjects)
    assert len(client.get(reverse("api:objections", args=[name, 1])).json()["results"]) == len(subjects)
    release(round_=round_, part="objections", by=opened.olga, reason="It is final.")
    content = b"".join(client.get(f"{page}/files/objections"))
    signed = verify_signed(content, public_key(), None, None, lambda lines: Checked((), (f"{len(list(lines))} lines",)))
    assert signed.ok, signed.problems
    assert signed.summary[0] == f"{1 + len(subjects)} lines"
    assert b"".join(client.get(f"{page}/files/bundle")) == bundle


def _pictures(client: Client, competition: Competition) -> None:
    """The competition, the round and each leaderboard have a picture for shared links."""
    slug = competition.slug
    pictures: dict[str, list[list[object]]] = {"share_competition": [[slug]], "share_round": [[slug, 1]]}
    pictures["share_board"] = [[slug, track.name] for track in competition.tracks.all()]
    for page, each in pictures.items():
        for arguments in each:
            assert client.get(reverse(f"pages:{page}", args=arguments)).headers["Content-Type"] == "image/png"


def _leaderboards(client: Client, competition: Competition) -> None:
    """Both teams stand on each leaderboard: on the page, in its CSV and in the API."""
    for track in competition.tracks.all():
        of_track = [competition.slug, track.name]
        rows = client.get(reverse("api:leaderboard", args=of_track)).json()["rows"]
        assert {row["team"] for row in rows} == {"owls", "foxes"}
        page = client.get(reverse("pages:board", args=of_track)).content.decode()
        table = client.get(reverse("pages:board_csv", args=of_track)).content.decode()
        assert len(table.splitlines()) == 1 + len(rows)
        for team in ("Owls", "Foxes"):
            assert team in page
            assert team in table


@each_format
def test_only_organisers_plan_rounds_and_act_on_them(opened: Open, name: str) -> None:
    with pytest.raises(Refusal, match="organiser"):
        opened.plan(opened.captain)
    assert not Round.objects.exists()
    planned = opened.plan(opened.olga)
    for act in ACTS.values():
        with pytest.raises(Refusal, match="organiser"):
            act(planned, opened.captain)
        planned.refresh_from_db()
        assert planned.state == "planned"


@each_format
def test_nothing_of_an_unpublished_round_is_released(opened: Open, planned: Round, name: str) -> None:
    ACTS["freeze"](planned, opened.olga)
    for part in Release.Part.values:
        with pytest.raises(Refusal, match="is frozen and cannot be released"):
            release(round_=planned, part=part, by=opened.olga, reason="Too early.")


@each_format
def test_a_round_without_an_entry_is_not_frozen(opened: Open, planned: Round, name: str) -> None:
    Submission.objects.update(state=Submission.State.WITHDRAWN)
    with pytest.raises(Refusal) as refused:
        ACTS["freeze"](planned, opened.olga)
    assert refused.value.fix


def _answers(client: Client, opened: Open, readers: Sequence[User | None], *, released: bool) -> None:
    """Every page and every answer of the API is there for `readers`; the files of a round, when they are released.

    Those of `page_permissions` are read of a released round there. What not every format has is shown or missing: a
    history, curves, a matrix, and a round's bracket and matrix.
    """
    name, submission = opened.competition.slug, Submission.objects.order_by("pk")[0]
    of_table = [
        *(reverse(f"pages:{page}", args=[name]) for page in ("competition", "rules", "data", "citation")),
        reverse("pages:round", args=[name, 1]),
        reverse("pages:team", args=["owls"]),
        reverse("pages:submission", args=[submission.pk]),
    ]
    paths = [
        *([] if released else of_table),
        *(reverse(f"pages:{page}") for page in ("home", "docs", "status", "leaderboards", "competitions")),
        *(
            reverse(f"{page}", args=[name, track.name])
            for page in ("pages:board", "pages:board_csv", "api:leaderboard")
            for track in opened.competition.tracks.all()
        ),
        reverse("api:submission", args=[submission.pk]),
        reverse("api:round", args=[name, 1]),
    ]
    files = [reverse("pages:round_file", args=[name, 1, part]) for part in ("bundle", "images")]
    optional = [
        reverse(f"pages:{page}", args=[name, *number, track.name])
        for page, number in (
            ("history", ()),
            ("curves", ()),
            ("matrix", ()),
            ("round_bracket", (1,)),
            ("round_matrix", (1,)),
        )
        for track in opened.competition.tracks.all()
    ]
    optional += [] if released else [f"{path}.csv" for path in optional]
    for reader in readers:
        if reader is not None:
            client.force_login(reader)
        assert {client.get(path).status_code for path in optional} <= {200, 404}
        assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)
        for path in files:
            answer = client.get(path)
            assert answer.getvalue()  # reading it to its end closes it
            assert answer.status_code == (200 if released else 404)
    client.logout()


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
