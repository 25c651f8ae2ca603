"""Real matches: real players in the process sandbox, claimed, refereed and committed piece by piece."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from pytest_django import Settings

from competitions.models import RulesVersion, SampleSet
from competitions.sample_store import samples_of
from core import object_store
from core.models import Event
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.play_match import Played, play
from formats.query.matches import kept_frames, piece_queue
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_result import PlayedPiece
from formats.query.matches.player_builds import ready_player
from submissions import unused_image_removal
from submissions.models import Player
from tests.platform.claims import claimed_pieces
from tests.platform.formats.query.matches.whole_match import ensure_match
from workers import calibration, tasks
from workers.heartbeat import register
from workers.models import Worker
from workers.sandboxes import open_sandbox

pytestmark = pytest.mark.django_db(transaction=True)

COLUMNS = ("sample", "outcome", "distance", "worst_case", "queries", "reason", "found_label")


def played_by_the_engine(match: Match) -> Played:
    """Play the match as `gauntlet play` does: with fresh instances, bundled players or not."""
    model, attack = (ready_player(player, lambda line: None) for player in (match.model, match.attack))
    return play(
        model=model,
        attack=attack,
        samples=samples_of(match.sample_set),
        rules=match.rules.rules_as(QueryRules),
        sandbox=open_sandbox(),
        seed=match.seed,
        level_caches=False,
    )


def rows_of(match: Match) -> list[dict[str, Any]]:
    return list(match.sample_results.order_by("sample").values(*COLUMNS))


def rows_by_the_engine(result: Played) -> list[Mapping[str, Any]]:
    rows = [asdict(row) | {"reason": str(row.reason or "")} for row in result.result.samples]
    return [{name: row[name] for name in COLUMNS} for row in rows]


def test_a_match_played_on_the_site_has_the_rows_that_the_engine_alone_finds(
    match: Match, make_worker: Callable[..., Worker], let_play: Callable[..., None]
) -> None:
    engine = played_by_the_engine(match)
    for name in ("one", "two", "three"):  # a new worker for each piece
        let_play(make_worker(name), seconds=0.0)
    match.refresh_from_db()
    assert match.state == "played"
    assert {piece.worker.name for piece in match.pieces.all() if piece.worker} == {"one", "two", "three"}
    assert rows_of(match) == rows_by_the_engine(engine)

    match.delete()
    match = ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.attack)
    let_play(make_worker("four"))
    match.refresh_from_db()
    assert (match.state, match.fault) == ("played", "")
    assert rows_of(match) == rows_by_the_engine(engine)
    assert (match.audit["passed"], match.audit["open"]) == (True, False)
    piece = match.pieces.get(number=1)
    assert (piece.worker_class, piece.calibration, piece.failures) == ("cpu", 1.0, [])
    assert 0 < (piece.model_seconds or 0.0) < (piece.seconds or 0.0), "the model answers in a part of its time"
    with np.load(io.BytesIO(object_store.get(piece.artefact))) as kept:
        assert np.array_equal(kept["perturbed"], engine.result.pieces[1].perturbed)
        assert np.array_equal(kept["trace_distance"], engine.result.pieces[1].trace.distance)
        assert list(kept["sample"]) == [2, 3]


def test_every_piece_of_a_submitted_model_is_audited_on_a_fresh_start(
    rules: RulesVersion,
    sample_sets: dict[str, SampleSet],
    attack: Player,
    commit: Callable[[str, str], Player],
    make_worker: Callable[..., Worker],
    let_play: Callable[..., None],
) -> None:
    model = commit("model", "players/honest-model")
    match = ensure_match(rules=rules, sample_set=sample_sets["validation"], model=model, attack=attack)
    for name in ("one", "two", "three"):
        let_play(make_worker(name), seconds=0.0)
    match.refresh_from_db()
    assert match.state == "audit"
    assert all(piece.audit["fresh_due"] > piece.audit["fresh"] == 0 for piece in match.pieces.filter(kind="play"))
    let_play(make_worker("four"), seconds=0.0)
    match.refresh_from_db()
    assert match.state == "played"
    audits = [piece.audit for piece in match.pieces.all()]
    assert len(audits) == 3
    assert all(audit["fresh"] == audit["fresh_due"] > 0 for audit in audits)


def test_a_model_whose_labels_change_after_its_match_is_inconsistent(
    rules: RulesVersion,
    sample_sets: dict[str, SampleSet],
    attack: Player,
    commit: Callable[[str, str], Player],
    make_worker: Callable[..., Worker],
    let_play: Callable[..., None],
) -> None:
    model = commit("model", "cheats/model-stateful")
    match = ensure_match(rules=rules, sample_set=sample_sets["validation"], model=model, attack=attack)
    for name in ("one", "two", "three"):
        let_play(make_worker(name), seconds=0.0)
    kept = list(match.pieces.filter(kind="play").values_list("kept", flat=True))
    assert all(map(kept_frames.exist, kept))
    let_play(make_worker("four"), seconds=0.0)
    match.refresh_from_db()
    assert (match.state, match.audit["passed"]) == ("played", False)
    assert match.audit["fresh"] == match.audit["fresh_due"] > 0
    assert not any(map(kept_frames.exist, kept))


def test_a_played_match_is_not_played_again(
    match: Match,
    make_worker: Callable[..., Worker],
    let_play: Callable[..., None],
    played: Callable[[Piece], PlayedPiece],
    notifications: list[str],
) -> None:
    for claim in claimed_pieces(make_worker()):
        piece_queue.commit(claim, played(claim.piece))
    notifications.clear()
    again = ensure_match(rules=match.rules, sample_set=match.sample_set, model=match.model, attack=match.attack)
    let_play(make_worker("two"))
    assert (again.pk, again.state, notifications) == (match.pk, "played", [])
    assert set(Piece.objects.values_list("fence", "worker__name")) == {(1, "one")}


def test_an_attack_that_crashes_on_an_image_is_reported(
    rules: RulesVersion,
    sample_sets: dict[str, SampleSet],
    model: Player,
    commit: Callable[[str, str], Player],
    make_worker: Callable[..., Worker],
    let_play: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    # pieces of one image; images that the model gets wrong are not given to the attack
    RulesVersion.objects.filter(pk=rules.pk).update(values=rules.values | {"piece_samples": 1})
    rules = RulesVersion.objects.get(pk=rules.pk)
    crashing = commit("untargeted", "site/attack-crashes-on-one-image")
    match = ensure_match(rules=rules, sample_set=sample_sets["development"], model=model, attack=crashing)
    let_play(make_worker())
    match.refresh_from_db()
    assert (match.state, match.audit["passed"], match.fault) == ("played", True, "")
    rows = [row for row in rows_of(match) if row["outcome"] != "clean_wrong"]
    sevenths = [
        sample.number for sample in samples_of(match.sample_set) if int(sample.image.sum(dtype=np.int64)) % 7 == 0
    ]
    crashed = [row for row in rows if row["reason"] == "crashed"]
    assert [row["sample"] for row in crashed] == sevenths
    assert all(row["distance"] == row["worst_case"] for row in crashed)
    failure, *_ = [failure for piece in match.pieces.all() for failure in piece.failures]
    assert (failure["side"], failure["reason"], failure["in_setup"]) == ("attack", "crashed", False)
    assert failure["detail"] == "exit status 3"  # nothing of what it printed
    logged = [
        record.getMessage() for record in caplog.records if "exit status 3; its output ends with:" in record.message
    ]
    assert len(logged) == len(sevenths)
    assert all("the images are" in message for message in logged)  # operators read it


def test_a_host_that_cannot_play_costs_no_team_anything(
    match: Match, make_worker: Callable[..., Worker], let_play: Callable[..., None]
) -> None:
    Player.objects.filter(pk=match.attack.pk).update(baseline="gone")
    let_play(make_worker())
    match.refresh_from_db()
    assert match.state == "playing"
    assert list(match.pieces.values_list("state", "faults")) == [("waiting", 1), ("waiting", 0), ("waiting", 0)]
    assert "that is bundled is named 'gone'" in Event.objects.get(verb="fault").reason


def test_the_task_registers_its_process_and_plays(match: Match, settings: Settings) -> None:
    settings.WORKER_NAME = "arena-1"
    tasks.play()
    match.refresh_from_db()
    assert match.state == "played"
    assert Worker.objects.get().name == "arena-1/0"


def test_a_worker_that_plays_cleans_up_its_host_at_intervals(
    db: None, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(unused_image_removal, "_process", unused_image_removal._CollectionState())
    old, later = settings.CHECKOUTS / "old", settings.CHECKOUTS / "later"
    for folder in (old, later):
        folder.mkdir(parents=True)
        os.utime(folder, (0, 0))
        tasks.play()
    assert (old.exists(), later.exists()) == (False, True)


def test_each_slot_has_its_own_device(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "calibrate", lambda device=None: 1.0)  # there may be no such device
    monkeypatch.setattr(calibration, "_known", {})
    settings.WORKER_CLASS, settings.WORKER_DEVICES = "gpu", ["0", "1"]
    assert [register(slot).device for slot in range(2)] == ["0", "1"]
    assert set(Worker.objects.values_list("worker_class", flat=True)) == {"gpu"}
