from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from evaluation.bundle.canonical_json import MOST_BYTES, MOST_LINE_BYTES, MOST_LINES, canonical, commitment_of, encode
from evaluation.bundle.key_succession import public_key
from evaluation.bundle.signing import line_hashes, sign
from evaluation.domain.errors import BundleRefusal, Refusal
from evaluation.formats.query.bundle.reader import read
from evaluation.formats.query.bundle.writer import Record
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.tournament.round_state import SampleRow
from tests.evaluation.bundle.bodies import body, body_of, decode


def test_a_written_round_is_read_back_as_it_was_played(played: Record, written: bytes) -> None:
    counts = Counter(line["kind"] for line in decode(written))
    assert list(counts) == [
        *("head", "sample", "entrant", "results", "audit", "kept", "stage", "decision", "place", "warning"),
    ]
    assert (counts["sample"], counts["entrant"], counts["place"], counts["warning"]) == (16, 26, 26, 1)
    # all pairs meet in the first stage, the sweep is a part of it
    assert counts["results"] == 12 * 12 + 5 * 2
    # in the order of entry: the first is the owner
    assert b'"teams":["owls","larks"]' in written
    assert read(body_of(written)).record == played


def test_equal_rounds_have_equal_bytes(played: Record, written: bytes) -> None:
    chance = random.Random(9)

    def shuffled(mapping: Any) -> Any:
        return dict(chance.sample(list(mapping.items()), len(mapping)))

    facts = replace(
        played.facts,
        # the order within a track is the order of entry; between tracks it says nothing
        entrants=tuple(sorted(played.facts.entrants, key=lambda one: one.player[-2:])),
        priors=shuffled(played.facts.priors),
        results=shuffled({pair: shuffled(rows) for pair, rows in played.facts.results.items()}),
    )
    other = replace(
        played,
        head=replace(played.head, rules=shuffled(played.head.rules)),
        facts=facts,
        submissions=shuffled(played.submissions),
        seeds=shuffled(played.seeds),
    )
    assert body(other) == written


def test_what_nobody_asked_for_is_left_out(played: Record, written: bytes) -> None:
    cut = {pair: rows for pair, rows in played.facts.results.items() if pair == ("model-00", "attack-11")}
    ((pair, rows),) = cut.items()
    extra = {**rows, len(rows): SampleRow(Outcome.ADVERSARIAL, 1.0, 5)}
    facts = replace(played.facts, results={**played.facts.results, pair: extra})
    assert body(replace(played, facts=facts)) == written


def test_it_rejects_a_round_that_is_not_over(played: Record) -> None:
    facts = replace(played.facts, results=dict(list(played.facts.results.items())[1:]))
    with pytest.raises(ValueError, match="not finished"):
        body(replace(played, facts=facts))


def test_it_rejects_parts_that_do_not_fit(played: Record) -> None:
    with pytest.raises(ValueError, match=r"seed of .* is missing"):
        body(replace(played, seeds={}))
    with pytest.raises(ValueError, match="15 samples, but the round has 16"):
        body(replace(played, samples=played.samples[1:]))


def test_what_is_signed_can_be_made_by_hand(written: bytes, seed: bytes) -> None:
    signed = sign(written, seed)
    assert signed == sign(written, seed)
    assert signed.startswith(written)
    last = list(decode(signed))[-1]
    assert last["lines"] == [sha256(line + b"\n").hexdigest() for line in written.splitlines()]
    assert last["lines"] == line_hashes(written.splitlines(keepends=True))
    assert last["key"] == public_key(seed)


def test_a_commitment_can_be_made_by_hand() -> None:
    assert commitment_of(["ab", "cd"]) == sha256(b'["ab","cd"]').hexdigest()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ([0.1, 1.0, 1e22, 5e-324], "[0.1,1.0,1e+22,5e-324]"),
        ("Käuze\n\u2028/", '"Käuze\\n\u2028/"'),
    ],
)
def test_there_is_one_way_to_write_a_value(value: Any, written: str) -> None:
    assert canonical(value) == written.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_it_rejects_a_value_that_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON|surrogates"):
        encode([{"kind": "head", "value": value}])


@pytest.mark.parametrize(
    ("second", "cause"),
    [
        (b"{\n", "not valid JSON"),
        (b'{"kind":"sample"', "cut off"),
        (b'{"kind":"\xff"}\n', "not UTF-8"),
        (b'{"kind":"sample", "a":1}\n', "not in canonical form"),
        (b'{"kind":"b","kind":"a"}\n', "not in canonical form"),
        (b'{"a":1.50,"kind":"b"}\n', "not in canonical form"),
        (b'{"kind":"b"}\r\n', "not in canonical form"),
        (b'{"a":NaN,"kind":"b"}\n', "not valid JSON"),
        (b'{"a":1e999,"kind":"b"}\n', "not valid JSON"),
        (b'{"a":' + b"1" * 5000 + b',"kind":"b"}\n', "not valid JSON"),
        (b'{"a":' + b"[" * 50 + b"]" * 50 + b',"kind":"b"}\n', "nested too deeply"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b',"kind":"b"}\n', "nested too deeply"),
        (b'{"kind":"\\ud800"}\n', "not valid JSON|not UTF-8"),
        (b"[1]\n", "not an object with a kind"),
        (b'{"kind":[]}\n', "not an object with a kind"),
        (b"\n", "not valid JSON"),
    ],
)
def test_it_rejects_a_line_by_its_number(second: bytes, cause: str) -> None:
    with pytest.raises(BundleRefusal, match=cause) as refused:
        list(decode(b'{"kind":"head"}\n' + second))
    assert refused.value.line == 2


def test_it_rejects_an_empty_or_endless_file() -> None:
    with pytest.raises(Refusal, match="empty"):
        list(decode(b""))
    with pytest.raises(Refusal, match="larger than"):
        list(decode(bytes(MOST_BYTES + 1)))
    with pytest.raises(Refusal, match="more than 59,000 lines"):
        list(decode(b"\n" * (MOST_LINES + 1)))


def test_lines_are_read_one_by_one() -> None:
    lines = decode(b'{"kind":"head"}\n' + b"[" * MOST_LINE_BYTES + b"\n")
    assert next(lines) == {"kind": "head"}
    with pytest.raises(BundleRefusal, match="line 2: it is longer than"):
        next(lines)


def test_a_line_of_many_values_takes_no_more_memory_than_its_bytes(written: bytes) -> None:
    fat = b'{"kind":"warning","x":[' + b",".join([b"[]"] * 100_000) + b"]}\n"
    kept = []
    for content in (written, written + fat):
        tracemalloc.start()
        bundle = read(body_of(content))
        kept.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert bundle.derived
    assert kept[1] - kept[0] < 2 * len(fat)


@pytest.mark.parametrize(
    ("bound", "cause"), [("MOST_BYTES", "bytes, but"), ("MOST_LINE_BYTES", "bytes in a line"), ("MOST_LINES", "lines")]
)
def test_it_rejects_to_write_what_nobody_would_read(
    played: Record, written: bytes, seed: bytes, monkeypatch: pytest.MonkeyPatch, bound: str, cause: str
) -> None:
    signed = sign(written, seed)
    lines = signed.splitlines(keepends=True)
    size = {"MOST_BYTES": len(signed), "MOST_LINES": len(lines), "MOST_LINE_BYTES": max(map(len, lines[:-1]))}[bound]
    # some bytes are reserved for the signature and earlier keys
    monkeypatch.setattr(f"evaluation.bundle.canonical_json.{bound}", size + 40_000)
    assert body(played) == written
    monkeypatch.setattr(f"evaluation.bundle.canonical_json.{bound}", size - 1)
    with pytest.raises(ValueError, match=cause):
        body(played)


def test_it_rejects_more_samples_than_a_bundle_holds(played: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.formats.query.bundle.writer.MOST_SAMPLES", 15)
    with pytest.raises(ValueError, match="16 samples, but a bundle holds at most 15"):
        body(played)
