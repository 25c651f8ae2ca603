"""What the smoke stage says of a submission that fails: one headline, one fix for each cause, nothing twice."""

from __future__ import annotations

from pathlib import Path

from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import Side
from evaluation.domain.smoke_test_result import SmokeCheck, not_reached, what_failed
from evaluation.formats.query.results import Failure, Outcome, RefereedSample
from evaluation.formats.query.runner.smoke_test_checks import check_accuracy, check_rules

HOME = Path("/srv/checkouts/7-abc")
CRASH = f'Traceback (most recent call last):\n  File "{HOME}/main.py", line 5, in f\n    1/0\nZeroDivisionError: oh\n'
CRASHED = Failure(Side.MODEL, Reason.CRASHED, "exit status 1")


def test_a_repeated_crash_is_one_headline_with_the_line_to_correct() -> None:
    check = check_rules([CRASHED, CRASHED, CRASHED], CRASH * 3, HOME)
    assert (check.passed, check.headline) == (False, "ZeroDivisionError: oh (main.py, line 5)")
    assert check.seen == "its process ended with an error (exit status 1), 3 times"
    assert check.fix == "correct `main.py` at line 5"


def test_a_player_that_kept_them_passes() -> None:
    assert check_rules([], CRASH, HOME).passed


def test_a_failure_that_is_no_crash_is_not_explained_by_an_exception() -> None:
    check = check_rules([Failure(Side.ATTACK, Reason.TOO_SLOW)], CRASH, HOME)
    assert check.headline == "The attack failed: it exceeded its time limit"
    assert "make it faster" in check.fix


def test_a_process_that_ends_without_an_exception_is_quoted_without_paths_of_this_host() -> None:
    ended = Failure(Side.MODEL, Reason.EXITED_IN_SETUP, "exit status 2", in_setup=True)
    check = check_rules([ended], f"starting\nsh: {HOME}/run.sh: not found\n", HOME)
    assert check.headline.endswith("(exit status 2); its last output: sh: run.sh: not found")
    assert "exited_in_setup" not in check.headline + check.seen


def test_a_missing_package_belongs_into_the_requirements() -> None:
    output = CRASH.replace("ZeroDivisionError: oh", "ModuleNotFoundError: No module named 'timm'")
    assert "`requirements.txt`" in check_rules([CRASHED], output, HOME).fix


def test_a_wrong_answer_is_corrected_where_predict_is_written_not_where_it_is_served() -> None:
    said = "ValueError: predict (model.py, line 12) returned float64 of shape (10, 10)"
    check = check_rules([CRASHED], CRASH.replace("ZeroDivisionError: oh", said), HOME)
    assert check.headline == said
    assert check.fix == "correct what `predict` returns, in `model.py` from line 12 on"


def test_a_model_that_raises_on_every_image_has_its_exception_as_headline() -> None:
    worst = Outcome.CLEAN_WRONG
    rows = [RefereedSample(n, 3, None, worst, 0, 1, 1, 0, Reason.INVALID_LABEL) for n in range(4)]
    check = check_accuracy(rows, 0.5, CRASH, HOME)
    assert (check.passed, check.headline) == (False, "ZeroDivisionError: oh (main.py, line 5)")
    assert check.seen == "0 of 4 clean images labelled right, at least 50% required; 4 got no valid label"
    assert check.fix == "correct `main.py` at line 5"


def test_a_model_that_labels_images_wrong_is_not_explained_by_an_exception() -> None:
    rows = [RefereedSample(0, 3, None, Outcome.CLEAN_WRONG, 0, 1, 1, 0, Reason.MISCLASSIFIED)]
    check = check_accuracy(rows, 0.5, CRASH, HOME)
    assert (check.headline, "preprocessing" in check.fix) == ("", True)


def test_each_cause_has_one_fix_and_the_first_the_headline() -> None:
    checks = [
        SmokeCheck("accuracy", False, "2 of 20", fix="one"),
        SmokeCheck("time", False, "slow", fix="two"),
        SmokeCheck("stateless", False, "changed", fix="one"),
        *not_reached("budget"),
    ]
    assert what_failed(checks) == ("2 of 20", ["one", "two"])
