from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from evaluation.bundle.canonical_json import encode
from evaluation.bundle.key_succession import public_key
from evaluation.bundle.signature_check import Report
from evaluation.bundle.signing import sign
from evaluation.domain.errors import Refusal
from evaluation.formats.query.bundle.verify import verify
from tests.evaluation.bundle.bodies import decode

Lines: TypeAlias = list[dict[str, Any]]
KINDS = ("head", "sample", "entrant", "results", "audit", "kept", "stage", "decision", "place", "warning", "signature")


def changed(written: bytes, seed: bytes, change: Callable[[Lines], object]) -> Report:
    """Verify the bundle with changed lines, signed again by the same key."""
    lines = list(decode(written))
    change(lines)
    return verify(sign(encode(lines), seed), public_key(seed))


def first(lines: Lines, kind: str, **fields: Any) -> int:
    """Return the place, from 0, of the first line of that kind with those fields."""
    wanted = {"kind": kind, **fields}
    return next(place for place, line in enumerate(lines) if all(line.get(n) == v for n, v in wanted.items()))


def test_a_signed_bundle_has_no_problems_and_a_summary(signed: bytes, seed: bytes) -> None:
    report = verify(signed, public_key(seed))
    assert report.problems == ()
    assert report.ok
    assert report.key == public_key(seed)
    assert any("26 players, 16 samples" in line for line in report.summary)


def test_without_a_key_it_says_which_one_to_compare(signed: bytes, seed: bytes) -> None:
    report = verify(signed)
    assert report.ok
    assert public_key(seed) in report.summary[-1]
    assert "compare it with the key that the organisers publish" in report.summary[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_it_names_the_line_of_one_changed_digit(signed: bytes, seed: bytes, kind: str) -> None:
    lines = signed.splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if f'"kind":"{kind}"'.encode() in line]
    chance = random.Random(kind)
    for _ in range(3):
        place = chance.choice(places)
        digit = chance.choice(list(re.finditer(rb"\d", lines[place])))
        other = b"%d" % ((int(digit.group()) + chance.randrange(1, 10)) % 10)
        line = lines[place][: digit.start()] + other + lines[place][digit.end() :]
        report = verify(b"".join([*lines[:place], line, *lines[place + 1 :]]), public_key(seed))
        assert place + 1 in {problem.line for problem in report.problems}
        if kind != "signature":
            # what was changed comes before all that no longer follows
            assert report.problems[0].line == place + 1


def test_it_rejects_another_key(written: bytes, signed: bytes, seed: bytes) -> None:
    stranger = bytes(32)
    last = len(signed.splitlines())
    for content, key in ((signed, public_key(stranger)), (sign(written, stranger), public_key(seed))):
        (problem,) = verify(content, key).problems
        assert problem.line == last
        assert "it was signed by the key" in problem.text
    # a stranger's key put into the line of the organisers' signature
    forged = signed.replace(public_key(seed).encode(), public_key(stranger).encode())
    (problem,) = verify(forged).problems
    assert (problem.line, "not valid for these lines" in problem.text) == (last, True)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("stage", "loop", 7),
        ("stage", "counted_models", ["model-00"]),
        ("decision", "kept", None),
        ("decision", "value", 0.25),
        ("place", "place", 99),
        ("place", "low", 0.5),
        ("place", "rank_high", 1),
        ("place", "separated_from_next", 1),
        ("place", "prize_place", 3),
        ("place", "met", 1),
        ("place", "not_broken", 1),
        ("warning", "nearer", 7),
    ],
)
def test_it_recomputes_every_derived_field(written: bytes, seed: bytes, kind: str, field: str, value: Any) -> None:
    at = first(list(decode(written)), kind)
    (problem,) = changed(written, seed, lambda lines: lines[at].update({field: value})).problems
    assert problem.line == at + 1
    assert f"{field} is {json.dumps(value)[:40]}" in problem.text.replace(",", ", ").replace(",  ", ", ")


def test_a_changed_distance_moves_what_follows_from_it(written: bytes, seed: bytes) -> None:
    def nearer(lines: Lines) -> None:
        row = lines[first(lines, "results", model="model-11", attack="attack-00")]
        row["distances"] = [0.85 * distance for distance in row["distances"]]
        row["outcomes"] = ["adversarial" for _ in row["distances"]]

    report = changed(written, seed, nearer)
    lines = list(decode(written))
    assert {"decision", "place"} <= {lines[problem.line - 1]["kind"] for problem in report.problems}
    at = first(lines, "place", player="model-11")
    assert lines[at]["place"] == 1
    (text,) = [problem.text for problem in report.problems if problem.line == at + 1]
    assert text.startswith('place "model" "model-11": value is 11.85')


def test_a_change_that_cuts_another_player_is_named_though_results_are_lacking(written: bytes, seed: bytes) -> None:
    def broken(lines: Lines) -> None:
        row = lines[first(lines, "results", model="model-11", attack="attack-00")]
        row["distances"] = [0.001 for _ in row["distances"]]
        row["outcomes"] = ["adversarial" for _ in row["distances"]]

    report = changed(written, seed, broken)
    lines = list(decode(written))
    at = first(lines, "decision", player="model-11")
    assert any("results are incomplete" in problem.text for problem in report.problems)
    (text,) = [problem.text for problem in report.problems if problem.line == at + 1]
    assert "kept is true, but the results make it false" in text


def upper(content: bytes) -> bytes:
    """Return the same signature in capitals."""
    at = content.index(b'"signature":"') + len(b'"signature":"')
    return content[:at] + content[at : at + 128].upper() + content[at + 128 :]


def test_of_many_problems_the_first_stand_there_and_the_others_are_counted(written: bytes, seed: bytes) -> None:
    def without_results(lines: Lines) -> None:
        lines[:] = [line for line in lines if line["kind"] not in ("results", "warning")]

    report = changed(written, seed, without_results)
    assert not report.ok
    assert len(report.problems) == 100
    assert all("results are incomplete" in problem.text for problem in report.problems)
    # all pairs of the first stage are missing
    assert report.more == 12 * 12 - 100


@pytest.mark.parametrize("kind", ["head", "place"])
def test_a_problem_is_short_however_long_what_it_is_about(written: bytes, seed: bytes, kind: str) -> None:
    at = first(list(decode(written)), kind)
    many = {f"field {number} {'x' * 900}": 1 for number in range(1000)}
    (problem,) = changed(written, seed, lambda lines: lines[at].update(many)).problems
    assert (problem.line, "it has unknown fields" in problem.text, len(problem.text) < 300) == (
        at + 1,
        True,
        True,
    )
    (problem,) = changed(written, seed, lambda lines: lines[0].update(schedule="x" * 10**6)).problems
    assert len(problem.text) < 400


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda content: content[:-1], "cut off"),
        (lambda content: content[: len(content) // 2], "cut off"),
        (lambda content: b"".join(content.splitlines(keepends=True)[:-1]), "not a signature"),
        (lambda content: b"".join(content.splitlines(keepends=True)[-1:]), "0 come before the signature"),
        (lambda content: content.replace(b'"signature":"', b'"signature":"zz'), "not valid for these lines"),
        (lambda content: content.replace(b'"signature":"', b'"signature":" '), "not valid for these lines"),
        (upper, "not valid for these lines"),
        (lambda content: content.replace(b'"lines":["', b'"lines":[1,"'), "lines must be text"),
        (lambda content: b"\n" + content, "from here on these are not the lines"),
        (lambda content: content.replace(b"digits", b"digit\xff", 1), "not UTF-8"),
        (
            lambda content: content.replace(b'"teams":["owls"]', b'"teams":' + b"[" * 10**5 + b"]" * 10**5, 1),
            "too deeply",
        ),
        (lambda content: content.replace(b'"round":3', b'"round":' + b"3" * 10**5, 1), "not valid JSON"),
        (lambda content: b"PK\x03\x04" + bytes(range(256)) * 9 + b"\n", "not UTF-8"),
        (lambda content: b"{}\n" * 1000, "not an object with a kind"),
    ],
)
def test_it_rejects_a_hostile_file(signed: bytes, break_it: Callable[[bytes], bytes], message: str) -> None:
    report = verify(break_it(signed))
    assert any(message in problem.text for problem in report.problems), report.problems


def test_it_rejects_what_is_no_key(signed: bytes) -> None:
    with pytest.raises(Refusal, match="64 hexadecimal digits"):
        verify(signed, "owls")
