"""A round of the transfer format, from its plan to the verified bundle; one round is played for all tests."""

from __future__ import annotations

import csv
import io
import zipfile
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from PIL import Image as Picture

from accounts.models import User
from competitions.models import Competition, FrozenLeaderboards
from core import clock
from core.errors import Refusal
from evaluation.cli import main
from evaluation.cli.verify import DONE
from formats.query.leaderboards.models import Pool
from formats.transfer.rounds.competition_verification import differing_places
from formats.transfer.tournaments import services
from formats.transfer.tournaments.extensions import played_sets, playing_players
from formats.transfer.tournaments.models import AttackRun, DefenceRun, Entrant
from formats.transfer.tournaments.run_work import runs
from formats.transfer.tracks import ATTACK_TRACKS
from rounds.formats import format_of
from rounds.models import Release, Round
from rounds.planning.freeze import freeze
from rounds.publishing.preview import preview_digest
from rounds.publishing.publication import publish
from rounds.release.released_parts import open_part, release
from rounds.release.signing_keys import public_key
from rounds.running import lifecycle as rounds
from rounds.running.dashboard_data import dashboard as dashboard_of
from rounds.site_verification import verify
from submissions.models import Player, Submission
from tests.platform.claims import claim_run
from tests.platform.conftest import FakeClock
from tests.platform.formats.transfer.tournaments.conftest import ADD, CHECKSUM, COPY
from tests.platform.formats.transfer.tournaments.play_rounds import begin, plan, play
from workers.models import Worker

Submit = Callable[..., Submission]


OTHER_PAGES = (
    ("pages:share_round", (), 200),
    ("pages:round_bracket", ("attack",), 404),
    *((f"pages:round_{name}", (track,), 200) for name in ("matrix", "matrix_csv") for track in ATTACK_TRACKS),
    ("pages:round_matrix", ("defence",), 404),
    ("pages:round_matrix", ("untargeted",), 404),
    ("api:round", (), 200),
)
"""Other addresses of a published round. It has no brackets."""


@pytest.fixture
def planned(transfer: Competition, olga: User, submit: Submit, the_clock: FakeClock) -> Round:
    """A planned round of two attacks, a defence and the baseline, whose window begins now."""
    return _planned(transfer, olga, submit, the_clock)


@pytest.fixture
def playable(transfer: Competition, olga: User, push: Submit, the_clock: FakeClock) -> Round:
    """The same round, whose submissions can be run."""
    return _planned(transfer, olga, push, the_clock)


def _planned(transfer: Competition, olga: User, submit: Submit, the_clock: FakeClock) -> Round:
    the_clock.at = timezone.now()
    submit("owls", "attack", ADD)
    submit("bats", "defence", CHECKSUM)
    submit("bats", "targeted_attack", COPY)
    services.make_baselines()
    the_clock.at = timezone.now()
    return plan(transfer, olga)


@pytest.mark.slow(8)
def test_a_round_is_played_published_and_released_and_its_bundle_verifies(
    playable: Round,
    olga: User,
    the_clock: FakeClock,
    client: Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    reads: Counter[str],
) -> None:
    assert (playable.schedule, playable.guard) == ("all", False)
    begin(playable, olga, the_clock)
    client.force_login(olga)
    dashboard = reverse("admin:rounds_round_change", args=[playable.pk])
    address = reverse("pages:round", args=["transfer", 1])
    assert "Runs needed" in client.get(dashboard).content.decode()
    assert "0 of 12 runs played" in client.get(address).content.decode()
    assert (play(playable), playable.state, playable.problem) == (12, "scored", "")
    assert "over 3 opponents" in client.get(dashboard).content.decode()

    # everybody met everybody, the baseline too, which has no place
    places = {(row.track.name, row.submission.title): row for row in playable.entries.select_related("track")}
    assert {key: row.place for key, row in places.items()} == {
        ("attack", "owls 1"): 1, ("targeted_attack", "bats 3"): 1, ("defence", "bats 2"): 1,
    }  # fmt: skip
    assert places["defence", "bats 2"].opponents == 3
    entrants = Entrant.objects.filter(tournament=playable.tournament)
    assert {(entrant.submission_id, entrant.score) for entrant in entrants if entrant.submission_id} == {
        (row.submission_id, row.value) for row in places.values()
    }

    figures_are_hidden(client)

    asked = client.get(reverse("admin:rounds_round_publish", args=[playable.pk]))
    assert "There are no pools, and the leaderboards continue." in asked.content.decode()
    views = format_of(playable).preview(playable)
    assert [len(view.rows) for view in views] == [1, 1, 1]
    reads.clear()
    publish(round_=playable, by=olga, previewed=preview_digest(playable, views))
    assert reads["rules"] == 1
    assert not Pool.objects.exists()
    assert list(differing_places(Competition.objects.all())) == []
    client.logout()
    pages_before_the_release(client, playable)

    # a round of this format has no seeding that could show the order of frozen leaderboards
    frozen = FrozenLeaderboards.objects.create(competition=playable.competition, since=clock.now())
    for part in (Release.Part.BUNDLE, Release.Part.IMAGES, Release.Part.PERTURBED):
        release(round_=playable, part=part, by=olga, reason="It is over.")
    frozen.delete()
    bundle = saved(playable, "bundle", tmp_path)
    runs = AttackRun.objects.filter(tournament=playable.tournament)
    archives = [saved(playable, f"perturbed-{run.pk}", tmp_path) for run in runs]
    assert saved(playable, "perturbed", tmp_path).read_bytes().count(b"\n") == 1 + len(archives) == 7
    images = saved(playable, "images", tmp_path)
    assert command(bundle, playable, archives, images) == DONE
    assert "every attack against every defence" in capsys.readouterr().out
    with zipfile.ZipFile(archives[0]) as archive:
        assert len(archive.namelist()) in (2, 4)

    pages_after_the_release(client, playable)
    verification_finds_what_was_changed(playable)


FIGURES = ("scores-attack", "scores-targeted_attack", "scores-defence")


def figures_are_hidden(client: Client) -> None:
    """Before the round is published, there is no figure of it."""
    assert 'id="figures"' not in client.get(reverse("pages:round", args=["transfer", 1])).content.decode()
    for name in (*FIGURES, "standings-attack"):
        assert client.get(reverse("pages:figure_csv", args=["transfer", 1, name])).status_code == 404
        assert client.get(reverse("pages:figure_svg", args=["transfer", 1, name])).status_code == 404
    assert "No round with a score is published yet." in history(client)
    assert client.get(reverse("pages:history_table", args=["transfer", "attack", "progress"])).status_code == 404


def figures_show_what_is_published(client: Client, round_: Round) -> None:
    """The figures hold the scores of the round, those of the baseline as a line, and the place that it would have."""
    page = client.get(reverse("pages:round", args=["transfer", 1])).content.decode()
    assert all(f'id="{name}"' in page for name in FIGURES)
    score = {row.track.name: round(row.value or 0, 6) for row in round_.entries.select_related("track")}
    baseline = Entrant.objects.get(tournament__round=round_, submission=None)
    place = 1 + (score["attack"] > round(baseline.score or 0, 6))  # some drawn samples do not separate the two
    assert f"would be at place {place}" in page
    (first,) = csv_of(client, "figure_csv", "transfer", 1, "scores-attack")
    assert (first["place"], first["name"], float(first["score"])) == ("1", "owls", score["attack"])
    assert float(first["noop"]) == round(baseline.score or 0, 6) <= score["attack"]
    drawing = client.get(reverse("pages:figure_svg", args=["transfer", 1, "scores-attack"])).content.decode()
    assert ">noop</text>" in drawing
    team, other = csv_of(client, "figure_csv", "transfer", 1, "standings-attack")
    assert (team["kind"], other["kind"], other["name"], other["place"]) == ("team", "baseline", "noop", str(place))
    entrant = Entrant.objects.get(tournament__round=round_, track__name="attack", submission__isnull=False)
    assert float(team["worst score"]) == round(entrant.worst or 0, 6)
    assert float(team["median seconds"]) == pytest.approx(entrant.median_seconds or 0, rel=0.1)
    (progress,) = csv_of(client, "history_table", "transfer", "attack", "progress")
    titles = dict(round_.competition.tracks.values_list("name", "title"))
    assert set(titles.values()) == {"A track"}  # columns of one name, which keep their own values
    assert progress["round"] == "1"
    assert 'id="progress"' in history(client)
    drawing = client.get(reverse("pages:history_drawing", args=["transfer", "attack", "best"])).content.decode()
    assert drawing.count('class="chart-dots') == len(titles)


def history(client: Client) -> str:
    return client.get(reverse("pages:history", args=["transfer", "attack"])).content.decode()


def csv_of(client: Client, page: str, *args: object) -> list[dict[str, str]]:
    answer = client.get(reverse(f"pages:{page}", args=args))
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def pair_of(round_: Round) -> tuple[int, int]:
    """Return the players of the attack and of the defence."""
    attack, defence = (round_.entries.get(track__name=track).player_id for track in ("attack", "defence"))
    return attack, defence


def pages_before_the_release(client: Client, round_: Round) -> None:
    """Counts and figures are public with the result; images, and errors by class, are not."""
    figures_show_what_is_published(client, round_)
    attack, defence = pair_of(round_)
    matrix = reverse("pages:round_matrix", args=["transfer", 1, "attack"])
    pair = reverse("pages:round_pair", args=["transfer", 1, attack, defence])
    assert pair in client.get(matrix).content.decode()
    assert f"{matrix}.csv?epsilon=8" in client.get(f"{matrix}?epsilon=8").content.decode()
    assert client.get(f"{matrix}?epsilon=9").status_code == 404
    page = client.get(pair).content.decode()
    assert "owls 1 against bats 2" in page
    assert "Errors by class" not in page
    assert client.get(reverse("pages:round_pair", args=["transfer", 1, defence, attack])).status_code == 404
    gallery = reverse("pages:round_gallery", args=["transfer", 1, "attack"])
    page = client.get(reverse("pages:round", args=["transfer", 1])).content.decode()
    assert gallery not in page
    assert "95 % interval" not in page, "no run was played with labels, so there is none"
    for address in (gallery, picture(attack, "clean"), picture(attack, "perturbed")):
        assert client.get(address).status_code == 404
    (first,) = client.get(reverse("api:round", args=["transfer", 1])).json()["standings"]["defence"]
    assert {name: first[name] for name in ("place", "team", "score", "coverage", "opponents")} == {
        "place": 1, "team": "bats", "score": pytest.approx(round_.entries.get(player=defence).value, abs=1e-6),
        "coverage": 1.0, "opponents": 3,
    }  # fmt: skip


def pages_after_the_release(client: Client, round_: Round) -> None:
    """With the images and the bundle, everybody sees the gallery and the errors by class."""
    page = client.get(reverse("pages:round", args=["transfer", 1])).content.decode()
    assert "owls 1" in page
    assert page.count('class="rank') == 4  # three places, and the one that the baseline would have
    assert "racket" not in page
    assert f"perturbed-{AttackRun.objects.filter(tournament=round_.tournament)[0].pk}" in page
    for name, words, status in OTHER_PAGES:
        assert client.get(reverse(name, args=["transfer", 1, *words])).status_code == status, name
    attack, defence = pair_of(round_)
    pair = reverse("pages:round_pair", args=["transfer", 1, attack, defence])
    assert "Errors by class" in client.get(pair).content.decode()
    gallery = reverse("pages:round_gallery", args=["transfer", 1, "attack"])
    page = client.get(gallery).content.decode()
    assert page.count("of 1 defence<") == 2 * 6, "two attacks made six images each"
    assert picture(attack, "difference-10") in page
    chosen = client.get(gallery, {"with": defence}).content.decode()
    assert chosen.count(">fooled<") + chosen.count(">held<") == 2 * 6
    clean, perturbed = (client.get(picture(attack, name)).content for name in ("clean", "perturbed"))
    with Picture.open(io.BytesIO(clean)) as first, Picture.open(io.BytesIO(perturbed)) as second:
        assert np.asarray(second).astype(int)[0, 0, 0] - np.asarray(first).astype(int)[0, 0, 0] in (8, 16)
    assert client.get(picture(attack, "difference-11")).status_code == 404
    assert client.get(picture(defence, "perturbed")).status_code == 404
    assert client.get(picture(attack, "clean", 6)).status_code == 404


def picture(attack: int, name: str, sample: int = 5) -> str:
    """Return the address of a picture in the round."""
    return reverse("pages:round_image", args=["transfer", 1, attack, sample, name])


def verification_finds_what_was_changed(round_: Round) -> None:
    """Whether places, scores, labels or the outcome were changed in the database."""
    defence = round_.entries.get(track__name="defence")
    run = DefenceRun.objects.filter(attack_run__tournament=round_.tournament, correct__lt=4).first()
    assert run is not None
    for row, changes, found in (
        (defence, {"place": 2}, "place is 2 and should be 1"),
        (defence, {"value": 0.999}, "value is 0.999 and should be 0."),
        (Entrant.objects.get(tournament=round_.tournament, player=defence.player_id), {"worst": 1.0}, "worst is 1.0"),
        (run, {"correct": run.labelled}, f"correct is {run.labelled} and should be {run.correct}"),
        (round_, {"outcome": "0" * 64}, f"its outcome is {'0' * 64} and should be {round_.outcome}"),
    ):
        stored = type(row).objects.filter(pk=row.pk)
        before = stored.values(*changes).get()
        stored.update(**changes)
        assert found in "; ".join(str(each) for each in verify(round_.competition).differences), changes
        stored.update(**before)
    assert list(differing_places(Competition.objects.all())) == []


def saved(round_: Round, part: str, directory: Path) -> Path:
    """Download a released part."""
    path = directory / part
    with open_part(round_, part).open() as file:
        path.write_bytes(file.read())
    return path


def command(bundle: Path, round_: Round, archives: list[Path], images: Path) -> int:
    """Run `gauntlet verify` as the page of the round says; return its status."""
    commitments = ["--samples", round_.commitment, "--field", round_.field_commitment]
    files = ["--images", str(images), "--perturbed", *map(str, archives)]
    return main(["verify", str(bundle), "--key", public_key(), *commitments, *files])


def test_it_stops_at_a_failed_run_until_it_is_replayed(planned: Round, olga: User, the_clock: FakeClock) -> None:
    begin(planned, olga, the_clock)
    format_of(planned).advance(planned)
    run = None
    for worker in ("a/0", "b/0", "a/0"):
        the_clock.forward(hours=1)
        run = claim_run(worker)
        assert isinstance(run, AttackRun)
        runs.release(run, fault="the disk is full")
        AttackRun.objects.exclude(pk=run.pk).update(queued_at=clock.now())
    assert run is not None
    format_of(planned).advance(planned)
    planned.refresh_from_db()
    assert planned.problem.startswith(f"A platform error occurred in 1 of its runs: {run}. The first: the disk is full")
    runs.replay(run, by=olga)
    format_of(planned).advance(planned)
    planned.refresh_from_db()
    assert planned.problem.startswith("No worker that plays was seen recently")
    Worker.objects.create(name="a/0", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
    format_of(planned).advance(planned)
    planned.refresh_from_db()
    assert planned.problem == ""


def test_a_run_that_only_one_host_tried_is_a_problem_of_the_round(
    planned: Round, olga: User, the_clock: FakeClock
) -> None:
    begin(planned, olga, the_clock)
    format_of(planned).advance(planned)
    run = AttackRun.objects.order_by("pk")[0]
    AttackRun.objects.filter(pk=run.pk).update(faults=3, fault_hosts={"a": 3})
    format_of(planned).advance(planned)
    planned.refresh_from_db()
    assert planned.problem.startswith(f"{run} failed several times, on one host or because of hosts.")


def test_it_is_planned_in_the_admin(transfer: Competition, olga: User, client: Client) -> None:
    """Where every competition is of this format, the form has no schedule and no guard."""
    client.force_login(olga)
    address = reverse("admin:rounds_round_add")
    page = client.get(address).content.decode()
    assert 'name="source"' in page
    assert not {name for name in ("schedule", "guard") if f'name="{name}"' in page}
    starts = timezone.now().replace(year=2030)
    values = {"competition": transfer.pk, "title": "Round 1", "kind": "development", "samples": 6, "reason": "A test."}
    source = transfer.sample_sets.get(name="test")
    times = {f"{name}_{part}": text for name, at in (("starts_at", starts), ("ends_at", starts + timedelta(hours=1)))
             for part, text in enumerate((f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}"))}  # fmt: skip
    client.post(address, values | times | {"source": source.pk})
    assert Round.objects.get().schedule == "all"


def test_the_dashboard_says_before_the_start_that_no_worker_plays(planned: Round) -> None:
    assert dashboard_of(planned).problem.startswith("No worker that plays was seen recently")
    Worker.objects.create(name="a/0", worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
    assert dashboard_of(planned).problem == ""


def test_the_dashboard_shows_who_plays_its_runs(planned: Round, olga: User, the_clock: FakeClock) -> None:
    begin(planned, olga, the_clock)
    format_of(planned).advance(planned)
    for name in ("a/0", "a/1"):
        Worker.objects.create(name=name, worker_class="cpu", started_at=clock.now(), last_seen_at=clock.now())
    assert claim_run("a/1") is not None
    (workers,) = next(section.tables for section in dashboard_of(planned).sections if section.title == "Workers")
    assert workers.title == "2 live"
    assert workers.rows == [("a/0", "cpu", "waits"), ("a/1", "cpu", "plays")]


def test_its_runs_come_first_unless_it_is_paused(
    planned: Round, transfer: Competition, olga: User, the_clock: FakeClock
) -> None:
    services.advance(services.make_tournament(transfer))
    the_clock.forward(minutes=10)
    begin(planned, olga, the_clock)
    format_of(planned).advance(planned)

    def claimed() -> bool | None:
        """Whether the next run is the round's; None if nothing waits."""
        run = claim_run("worker")
        assert run is None or isinstance(run, AttackRun)
        return None if run is None else run.tournament_id == planned.tournament.pk

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
    assert (planned.state, hasattr(planned, "tournament")) == ("planned", False)


def test_samples_count_as_seen_once_a_worker_has_held_them(planned: Round, olga: User, the_clock: FakeClock) -> None:
    begin(planned, olga, the_clock)
    format_of(planned).advance(planned)
    assert planned.sample_set not in played_sets()
    assert claim_run("worker") is not None
    assert planned.sample_set in played_sets()
