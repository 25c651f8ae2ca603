"""Check of the signed file of the objections to a round, which is released beside its bundle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from evaluation.bundle.canonical_json import MOST_LINE_BYTES
from evaluation.bundle.checked_fields import Fields
from evaluation.bundle.signature_check import BundleBody, Checked, Report, verify_signed
from evaluation.domain.errors import BundleRefusal

NAME = "objections"
"""The format and the kind in the head of the file."""

_HEAD = {"format", "competition", "round", "title", "outcome", "until"}
_LINE = {
    *("number", "team", "track", "entrant", "commit", "match", "text", "made_at", "state", "answer", "closed_at"),
}
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


def verify_objections(file: IO[bytes], key: str | None) -> Report:
    """Verify the signature of a file of objections against the public `key`, or its own, and count its objections.

    Raise `Refusal` for a `key` that is none.
    """
    return verify_signed(file, key, None, None, _check)


def _check(body: BundleBody) -> Checked:
    lines = enumerate(body, 1)
    number, head = next(lines)
    fields = Fields(number, head, names=_HEAD)
    about = f"objections to round {fields.whole('round')} of {fields.text('competition')}"
    outcome = fields.text("outcome")
    states = Counter(_states(lines))
    answered = sum(states[state] for state in _ANSWERED)
    counts = f"{answered} answered ({states['upheld']} upheld, {states['rejected']} rejected)"
    summary = f"{about}: {states.total()}, {counts}, {states['open']} open, {states['withdrawn']} withdrawn"
    return Checked((), (summary, f"all of them are signed; they are about the outcome {outcome}"))


def _states(lines: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[str]:
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
        last = objection
        yield state
