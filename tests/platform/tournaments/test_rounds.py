"""A round of the transfer format, from its plan to the verified bundle; one round is played for all tests."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from competitions.models import Competition, Organiser
from core import clock
from core.errors import Refusal
from evaluation.cli import main
from evaluation.cli.verify import DONE
from rounds import services as rounds
from rounds.formats import format_of
from rounds.freeze import freeze
from rounds.models import Release, Round
from rounds.planning import plan_round
from rounds.preview import preview_digest
from rounds.publication import publish
from rounds.release import open_part, release
from rounds.signing_keys import public_key
from rounds.verification import differing_pools
from submissions.models import Player, Submission
from tests.platform.conftest import FakeClock
from tests.platform.tournaments.conftest import ADD, BRIGHTNESS, COPY, play_all
from tournaments import queue, services
from tournaments.extensions import played_sets, playing_players
from tournaments.models import AttackRun, Entrant

Submit = Callable[..., Submission]


OTHER_PAGES = (
    ("pages:share_round", (), 200),
    ("pages:round_bracket", ("attack",), 404),
    ("pages:round_matrix", ("attack",), 404),
    ("pages:round_gallery", ("attack",), 404),
    ("api:round", (), 200),
)
"""Other addresses of a published round; it has neither brackets nor matches."""


@pytest.fixture
def olga(transfer: Competition) -> User:
    """Organiser of the competition."""
    user = User.objects.create_user("olga", "olga@example.org", is_staff=True)
    Organiser.objects.create(competition=transfer, user=user)
    return user


@pytest.fixture
def planned(transfer: Competition, olga: User, submit: Submit, the_clock: FakeClock) -> Round:
    """A planned round of two attacks, a defence and the baseline, whose window begins now."""
    the_clock.at = timezone.now()
    submit("owls", "attack", ADD)
    submit("bats", "defence", BRIGHTNESS)
    submit("bats", "targeted_attack", COPY)
    services.make_baselines()
    the_clock.at = timezone.now()
    return plan(transfer, olga)


def plan(competition: Competition, by: User, **more: Any) -> Round:
    values: dict[str, Any] = {
        "competition": competition, "title": "Round 1", "kind": "top-five", "schedule": "", "guard": True,
        "source": competition.sample_sets.get(name="test"), "samples": 6,
        "starts_at": clock.now() + timedelta(hours=1), "ends_at": clock.now() + timedelta(hours=2), "by": by,
    }  # fmt: skip
    return plan_round(**values | more)


def begin(round_: Round, by: User, the_clock: FakeClock) -> None:
    """Freeze and start it."""
    the_clock.at = round_.window.starts_at
    freeze(round_=round_, by=by)
    rounds.start(round_=round_, by=by)


def play(round_: Round) -> int:
    """Play it to its end."""
    assert round_.tournament is not None
    played = play_all(round_.tournament)
    format_of(round_).advance(round_)
    round_.refresh_from_db()
    return played


def test_it_works(
    planned: Round, olga: User, the_clock: FakeClock, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (planned.schedule, planned.guard) == ("all", False)
    begin(planned, olga, the_clock)
    client.force_login(olga)
    dashboard = reverse("admin:rounds_round_change", args=[planned.pk])
    address = reverse("pages:round", args=["transfer", 1])
    assert "Runs needed" in client.get(dashboard).content.decode()
    assert "0 of 12 runs played" in client.get(address).content.decode()
    assert play(planned) == 12
    assert "over 3 opponents" in client.get(dashboard).content.decode()
    assert (planned.state, planned.problem) == ("scored", "")

    # everybody met everybody, the baseline too, which has no place
    places = {(row.track.name, row.submission.title): row for row in planned.entries.select_related("track")}
    assert {key: row.place for key, row in places.items()} == {
        ("attack", "owls 1"): 1, ("targeted_attack", "bats 3"): 1, ("defence", "bats 2"): 1,
    }  # fmt: skip
    assert places["defence", "bats 2"].opponents == 3
    entrants = Entrant.objects.filter(tournament=planned.tournament)
    assert {(entrant.submission_id, entrant.score) for entrant in entrants if entrant.submission_id} == {
        (row.submission_id, row.value) for row in places.values()
    }

    views = format_of(planned).preview(planned)
    assert [len(view.rows) for view in views] == [1, 1, 1]
    publish(round_=planned, by=olga, previewed=preview_digest(planned, views))
    assert not planned.pools.exists()
    assert list(differing_pools()) == []

    for part in (Release.Part.BUNDLE, Release.Part.IMAGES, Release.Part.PERTURBED):
        release(round_=planned, part=part, by=olga, reason="It is over.")
    bundle = saved(planned, "bundle", tmp_path)
    runs = AttackRun.objects.filter(tournament=planned.tournament)
    archives = [saved(planned, f"perturbed-{run.pk}", tmp_path) for run in runs]
    assert len(archives) == 6
    assert saved(planned, "perturbed", tmp_path).read_bytes().count(b"\n") == 1 + 6
    assert command(bundle, planned, archives) == DONE
    assert "every attack against every defence" in capsys.readouterr().out
    with zipfile.ZipFile(archives[0]) as archive:
        assert len(archive.namelist()) in (2, 4)

    for name, words, status in OTHER_PAGES:
        assert client.get(reverse(name, args=["transfer", 1, *words])).status_code == status, name
    page = client.get(address).content.decode()
    assert "owls 1" in page
    assert page.count('class="rank') == 3
    assert "racket" not in page
    assert f"perturbed-{runs[0].pk}" in page


def saved(round_: Round, part: str, directory: Path) -> Path:
    """Download a released part."""
    path = directory / part
    with open_part(round_, part).open() as file:
        path.write_bytes(file.read())
    return path


def command(bundle: Path, round_: Round, archives: list[Path]) -> int:
    """Run `gauntlet verify` as the page of the round says; return its status."""
    commitments = ["--samples", round_.commitment, "--field", round_.field_commitment]
    words = ["verify", str(bundle), "--key", public_key(), *commitments, "--perturbed", *map(str, archives)]
    return main(words)


def test_it_stops_at_a_failed_run_until_it_is_replayed(planned: Round, olga: User, the_clock: FakeClock) -> None:
    begin(planned, olga, the_clock)
    format_of(planned).advance(planned)
    run = None
    for _ in range(queue.MAX_FAULTS):
        the_clock.forward(hours=1)
        run = queue.claim("worker")
        assert isinstance(run, AttackRun)
        queue.release_claim(run, fault="the disk is full")
        AttackRun.objects.exclude(pk=run.pk).update(queued_at=clock.now())
    assert run is not None
    format_of(planned).advance(planned)
    planned.refresh_from_db()
    assert planned.problem.startswith(f"A platform error occurred in 1 of its runs: {run}. The first: the disk is full")
    queue.replay_failed(run, by=olga)
    format_of(planned).advance(planned)
    planned.refresh_from_db()
    assert planned.problem == ""


def test_its_runs_come_first_unless_it_is_paused(
    planned: Round, transfer: Competition, olga: User, the_clock: FakeClock
) -> None:
    services.advance(services.make_tournament(transfer))
    the_clock.forward(minutes=10)
    begin(planned, olga, the_clock)
    format_of(planned).advance(planned)

    def claimed() -> bool | None:
        """Whether the next run is the round's; None if nothing waits."""
        run = queue.claim("worker")
        assert run is None or isinstance(run, AttackRun)
        return None if run is None else run.tournament_id == planned.tournament_id

    assert claimed() is True
    rounds.pause(round_=planned, by=olga)
    assert claimed() is False
    rounds.resume(round_=planned, by=olga)
    assert claimed() is True
    rounds.cancel(round_=planned, by=olga, reason="a wrong file")
    assert claimed() is False
    with pytest.raises(Refusal, match="was played before, so it is no longer secret"):
        plan(transfer, olga)
    assert not Player.objects.filter(pk__in=planned.entries.values("player")).exclude(
        pk__in=playing_players().values("pk")
    ), "the leaderboard still plays them"


def test_nobody_enters_or_leaves(planned: Round, submit: Submit, olga: User, the_clock: FakeClock) -> None:
    begin(planned, olga, the_clock)
    assert planned.tournament is not None
    entrants = Entrant.objects.filter(tournament=planned.tournament, left_at=None)
    before = set(entrants.values_list("pk", flat=True))
    Submission.objects.filter(repository__entry__team__slug="owls").update(state=Submission.State.WITHDRAWN)
    services.advance_all()
    services.advance(planned.tournament)
    assert (
        set(Entrant.objects.filter(tournament=planned.tournament, left_at=None).values_list("pk", flat=True)) == before
    )


@pytest.mark.parametrize(
    ("missing", "problem"),
    [
        ("baseline", "these baselines are not built yet: noop"),
        ("defence", "no defence was ready when the window began"),
        ("all", "no submission was ready when the window began"),
    ],
)
def test_it_is_not_frozen(planned: Round, olga: User, the_clock: FakeClock, missing: str, problem: str) -> None:
    the_clock.at = planned.window.starts_at
    if missing == "baseline":
        Player.objects.filter(baseline="noop").delete()
    else:
        rows = Submission.objects.all()
        gone = rows if missing == "all" else rows.filter(repository__track__name=missing)
        gone.update(state=Submission.State.WITHDRAWN)
    with pytest.raises(Refusal, match=problem):
        freeze(round_=planned, by=olga)
    planned.refresh_from_db()
    assert (planned.state, planned.tournament) == ("planned", None)


def test_samples_count_as_seen_once_a_worker_has_held_them(planned: Round, olga: User, the_clock: FakeClock) -> None:
    begin(planned, olga, the_clock)
    format_of(planned).advance(planned)
    assert planned.sample_set not in played_sets()
    assert queue.claim("worker") is not None
    assert planned.sample_set in played_sets()
