"""Checks of the smoke test: what was seen and, for a failed check, the fix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from evaluation.builder.player_exception import MOST_CHARACTERS, LastException, last_exception
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.smoke_test_result import SmokeCheck
from evaluation.formats.query.results import Failure, Outcome, RefereedSample
from evaluation.sandbox.host_path_redaction import HostPaths

_ENDED = frozenset({Reason.EXITED_IN_SETUP, Reason.CRASHED, Reason.DISCONNECTED})
"""The referee's reasons that an exception in the player's own code can cause."""

_FIXES: dict[Reason, str] = {
    Reason.NEVER_CONNECTED: "call `serve_model` or `serve_attack` earlier, and load less before the call",
    Reason.EXITED_IN_SETUP: "run `serve_model` or `serve_attack` until the match ends; the log shows the output",
    Reason.CRASHED: "find out why the process ended; the log shows its output",
    Reason.DISCONNECTED: "keep the connection open until the match ends",
    Reason.TOO_SLOW: "make it faster: answer within the time limit of the rules, on one processor",
    Reason.OUT_OF_MEMORY: "use less memory: use smaller batches and fewer copies, and load weights once",
}
_RETURNED = re.compile(r"predict \((?P<file>[^,()]+), line (?P<line>[0-9]+)\) returned ")
"""What the SDK says of a wrong answer; the traceback ends at the line that calls `serve_model`."""

_PROTOCOL = "use the SDK, or run `gauntlet conformance COMMAND` to test the frames"


def check_rules(failures: Sequence[Failure], output: str, directory: Path | None) -> SmokeCheck:
    """Return the check of a player with these failures and this output; `directory` is its files (None: an image)."""
    if not failures:
        return SmokeCheck("rules", True, "connected, followed the protocol, ended normally")
    paths = HostPaths(directory)
    times = Counter(map(describe_failure, failures))
    seen = "; ".join(f"{text}, {count} times" if count > 1 else text for text, count in times.items())
    raised = last_exception(output, directory)
    explained = raised is not None and any(failure.reason in _ENDED for failure in failures)
    first = failures[0]
    if raised is not None and explained:
        headline = raised.exception if _RETURNED.search(raised.exception) else str(raised)
    else:
        headline = (
            f"The {first.side} failed: {describe_failure(first)}{_last_line(output) if first.reason in _ENDED else ''}"
        )
    fixes = [
        suggest_fix(raised) if raised is not None and reason in _ENDED else _FIXES.get(reason, _PROTOCOL)
        for reason in dict.fromkeys(failure.reason for failure in failures)
    ]
    return SmokeCheck("rules", False, seen, paths.shorten(headline), "\n".join(dict.fromkeys(fixes)))


def check_accuracy(
    rows: Sequence[RefereedSample], least_accuracy: float, output: str, directory: Path | None
) -> SmokeCheck:
    """Return the check of how many clean images a model labels right, at least the share `least_accuracy`.

    A model of 2018 lives on after an exception and gives no label for its image: then the exception is the headline.
    """
    right = sum(row.outcome is not Outcome.CLEAN_WRONG for row in rows)
    seen = f"{right} of {len(rows)} clean images labelled right, at least {least_accuracy:.0%} required"
    unlabelled = sum(row.outcome is Outcome.CLEAN_WRONG and row.reason is Reason.INVALID_LABEL for row in rows)
    raised = last_exception(output, directory) if unlabelled else None
    if unlabelled:
        seen += f"; {unlabelled} got no valid label"
    return SmokeCheck(
        "accuracy",
        right >= least_accuracy * len(rows),
        seen,
        "" if raised is None else HostPaths(directory).shorten(str(raised)),
        "use the preprocessing and the class order of the competition" if raised is None else suggest_fix(raised),
    )


def describe_failure(failure: Failure) -> str:
    """Return a failure in words, without its side."""
    return f"{failure.reason.text} ({failure.detail})" if failure.detail else failure.reason.text


def suggest_fix(raised: LastException) -> str:
    """Return the fix for an exception in the player's own code."""
    if raised.exception.startswith(("ModuleNotFoundError", "ImportError")):
        return "add the package to `requirements.txt`, or the missing file to the repository"
    returned = _RETURNED.search(raised.exception)
    if returned:
        return f"correct what `predict` returns, in `{returned['file']}` from line {returned['line']} on"
    if not raised.file:
        return "find the cause; the log has the whole traceback"
    return f"correct `{raised.file}` at line {raised.line}"


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"; its last output: {lines[-1][:MOST_CHARACTERS]}" if lines else ""
