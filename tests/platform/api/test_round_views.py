"""Rounds in the API."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from competitions.models import Competition
from competitions.pseudonyms import public_name
from core import clock, object_store
from core.time_format import to_minute
from formats.query.rounds.models import Decision, RoundStage
from rounds.models import Objection, Release, Round, RoundEntry
from rounds.release.signing_keys import public_key, rotate
from submissions.models import Player, Submission

ROUND = "/api/v1/competitions/digits/rounds/1"


def test_a_published_round_is_shown_with_its_standings_warnings_and_releases(
    program: Any, played: Round, olga: User, scored: Submission
) -> None:
    Round.objects.update(state=Round.State.PUBLISHED)
    Release.objects.create(
        round=played, part="bundle", released_at=played.planned_at, released_by=olga, content=object_store.put(b"{}\n")
    )
    anyone = program()
    listed = anyone.get("/api/v1/competitions/digits/rounds").json()["results"]
    assert [(each["number"], each["state"], each["samples"]) for each in listed] == [(1, "published", 6)]
    shown = anyone.get(ROUND).json()
    assert shown["commitment"] == "c0ffee" * 10
    assert shown["starts_at"] == played.window.starts_at.isoformat().replace("+00:00", "Z")
    row = shown["standings"]["model"][0]
    assert (row["place"], row["team"], row["value"], row["submission"]) == (1, "owls", 0.5, scored.pk)
    assert (row["eligible"], row["ineligible_because"]) == (False, "its licence is not open source")
    assert shown["standings"]["targeted"] == []
    name = public_name(played.competition, "sha256:1")
    assert shown["warnings"] == [{"attack": name, "model": name, "nearer": 5, "samples": 8, "median": 0.25}]
    file = shown["releases"][0]
    assert file["address"] == "http://testserver/competitions/digits/rounds/1/files/bundle"
    assert file["sha256"] == object_store.put(b"{}\n")
    assert "the secret salt" not in str(shown)


def test_objections_are_listed_as_the_reader_sees_them(
    program: Any, played: Round, alice: User, charlie: User, olga: User, scored: Submission
) -> None:
    Round.objects.update(state=Round.State.PUBLISHED, state_since=clock.now(), objection_days=2)
    entry, team = RoundEntry.objects.get(), scored.repository.entry.team
    common = {"round": played, "team": team, "made_at": clock.now(), "made_by": alice}
    first = Objection.objects.create(**common, entry=entry, text="It is wrong.")
    Objection.objects.create(
        **common, text="All is wrong.", state="rejected", answer="It is not.", closed_at=clock.now(), closed_by=olga
    )
    address = f"{ROUND}/objections"
    (shown,) = program().get(address).json()["results"]
    assert (shown["to"], shown["state"], shown["answer"]) == ("the whole result", "rejected", "It is not.")
    assert (shown["team"], shown["submission"], shown["match"]) == (team.slug, None, None)
    seen = {
        who: [each["number"] for each in program(who, "read").get(address).json()["results"]]
        for who in (alice, charlie, olga)
    }
    assert seen == {alice: [first.pk, shown["number"]], charlie: [shown["number"]], olga: [first.pk, shown["number"]]}
    assert program(alice, "read").get(address).json()["results"][0]["submission"] == scored.pk
    found = program().get(ROUND).json()
    until = to_minute(Round.objects.get().state_since + timedelta(days=2))
    assert (found["provisional"], found["objection_days"]) == (True, 2)
    assert found["objections_until"] == until.isoformat().replace("+00:00", "Z")
    Objection.objects.update(state="rejected")
    Round.objects.update(state_since=clock.now() - timedelta(days=3))
    assert program().get(ROUND).json()["provisional"] is False
    Competition.objects.update(public=False)
    assert program().get(address).status_code == 404


def test_scores_are_rounded_as_on_the_page(program: Any, played: Round) -> None:
    Round.objects.update(state=Round.State.PUBLISHED)
    RoundEntry.objects.update(value=0.123456789, low=0.1 + 0.2, high=2 / 3)
    row = program().get(ROUND).json()["standings"]["model"][0]
    assert (row["value"], row["low"], row["high"]) == (0.123, 0.3, 0.667)


def test_an_inconsistent_model_is_shown_without_a_score(program: Any, played: Round) -> None:
    Round.objects.update(state=Round.State.PUBLISHED, field_commitment="f1e1d" * 12)
    RoundEntry.objects.update(inconsistent=True, value=None, low=None, high=None, audit_override_reason="")
    shown = program().get(ROUND).json()
    row = shown["standings"]["model"][0]
    assert (row["gone"], row["value"], row["audit_override_reason"]) == ("inconsistent", None, "")
    assert shown["field_commitment"] == "f1e1d" * 12


def test_the_signing_keys_are_listed(program: Any, db: None, settings: Any, tmp_path: Path) -> None:
    settings.STATE = tmp_path
    (only,) = program().get("/api/v1/signing-keys").json()["results"]
    assert (only["key"], only["successor"]) == (public_key(), None)
    rotate(by=None, reason="It is a year old.")
    old, new = program().get("/api/v1/signing-keys").json()["results"]
    assert (old["successor"], new["key"], len(old["statement"])) == (new["key"], public_key(), 128)
    assert old["id"] == hashlib.sha256(bytes.fromhex(old["key"])).hexdigest()[:16]


@pytest.mark.parametrize("state", [state for state in Round.State if state != Round.State.PUBLISHED])
def test_it_shows_no_result_before_publication(program: Any, played: Round, olga: User, state: str) -> None:
    Round.objects.update(state=state)
    for who in (None, olga):
        shown = program(who, "read").get(ROUND).json()
        assert (shown["state"], shown["outcome"]) == (state, None)
        assert (shown["standings"], shown["warnings"], shown["releases"]) == ({}, [], [])


def test_it_rejects_missing_rounds(program: Any, played: Round) -> None:
    assert program().get("/api/v1/competitions/digits/rounds/2").status_code == 404
    Competition.objects.update(public=False)
    for address in (ROUND, "/api/v1/competitions/digits/rounds"):
        assert program().get(address).status_code == 404


def test_decisions_are_listed_after_the_publication(program: Any, played: Round, scored: Submission) -> None:
    address, player = f"{ROUND}/decisions", Player.objects.get()
    stage = RoundStage.objects.create(
        round=played, bracket="untargeted", number=1, samples=16, ordered_by="mean_rank", loop=0, renewed=False,
        panel={"models": [player.digest], "attacks": []}, counted={"models": [], "attacks": []},
    )  # fmt: skip
    Decision.objects.create(
        stage=stage, track=scored.repository.track, player=player, place=3, value=31.23456, cut_line=24.5, kept=False
    )
    assert program().get(address).json()["results"] == []
    Round.objects.update(state=Round.State.PUBLISHED)
    (line,) = program().get(address).json()["results"]
    assert (line["stage"], line["track"], line["teams"], line["kept"]) == (1, "model", ["The Owls"], False)
    assert (line["value"], line["cut_line"]) == (31.235, 24.5)
    assert line["why"].startswith("cut in stage 1 on 16 samples: mean rank 31.2")
