"""Check of the signed file of the objections to a round, which is released beside its bundle."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import IO, Any

from evaluation.bundle.canonical_json import MOST_LINE_BYTES
from evaluation.bundle.checked_fields import Fields
from evaluation.bundle.signature_check import BundleBody, Checked, Problem, Report, verify_signed
from evaluation.domain.errors import BundleRefusal

NAME = "objections"
"""The format and the kind in the head of the file."""

_HEAD = {"format", "competition", "round", "title", "outcome", "until"}
_LINE = {
    *("number", "team", "track", "entrant", "commit", "match", "outcome", "text", "made_at", "state", "answer"),
    "closed_at",
}
_HASH = re.compile(r"[0-9a-f]{64}")
_ANSWERED = ("upheld", "rejected")
_STATES = ("open", *_ANSWERED, "withdrawn")


def is_objections(file: IO[bytes]) -> bool:
    """Return whether an open file is one of objections; it is read from its start again afterwards."""
    try:
        head = json.loads(file.readline(MOST_LINE_BYTES))
    except (ValueError, RecursionError):
        head = None
    file.seek(0)
    return isinstance(head, dict) and head.get("kind") == NAME


def verify_objections(file: IO[bytes], key: str | None, outcome: str | None = None) -> Report:
    """Verify the signature of a file of objections against the public `key`, or its own, and count its objections.

    `outcome` is the snapshot hash of the bundle to which it has to belong, None for any. Raise `Refusal` for a `key`
    that is none.
    """
    return verify_signed(file, key, None, None, partial(_check, outcome))


def _check(wanted: str | None, body: BundleBody) -> Checked:
    lines = enumerate(body, 1)
    number, head = next(lines)
    fields = Fields(number, head, names=_HEAD)
    about = f"objections to round {fields.whole('round')} of {fields.text('competition')}"
    outcome = _outcome(fields)
    earlier: set[str] = set()
    states = Counter(_states(lines, outcome, earlier))
    problems = []
    if wanted is not None and outcome != wanted:
        problems.append(Problem(1, f"it is about the outcome {outcome}, not about {wanted}"))
    answered = sum(states[state] for state in _ANSWERED)
    counts = f"{answered} answered ({states['upheld']} upheld, {states['rejected']} rejected)"
    summary = f"{about}: {states.total()}, {counts}, {states['open']} open, {states['withdrawn']} withdrawn"
    notes = [f"some concern the outcome {each}, before it was made again" for each in sorted(earlier)]
    about_outcome = f"all of them are signed; they are published with the outcome {outcome}"
    return Checked(problems, (summary, about_outcome, *notes))


def _outcome(fields: Fields) -> str:
    outcome = fields.text("outcome")
    if not _HASH.fullmatch(outcome):
        raise fields.refusal("the outcome is no SHA-256")
    return outcome


def _states(lines: Iterator[tuple[int, dict[str, Any]]], outcome: str, earlier: set[str]) -> Iterator[str]:
    """Yield the state of each objection; add to `earlier` the outcomes that some concern beside `outcome`."""
    last = 0
    for number, line in lines:
        if line["kind"] != "objection":
            raise BundleRefusal(number, "it is not an objection")
        fields = Fields(number, line, names=_LINE)
        state, objection = fields.text("state"), fields.whole("number")
        if state not in _STATES:
            raise fields.refusal(f"the state is none of {', '.join(_STATES)}")
        if objection <= last:
            raise fields.refusal("the objections are not in the order in which they were made")
        if state in _ANSWERED and not fields.text("answer"):
            raise fields.refusal("it is answered without an answer")
        if line["outcome"] is not None:  # not kept of the first ones
            earlier |= {_outcome(fields)} - {outcome}
        last = objection
        yield state
