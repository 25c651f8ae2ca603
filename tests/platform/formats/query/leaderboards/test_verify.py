"""`manage.py leaderboards verify`: differences from the rows are listed and repaired."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from accounts.models import User
from competitions.models import Entry
from core import clock
from formats.query.leaderboards import services
from formats.query.leaderboards.models import Evaluation, Pool, Standing
from formats.query.leaderboards.score_verification import verify_boards
from formats.query.leaderboards.scoring import score_finished
from formats.query.leaderboards.tasks import score
from formats.query.matches.models import SampleResult
from rounds.tasks import verify as nightly
from submissions.models import QuotaSlot, Submission

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.formats.query.leaderboards.conftest import BoardFixture


UNREFUNDED = "its slot is used and should be refunded (fault)"


def verify(*options: str) -> list[str]:
    """Return its output by line, with a failure as the last line."""
    out = StringIO()
    try:
        call_command("leaderboards", "verify", *options, stdout=out)
    except CommandError as error:
        return [*out.getvalue().splitlines(), f"failed: {error}"]
    return out.getvalue().splitlines()


def rows() -> list[Any]:
    """Return everything that follows from rows, exactly."""
    return [*Evaluation.objects.order_by("pk").values(), *Standing.objects.order_by("pk").values()]


def first_evaluation() -> Evaluation:
    return Evaluation.objects.select_related("submission").order_by("pk")[0]


@pytest.fixture
def filled(
    env: BoardFixture, the_clock: FakeClock, entry: Entry, alice: User, attack_pool: Pool, model_pool: Pool
) -> BoardFixture:
    """Two teams on two boards, over two days."""
    doves = env.entry("doves")
    for day, (owls, others) in enumerate([(1.0, 2.0), (3.1, 2.7)]):
        env.score(env.submission(entry, "model", alice), owls)
        env.score(env.submission(doves, "untargeted", alice), others)
        if day == 0:
            env.score(env.submission(doves, "model", alice), others)
        the_clock.forward(days=1)
    return env


def test_a_board_that_follows_from_its_rows_has_no_differences_and_is_not_changed(filled: BoardFixture) -> None:
    before = rows()
    assert filled.table("model") == [(1, "owls", 2), (2, "doves", 1)]
    assert verify() == ["5 scores and 3 standings verified, 0 differences."]
    assert rows() == before


def test_it_names_what_differs_and_changes_nothing(filled: BoardFixture) -> None:
    first = first_evaluation()
    Evaluation.objects.filter(pk=first.pk).update(low=7.0)
    Standing.objects.filter(track__name="model", rank=2).update(rank=9)
    before = rows()
    assert verify() == [
        f"{first} of {first.submission}: low is 7.0 and should be 1.0",
        "9. doves in digits on the board of digits/model: rank is 9 and should be 2",
        "failed: 5 scores and 3 standings verified, 2 differences, 2 of them not repaired.",
    ]
    assert rows() == before


def test_it_repairs_exactly_what_was_lost(filled: BoardFixture) -> None:
    before = rows()
    Evaluation.objects.update(value=7.0, low=None, per_opponent=[])
    Standing.objects.filter(track__name="model").update(rank=9)
    Standing.objects.filter(track__name="untargeted").update(previous_rank=4)
    reported = verify("--repair", "--competition", "digits")
    assert reported[-1] == "5 scores and 3 standings verified, 8 differences."
    assert all(line.endswith("(repaired)") for line in reported[:-1])
    assert rows() == before


def test_it_makes_missing_standings_again_and_removes_strange_ones(filled: BoardFixture) -> None:
    before = filled.table("model"), filled.table("untargeted")
    Standing.objects.filter(rank=1).delete()
    Standing.objects.update(track=filled.tracks["targeted"])
    assert [line.partition(": ")[2] for line in verify("--repair")[:-1]].count("it should not be there (repaired)") == 1
    assert (filled.table("model"), filled.table("untargeted")) == before
    assert filled.table("targeted") == []


def test_a_board_of_old_scores_does_not_move_with_the_clock(filled: BoardFixture, the_clock: FakeClock) -> None:
    the_clock.at += timedelta(days=30)
    assert verify() == ["5 scores and 3 standings verified, 0 differences."]


def test_it_names_what_waits_for_an_organiser_after_a_platform_error(
    filled: BoardFixture, the_clock: FakeClock
) -> None:
    filled.pool("untargeted", "stronger")
    newest = Submission.objects.filter(repository__track__name="model").first()
    assert newest is not None
    evaluation = services.evaluate(newest)
    assert evaluation is not None
    filled.end(evaluation.matches.get(), "failed", {})
    score_finished()
    assert any(f"{newest}: it is not measured on the current basis" in line for line in verify("--repair"))


def test_a_slot_that_waits_for_an_organiser_is_not_a_difference(filled: BoardFixture) -> None:
    slot = QuotaSlot.objects.select_related("submission").earliest("pk")
    assert slot.submission is not None
    Submission.objects.filter(pk=slot.submission.pk).update(state="rejected", cause="platform")
    QuotaSlot.objects.filter(pk=slot.pk).update(reason="awaits_organiser")
    assert not any("its slot is used" in line for line in verify("--repair"))
    assert QuotaSlot.objects.get(pk=slot.pk).state == "used"


def test_it_finds_slots_that_do_not_fit_their_submissions_and_repairs_missing_refunds(
    filled: BoardFixture, alice: User
) -> None:
    slot = QuotaSlot.objects.select_related("submission").order_by("pk")[0]
    submission, own = slot.submission, QuotaSlot.objects.filter(pk=slot.pk)
    assert submission is not None
    of_platform = {"state": "rejected", "cause": "platform"}
    flaws: dict[str, Callable[[], object]] = {
        "it has no slot in the quota ledger": lambda: own.update(submission=None),
        "its slot belongs to submission-99": lambda: own.update(tag="submission-99"),
        "its slot is still reserved": lambda: own.update(state="reserved"),
        UNREFUNDED: lambda: Submission.objects.filter(pk=submission.pk).update(**of_platform),
        "its slot was refunded without a cause (fault)": lambda: own.update(state="refunded", reason="fault"),
        "6 slots are used in 24 hours, and the quota is 5": lambda: [
            filled.submission(submission.repository.entry, "model", alice) for _ in range(6)
        ],
    }
    for says, flaw in flaws.items():
        with transaction.atomic():
            flaw()
            assert any(says in line for line in verify()), says
            verify("--repair")
            assert any(says in line for line in verify()) is (says != UNREFUNDED), says
            transaction.set_rollback(True)


@pytest.mark.parametrize("seed", range(2))
def test_boards_always_match_their_rows(
    filled: BoardFixture, the_clock: FakeClock, entry: Entry, alice: User, seed: int
) -> None:
    draw = random.Random(seed)
    for _ in range(10):
        the_clock.forward(hours=draw.randint(6, 30))
        chosen = draw.choice(list(Submission.objects.all()))
        act = draw.choice(["score", "disqualify", "reinstate", "withdraw"])
        if act == "score":
            filled.score(filled.submission(entry, "model", alice), draw.choice([1.0, 2.0, 4.0]))
        elif act == "withdraw":
            Submission.objects.filter(pk=chosen.pk).update(state="withdrawn")
        else:
            disqualified = clock.now() if act == "disqualify" else None
            Submission.objects.filter(pk=chosen.pk).update(disqualified_at=disqualified)
        score(track=chosen.repository.track_id)
        assert verify_boards().differences == ()


def test_it_names_scores_whose_rows_or_matches_are_gone(filled: BoardFixture) -> None:
    first, second = Evaluation.objects.order_by("pk")[:2]
    SampleResult.objects.filter(match__in=first.matches.all(), sample=5).delete()
    second.matches.clear()
    reported = verify()
    assert f"{first}: its score cannot be computed" in reported[0]
    assert "lacks some of its 6 samples" in reported[0]
    assert "it has no match with" in reported[1]
    assert len(reported) == 2 + 1


def test_a_nightly_run_checks_twice_before_it_logs_an_alarm(
    filled: BoardFixture, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[object] = []
    monkeypatch.setattr(nightly, "apply_async", lambda **given: requested.append(given["kwargs"]))
    nightly()
    assert not requested
    first = first_evaluation()
    Evaluation.objects.filter(pk=first.pk).update(low=7.0)
    nightly()
    assert requested == [{"confirm": False}]
    assert not caplog.records
    nightly(confirm=False)
    assert [record.levelname for record in caplog.records] == ["CRITICAL", "CRITICAL"]
    assert f"{first} of {first.submission}: low is 7.0 and should be 1.0" in caplog.text


def test_it_rejects_an_unknown_competition(filled: BoardFixture) -> None:
    assert verify("--competition", "letters") == ["failed: No competition 'letters'. Available: digits."]
