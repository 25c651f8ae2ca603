"""A model whose audits failed leaves its round, unless an organiser overrides the audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from accounts.models import User
from competitions.pseudonyms import public_name
from core import object_store
from core.errors import Refusal
from core.models import Event
from evaluation.bundle import body_in_parts
from evaluation.bundle.binary_columns import hash_texts
from evaluation.formats.query.bundle.verify import verify
from evaluation.formats.query.results import AuditReport
from formats.query.matches.models import Match, Piece
from formats.query.matches.piece_queue import Claim
from formats.query.matches.piece_result import PlayedPiece
from formats.query.rounds.audit_overrides import override_audit
from formats.query.rounds.models import Decision
from formats.query.rounds.preview import preview
from formats.query.rounds.round_advancement import advance_round
from formats.query.rounds.round_audits import AuditState, PieceAudit, audit_state, failed_on
from rounds.models import Round, RoundEntry
from rounds.running import lifecycle
from tests.platform.bundle_content import bundle_content
from tests.platform.claims import play_waiting
from tests.platform.rounds.conftest import digest_of

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import RoundFixture

FAILED = AuditReport(replayed=20, changed=9)
REASON = "Its labels differ by rounding only: I checked it manually."


def play(env: RoundFixture, model: str = "model 0", attacks: Iterable[int] = range(4)) -> None:
    """Play waiting pieces; the model's audit fails in its matches with these attacks."""
    rivals = {f"untargeted {number}" for number in attacks}

    def played(claim: Claim) -> PlayedPiece:
        match, piece = claim.piece.match, env.played(claim)
        failed = match.model.title == model and match.attack.title in rivals
        return replace(piece, audit=FAILED) if failed else piece

    play_waiting(env.worker(), played)


def run(env: RoundFixture, round_: Round, attacks: Iterable[int] = range(4)) -> Round:
    advance_round(round_)
    while Piece.objects.filter(match__round_match__round=round_, state=Piece.State.WAITING).exists():
        play(env, attacks=attacks)
        advance_round(round_)
    round_.refresh_from_db()
    return round_


def entry_of(round_: Round, title: str) -> RoundEntry:
    return round_.entries.get(player__title=title)


@pytest.fixture
def playing(env: RoundFixture) -> Round:
    """Six models against five attacks in one stage on 8 samples."""
    env.field(6, 5)
    return env.begin(env.plan(samples=8))


@pytest.fixture
def long(env: RoundFixture) -> Round:
    """Eleven models against five attacks: the stage on 10 samples leaves ten, which continue on 16."""
    env.field(11, 5)
    return env.begin(env.plan(samples=16, schedule="halving"))


def test_it_leaves_at_the_end_of_the_stage_automatically(env: RoundFixture, long: Round) -> None:
    run(env, long)
    assert long.state == Round.State.SCORED
    (line,) = Decision.objects.filter(stage__round=long, inconsistent=True).select_related("stage", "player")
    assert (line.player.title, line.stage.number, line.kept, line.value) == ("model 0", 1, False, None)
    last = entry_of(long, "model 0")
    assert (last.place, last.inconsistent, last.value) == (11, True, None)
    assert entry_of(long, "model 1").place == 1
    # and joins no pool, and anyone can check why
    view = preview(long)[0]
    assert [player.title for player in view.pool_after] == [f"model {number}" for number in range(1, 6)]
    reported = next(row for row in view.rows if row.title.endswith(" 0"))
    assert reported.remark == "inconsistent, failed its audit in 4 matches"
    assert reported.why == "eliminated in stage 1 on 10 samples: inconsistent, it failed its audits"
    assert verify(bundle_content(long)).problems == ()


@pytest.mark.parametrize("attacks", [(0,), (0, 1)])
def test_attacks_cannot_eliminate_a_model_that_most_counted_ones_find_consistent(
    env: RoundFixture, playing: Round, attacks: tuple[int, ...]
) -> None:
    run(env, playing, attacks=attacks)
    assert entry_of(playing, "model 0").place == 1
    assert not Decision.objects.filter(inconsistent=True).exists()
    # an organiser sees it, and decides
    assert "failed its audit" in next(row for row in preview(playing)[0].rows if row.place == 1).remark


def test_a_platform_error_fails_no_audit() -> None:
    """A match that was not played, or not to its end, has no audit that fails."""
    assert audit_state({}) is AuditState.PASSED
    assert audit_state({"passed": False, "open": True}) is AuditState.OPEN
    assert failed_on([PieceAudit(8, 16, asdict(FAILED))], (8, 16)) == ()


def test_an_audit_counts_from_the_stage_in_which_it_fails() -> None:
    good = {"replayed": 90}
    assert failed_on([PieceAudit(0, 8, good), PieceAudit(8, 16, asdict(FAILED))], (8, 16)) == (16,)
    assert failed_on([PieceAudit(0, 8, asdict(FAILED)), PieceAudit(8, 16, good)], (8, 16)) == (8, 16)
    assert failed_on([PieceAudit(0, 4, asdict(FAILED)), PieceAudit(4, 8, {"replayed": 900})], (8,)) == ()


def test_a_stage_does_not_end_while_an_audit_is_open(env: RoundFixture, playing: Round) -> None:
    advance_round(playing)
    env.play()
    match = Match.objects.filter(round_match__round=playing).first()
    assert match is not None
    Match.objects.filter(pk=match.pk).update(audit={"passed": False, "open": True})
    advance_round(playing)
    assert not playing.stages.exists()
    assert "The model's audit is open in 1 of its matches" in Round.objects.get().problem
    Match.objects.filter(pk=match.pk).update(audit={"passed": True, "open": False})
    advance_round(playing)
    assert playing.stages.count() == 1
    assert Round.objects.get().problem == ""


def test_an_organiser_overrides_it_before_the_stage_ends(env: RoundFixture, playing: Round) -> None:
    advance_round(playing)
    play(env)
    override_audit(entry=entry_of(playing, "model 0"), by=env.organiser, reason=REASON)
    run(env, playing)
    kept = entry_of(playing, "model 0")
    assert (kept.place, kept.inconsistent, kept.audit_override_reason) == (1, False, REASON)
    assert Event.objects.get(verb="override_audit").reason == REASON
    assert (b'"kind":"kept"' in bundle_content(playing), verify(bundle_content(playing)).ok) == (True, True)


def test_an_organiser_overrides_it_after_it_left_and_the_rest_is_decided_again(env: RoundFixture) -> None:
    env.field(11, 5)
    outcomes = []
    for source, when in (("test", "before"), ("test-2", "when it is scored")):
        round_ = env.begin(env.plan(samples=16, schedule="halving", source=source))
        advance_round(round_)
        play(env)
        if when == "before":
            override_audit(entry=entry_of(round_, "model 0"), by=env.organiser, reason=REASON)
        run(env, round_)
        if when != "before":
            assert entry_of(round_, "model 0").inconsistent
            override_audit(entry=entry_of(round_, "model 0"), by=env.organiser, reason=REASON)
            assert Event.objects.filter(verb="override_audit").order_by("-pk")[0].data["stages"] == [
                "untargeted 1",
                "untargeted 2",
            ]
            round_.refresh_from_db()
            assert (round_.state, round_.outcome, round_.stages.count()) == ("playing", "", 0)
            run(env, round_)
        assert (round_.state, verify(bundle_content(round_)).problems) == ("scored", ())
        lines = Decision.objects.filter(stage__round=round_).order_by("stage__number", "track", "place")
        outcomes.append(list(lines.values_list("stage__number", "player__title", "place", "kept", "inconsistent")))
        lifecycle.cancel(round_=round_, by=env.organiser, reason="only tried")
    assert outcomes[0] == outcomes[1]


def test_an_override_while_a_step_is_computed_is_in_the_next_step(env: RoundFixture, long: Round) -> None:
    advance_round(long)
    play(env)
    overridden: list[str] = []

    def meanwhile(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if 'FROM "matches_sampleresult"' in sql and not overridden:
            overridden.append(sql)
            override_audit(entry=entry_of(long, "model 0"), by=env.organiser, reason=REASON)
        return execute(sql, *rest)

    with connection.execute_wrapper(meanwhile):
        advance_round(long)
    assert (len(overridden), long.stages.count()) == (1, 0)
    run(env, long)
    kept = entry_of(long, "model 0")
    assert (long.state, long.problem) == (Round.State.SCORED, "")
    assert (kept.place, kept.inconsistent, kept.audit_override_reason) == (1, False, REASON)
    assert verify(bundle_content(long)).problems == ()


def test_what_an_override_made_unnecessary_is_not_released(env: RoundFixture, long: Round) -> None:
    """The model that played instead was cut after all: those matches no longer count."""
    run(env, long)
    override_audit(entry=entry_of(long, "model 0"), by=env.organiser, reason=REASON)
    run(env, long)
    rows = long.round_matches.filter(match__model__title="model 10", match__pieces__count=6).distinct()
    assert rows.exists()
    assert set(rows.values_list("samples", flat=True)) == {10}
    assert verify(bundle_content(long)).ok


def test_a_stage_that_all_models_would_leave_waits_for_an_organiser(env: RoundFixture) -> None:
    env.field(2, 4)
    round_ = env.begin(env.plan(samples=8))
    advance_round(round_)
    play_waiting(env.worker(), lambda claim: replace(env.played(claim), audit=FAILED))
    advance_round(round_)
    round_.refresh_from_db()
    assert (round_.state, "Every remaining model failed its audits" in round_.problem) == ("playing", True)
    override_audit(entry=entry_of(round_, "model 1"), by=env.organiser, reason=REASON)
    advance_round(round_)
    round_.refresh_from_db()
    assert (round_.state, entry_of(round_, "model 1").place, entry_of(round_, "model 0").place) == ("scored", 1, 2)


def test_it_rejects_overrides(env: RoundFixture, playing: Round, bob: User) -> None:
    advance_round(playing)
    suspect, honest = entry_of(playing, "model 0"), entry_of(playing, "model 1")
    play(env)
    for said, entry, by, reason in (
        ("only organisers", suspect, bob, REASON),
        ("needs a reason", suspect, env.organiser, " "),
        ("attacks are not audited", entry_of(playing, "untargeted 0"), env.organiser, REASON),
        ("has not failed an audit in this round", honest, env.organiser, REASON),
    ):
        with pytest.raises(Refusal, match=said):
            override_audit(entry=entry, by=by, reason=reason)
    override_audit(entry=suspect, by=env.organiser, reason=REASON)
    with pytest.raises(Refusal, match="is already overridden"):
        override_audit(entry=suspect, by=env.organiser, reason=REASON)
    lifecycle.cancel(round_=playing, by=env.organiser, reason="only tried")
    suspect.refresh_from_db()
    with pytest.raises(Refusal, match="is cancelled and cannot be changed"):
        override_audit(entry=suspect, by=env.organiser, reason=REASON)


def test_the_bundle_lists_failed_audits_and_the_digests_of_pieces(env: RoundFixture, playing: Round) -> None:
    run(env, playing)
    lines = body_in_parts.decode(object_store.get(playing.outcome))
    attack, model = (public_name(env.competition, digest_of(kind, 0)) for kind in ("untargeted", "model"))
    assert {"attack": attack, "failed_on": [8], "kind": "audit", "model": model} in lines
    piece = next(line for line in lines if line["kind"] == "results")
    assert piece["piece_ends"].tolist() == [8]
    assert hash_texts(piece["piece_digests"]) == (object_store.put(b"the images of a piece"),)
