"""Every event reads as a sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.models import User
from core import event_log
from core.event_sentences import PHRASES
from core.models import Event
from rounds.running.transitions import TRANSITIONS
from submissions.models import Submission

PLATFORM = Path(__file__).parents[3] / "platform"

NAMED_ELSEWHERE = {
    *TRANSITIONS,
    *("open", "extend", "end", "call_off"),  # freeze windows
    *("withdraw", "retry", "disqualify", "reinstate"),  # submissions
    *("grant_role", "change_role", "take_role_away", "hand_over"),
    *("confirm_licence", "refuse_licence", "build_error", "inconsistent"),
    *(".added", ".changed", ".deleted"),  # of rows that are edited in the admin
    *("appoint", "begin"),  # in logs of earlier versions
}
"""Verbs that the code gives to `record` as a variable."""


def recorded_verbs() -> Iterator[str]:
    """Yield the verbs that stand in calls of `event_log.record`."""
    for file in PLATFORM.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "event_log.record":
                parts = [node.args[0]]
                if isinstance(node.args[0], ast.IfExp):
                    parts = [node.args[0].body, node.args[0].orelse]
                yield from (str(part.value) for part in parts if isinstance(part, ast.Constant))


def test_every_verb_has_a_phrase_and_every_phrase_a_verb() -> None:
    assert set(recorded_verbs()) | NAMED_ELSEWHERE == set(PHRASES)


@pytest.mark.parametrize(
    ("verb", "data", "expected"),
    [
        ("disqualify", {}, "bob disqualified submission 7."),
        ("submission.changed", {"fields": ["text", "quota"]}, "bob changed text, quota of submission 7."),
        ("grant_role", {"user": "eve", "role": "judge", "competition": "digits"}, "bob made eve judge of digits."),
        ("grant_role", {}, "bob made ? ? of ?."),
        ("an_old_verb", {}, "bob did “an_old_verb” to submission 7."),
        ("write_page", {"page": "{subject}"}, "bob wrote the page “{subject}”."),
    ],
)
def test_a_sentence_names_who_did_what(bob: User, verb: str, data: dict[str, object], expected: str) -> None:
    assert Event(verb=verb, subject="submission:7", by=bob, data=data).sentence == expected


def test_the_site_is_named_where_nobody_acted(db: None) -> None:
    assert event_log.record("fault", Submission(pk=3)).sentence == "The site recorded a platform error at submission 3."
