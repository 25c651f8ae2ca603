"""`tools/verify.mjs` and `gauntlet verify` say the same of random bundles and of changed ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from bench.tampered_bundles import SEED, Lines, body_of, changes_of
from bench.two_verifiers import said_by_node, said_by_python
from evaluation.bundle import body_in_parts, rfc8785
from evaluation.bundle.body_in_parts import decode, encode
from evaluation.bundle.key_succession import public_key, succeed
from evaluation.bundle.signing import sign
from tests.evaluation.bundle.test_body_in_parts import cut, of

Change: TypeAlias = Callable[[Lines], object]


def test_they_accept_the_same_bundles() -> None:
    bundles = {str(seed): sign(body_of(seed), SEED) for seed in range(5000, 5010)}
    assert all(said_by_node(bundles).values())
    assert all(map(said_by_python, bundles.values()))


def test_they_accept_a_bundle_of_an_earlier_version() -> None:
    written = Path(__file__).parents[1] / "evaluation/formats/transfer/bundle/written_by_version_3.gauntlet"
    bundle = written.read_bytes()
    assert said_by_python(bundle)
    assert said_by_node({"version 3": bundle}) == {"version 3": True}


@pytest.mark.parametrize("seed", [8, 9])
def test_they_refuse_the_same_changes(seed: int) -> None:
    bundles = {name: change() for name, change in changes_of(body_of(seed), seed).items()}
    assert len(bundles) > 20
    assert not any(said_by_node(bundles).values())
    assert not any(map(said_by_python, bundles.values()))


@pytest.mark.parametrize("seed", [8, 9])
def test_they_refuse_parts_and_columns_that_no_writer_writes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = decode(body_of(seed))
    _, (whole,) = cut(encode(lines))
    billion = re.sub(rb'(\["[a-z_]+","[a-z][0-9]+",)[0-9]+\]', rb"\g<1>1000000000]", whole)
    assert billion != whole
    kind = "labels" if seed % 2 else "results"
    column = "labels" if seed % 2 else "queries"
    wide = [each | ({column: np.zeros(len(each[column]), "<f8")} if each["kind"] == kind else {}) for each in lines]
    bundles = {"a billion rows": sign(of(billion, lines=len(lines)), SEED), "a wide column": sign(encode(wide), SEED)}

    monkeypatch.setattr(body_in_parts, "PART_BYTES", len(whole) // 3)
    signed, other = (sign(encode(decode(body_of(number))), SEED) for number in (seed, seed + 2))
    signature, _, body = signed.partition(b"\n")
    manifest, (first, second, *rest) = cut(body)
    orders = {
        "missing": [first, *rest], "twice": [first, second, second, *rest], "at the end": [first, *rest, second],
        "cut off": [first, second[:-1]], "of another round": [*cut(other.partition(b"\n")[2])[1]],
    }  # fmt: skip
    bundles |= {name: signature + b"\n" + manifest + b"".join(order) for name, order in orders.items()}
    assert said_by_python(signed)
    assert said_by_node({"as written": signed}) == {"as written": True}
    assert not any(map(said_by_python, bundles.values()))
    assert not any(said_by_node(bundles).values())


def test_they_refuse_batches_without_images() -> None:
    head, *lines = decode(body_of(9))
    rules = [{**head["rules"], "batch_images": number} for number in (0, -1, 0.5, "7")]
    bundles = {str(each["batch_images"]): sign(encode([{**head, "rules": each}, *lines]), SEED) for each in rules}
    assert not any(said_by_node(bundles).values())
    assert not any(map(said_by_python, bundles.values()))


def first(lines: Lines, kind: str) -> dict[str, Any]:
    return next(line for line in lines if line["kind"] == kind)


def of_an_entrant(**fields: Any) -> Change:
    return lambda lines: first(lines, "entrant").update(fields)


def of_a_submission(**fields: Any) -> Change:
    return lambda lines: first(lines[::-1], "entrant")["submissions"][0].update(fields)


def of_the_head(**fields: Any) -> Change:
    return lambda lines: lines[0].update(fields)


def of_the_rules(**fields: Any) -> Change:
    return lambda lines: lines[0]["rules"].update(fields)


def twice(lines: Lines) -> None:
    """A player that one team submitted twice."""
    line = first(lines[::-1], "entrant")
    line["submissions"] = line["submissions"] * 2
    if "teams" in line:
        line |= {"teams": line["teams"] * 2, "eligible_at_freeze": [True, True]}


def of_no_track(lines: Lines) -> None:
    line = first(lines, "entrant")
    lines.insert(lines.index(line), line | {"track": "other", "player": "other", "order": 1, "prior": 1})


OF_BOTH: dict[str, Change] = {
    "a title that is no text": of_the_head(title=7),
    "a title that is nested": of_the_head(title=json.loads("[" * 12 + "]" * 12)),
    "half a round": of_the_head(round=1.5),
    "no licence": of_a_submission(licence=None),
    "a submission with a kind": of_a_submission(kind="submission"),
    "a team twice": twice,
}
OF_QUERY: dict[str, Change] = {
    "a player without a submission": of_an_entrant(submissions=[], teams=[], eligible_at_freeze=[]),
    "an owner that submitted nothing": lambda lines: first(lines, "entrant")["teams"].append("other"),
    "another order": of_an_entrant(order=5),
    "another prior": of_an_entrant(prior=99),
    "eligible in words": of_an_entrant(eligible_at_freeze=["yes"]),
    "a worst case in words": lambda lines: first(lines, "sample").update(worst_case="20"),
    "a seed in words": lambda lines: first(lines, "results").update(seed="seven"),
    "a budget in words": of_the_rules(query_budget="1000"),
    "an entrant of no track": of_no_track,
}
OF_TRANSFER: dict[str, Change] = {
    "no baseline": of_an_entrant(baseline=None),
    "a run that failed by no reason": lambda lines: first(lines, "attack").update(reason="bored"),
    "a pair that failed by no reason": lambda lines: first(lines, "labels").update(reasons={"0": "bored"}),
    "reasons of no batch": lambda lines: first(lines, "labels").update(reasons={"99": "too_slow"}),
    "a seed in words": of_the_head(seed="seven"),
    "opponents that no rule counts": of_the_rules(opponents="all"),
    "a rule more": of_the_rules(more=1),
    "a sample without a hash": lambda lines: first(lines, "batch").update(
        hashes=np.vstack([np.zeros((1, 32), "<u1"), first(lines, "batch")["hashes"][1:]])
    ),
}


@pytest.mark.parametrize(("seed", "changes"), [(34, OF_BOTH | OF_QUERY), (27, OF_BOTH | OF_TRANSFER)])
def test_they_refuse_what_is_committed_to_and_makes_no_round(seed: int, changes: dict[str, Change]) -> None:
    bundles = {"as written": committed_and_signed(decode(body_of(seed)))}
    for name, change in changes.items():
        lines = decode(body_of(seed))
        change(lines)
        bundles[name] = committed_and_signed(lines)
    bundles["half a character"] = with_half_a_character(decode(body_of(seed)))
    accepted = dict.fromkeys(bundles, False) | {"as written": True}
    assert said_by_node(bundles) == accepted
    assert {name: said_by_python(bundle) for name, bundle in bundles.items()} == accepted


def test_they_refuse_more_than_a_statement_in_the_chain_of_keys() -> None:
    seed, key = bytes(32), public_key(SEED)
    step = succeed(seed, key, "2026-11-26T00:00:00Z")
    signature, _, rest = sign(body_of(27), SEED, [step]).partition(b"\n")
    longer = signature.replace(b'{"date"', b'{"because":"","date"')
    bundles = {"as written": signature + b"\n" + rest, "longer": longer + b"\n" + rest}
    assert {name: said_by_python(bundle) for name, bundle in bundles.items()} == {"as written": True, "longer": False}
    assert said_by_node(bundles) == {"as written": True, "longer": False}


def committed_and_signed(lines: Lines) -> bytes:
    """Return a signed bundle whose commitments are those of its lines, whatever these say."""
    head, entrants = lines[0], [line for line in lines if line["kind"] == "entrant"]
    names: tuple[str, ...]
    if head["format"] == "transfer":
        field = [
            [*(each[name] for name in ("track", "player", "baseline")), [
                [one["team"], one["commit"], one["licence"]] for one in each["submissions"]
            ]]
            for each in entrants
        ]  # fmt: skip
        names = ("round_kind", "samples", "rules_version", "rules", "seed")
        hashes = [each.tobytes().hex() for line in lines if line["kind"] == "batch" for each in line["hashes"]]
    else:
        field = [
            [*(each[name] for name in ("track", "order", "prior", "player", "bundled", "teams")), [
                [one["team"], one["commit"], one["licence"], eligible]
                for one, eligible in zip(each["submissions"], each["eligible_at_freeze"], strict=True)
            ]]
            for each in entrants
        ]  # fmt: skip
        names = ("round_kind", "schedule", "guard", "sweep", "samples", "rules_version", "rules")
        hashes = [line["hash"] for line in lines if line["kind"] == "sample"]
    rules = _digest({name: head[name] for name in names})
    head |= {"commitment": _digest(hashes), "field_commitment": _digest([head["field_salt"], rules, field])}
    return sign(encode(lines), SEED)


def with_half_a_character(lines: Lines) -> bytes:
    """Return a signed bundle whose title is half of a pair of UTF-16."""
    lines[0]["title"] = "half"
    _, (part,) = cut(encode(lines))
    return sign(of(part.replace(b'"half"', rb'"\ud800"'), lines=len(lines)), SEED)


def _digest(value: Any) -> str:
    return sha256(rfc8785.canonical(value)).hexdigest()
