from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from evaluation.bundle.contents import Record, body, commitment_of
from evaluation.bundle.lines import MOST_BYTES, canonical, decode, encode
from evaluation.bundle.reading import read
from evaluation.bundle.signing import line_hashes, public_key, sign
from evaluation.domain.errors import BundleRefusal, Refusal
from evaluation.domain.results import Outcome
from evaluation.tournament.rounds import SampleRow


def test_it_works(played: Record, written: bytes) -> None:
    counts = Counter(line["kind"] for line in decode(written))
    assert list(counts) == ["head", "sample", "entrant", "results", "stage", "decision", "place", "warning"]
    assert (counts["sample"], counts["entrant"], counts["place"], counts["warning"]) == (16, 26, 26, 1)
    # all but one pair meet in the first stage, the sweep is a part of it
    assert counts["results"] == 12 * 12 - 1 + 5 * 2
    # in the order of entry: the first is the owner
    assert b'"teams":["owls","larks"]' in written
    assert read(written).record == played


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
        submissions=shuffled({player: of[::-1] for player, of in played.submissions.items()}),
        seeds=shuffled(played.seeds),
    )
    assert body(other) == written


def test_what_nobody_asked_for_is_left_out(played: Record, written: bytes) -> None:
    cut = {pair: rows for pair, rows in played.facts.results.items() if pair == ("model-00", "attack-11")}
    ((pair, rows),) = cut.items()
    extra = {**rows, len(rows): SampleRow(Outcome.ADVERSARIAL, 1.0, 5)}
    own_team = {("model-03", "attack-04"): {0: SampleRow(Outcome.ADVERSARIAL, 1.0, 5)}}
    facts = replace(played.facts, results={**played.facts.results, pair: extra, **own_team})
    assert body(replace(played, facts=facts)) == written


def test_it_rejects_a_round_that_is_not_over(played: Record) -> None:
    facts = replace(played.facts, results=dict(list(played.facts.results.items())[1:]))
    with pytest.raises(ValueError, match="not over"):
        body(replace(played, facts=facts))


def test_it_rejects_parts_that_do_not_fit(played: Record) -> None:
    with pytest.raises(ValueError, match=r"seed of .* is missing"):
        body(replace(played, seeds={}))
    with pytest.raises(ValueError, match="15 samples where the round has 16"):
        body(replace(played, samples=played.samples[1:]))


def test_what_is_signed_can_be_made_by_hand(written: bytes, seed: bytes) -> None:
    signed = sign(written, seed)
    assert signed == sign(written, seed)
    assert signed.startswith(written)
    last = decode(signed)[-1]
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
        (b"{\n", "no JSON"),
        (b'{"kind":"sample"', "cut off"),
        (b'{"kind":"\xff"}\n', "not UTF-8"),
        (b'{"kind":"sample", "a":1}\n', "not in canonical form"),
        (b'{"kind":"b","kind":"a"}\n', "not in canonical form"),
        (b'{"a":1.50,"kind":"b"}\n', "not in canonical form"),
        (b'{"kind":"b"}\r\n', "not in canonical form"),
        (b'{"a":NaN,"kind":"b"}\n', "no JSON"),
        (b'{"a":1e999,"kind":"b"}\n', "no JSON"),
        (b'{"a":' + b"1" * 5000 + b',"kind":"b"}\n', "no JSON"),
        (b'{"a":' + b"[" * 50 + b"]" * 50 + b',"kind":"b"}\n', "nests too deep"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b',"kind":"b"}\n', "nests too deep"),
        (b'{"kind":"\\ud800"}\n', "no JSON|not UTF-8"),
        (b"[1]\n", "no object with a kind"),
        (b'{"kind":[]}\n', "no object with a kind"),
        (b"\n", "no JSON"),
    ],
)
def test_it_rejects_a_line_by_its_number(second: bytes, cause: str) -> None:
    with pytest.raises(BundleRefusal, match=cause) as refused:
        decode(b'{"kind":"head"}\n' + second)
    assert refused.value.line == 2


def test_it_rejects_an_empty_or_endless_file() -> None:
    with pytest.raises(Refusal, match="empty"):
        decode(b"")
    with pytest.raises(Refusal, match="larger than"):
        decode(bytes(MOST_BYTES + 1))
