"""What the smoke stage says of one thing it looked at: what was seen and, where that is not as it must be, the fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.domain.results import Failure, Reason
from evaluation.runner.last_exception import MOST_CHARACTERS, LastException, last_exception
from evaluation.sandbox.host_paths import HostPaths

_ENDED = frozenset({Reason.EXITED_IN_SETUP, Reason.CRASHED, Reason.DISCONNECTED})
"""What an exception in the player's own code looks like to the referee."""

_FIXES: dict[Reason, str] = {
    Reason.NEVER_CONNECTED: "call `serve_model` or `serve_attack` sooner, and load less before it",
    Reason.EXITED_IN_SETUP: "let `serve_model` or `serve_attack` run until the match ends; the log shows its output",
    Reason.CRASHED: "find what ended the process; the log shows its output",
    Reason.DISCONNECTED: "keep the connection open until the match is over",
    Reason.TOO_SLOW: "make it faster: answer within the time of the rules, on one processor",
    Reason.OUT_OF_MEMORY: "use less memory: smaller batches, fewer copies, weights that are loaded once",
}
_PROTOCOL = "use the SDK, or see what `gauntlet conformance COMMAND` says of the frames"


@dataclass(frozen=True)
class SmokeCheck:
    """One thing that was looked at: whether it is as it must be (None: not reached), and what was seen.

    headline: where it failed, the sentence that tells most, if that is not `seen`; fix: what to do, one thing a line.
    """

    name: str
    passed: bool | None
    seen: str
    headline: str = ""
    fix: str = ""


def not_reached(*names: str) -> list[SmokeCheck]:
    """Checks that a failure before them left without an answer."""
    return [SmokeCheck(name, None, "not reached") for name in names]


def what_failed(checks: Sequence[SmokeCheck]) -> tuple[str, list[str]]:
    """The headline and the fixes of checks that did not all pass; the first that failed has the headline."""
    failed = [check for check in checks if check.passed is False] or [check for check in checks if not check.passed]
    fixes = dict.fromkeys(line for check in failed for line in check.fix.splitlines())
    return failed[0].headline or failed[0].seen, list(fixes)


def kept_the_rules(failures: Sequence[Failure], output: str, directory: Path | None) -> SmokeCheck:
    """The check of a player that failed so often and printed this; `directory` holds its files (None: an image)."""
    if not failures:
        return SmokeCheck("rules", True, "connected, spoke the protocol, ended in order")
    paths = HostPaths(directory)
    times = Counter(map(sentence, failures))
    seen = "; ".join(f"{text}, {count} times" if count > 1 else text for text, count in times.items())
    raised = last_exception(output, directory)
    explained = raised is not None and any(failure.reason in _ENDED for failure in failures)
    first = failures[0]
    if raised is not None and explained:
        headline = str(raised)
    else:
        headline = f"The {first.side} failed: {sentence(first)}{_last_line(output) if first.reason in _ENDED else ''}"
    fixes = [
        mend(raised) if raised is not None and reason in _ENDED else _FIXES.get(reason, _PROTOCOL)
        for reason in dict.fromkeys(failure.reason for failure in failures)
    ]
    return SmokeCheck("rules", False, seen, paths.hidden(headline), "\n".join(dict.fromkeys(fixes)))


def sentence(failure: Failure) -> str:
    """A failure in words, without whose it is."""
    return f"{failure.reason.text} ({failure.detail})" if failure.detail else failure.reason.text


def mend(raised: LastException) -> str:
    """What to do about an exception in the player's own code."""
    if raised.exception.startswith(("ModuleNotFoundError", "ImportError")):
        return "add the package to `requirements.txt`, or the missing file to the repository"
    if not raised.file:
        return "find what raised it; the log has the whole traceback"
    return f"correct `{raised.file}` at line {raised.line}"


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"; the last that it printed: {lines[-1][:MOST_CHARACTERS]}" if lines else ""
