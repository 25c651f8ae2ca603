"""Cheats in a signed bundle: each is reported with its line."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeAlias

import pytest

from evaluation.bundle.canonical_json import canonical, encode
from evaluation.bundle.key_succession import public_key
from evaluation.bundle.signing import sign
from evaluation.formats.query.bundle.verify import verify
from tests.evaluation.bundle.bodies import decode

Lines: TypeAlias = list[dict[str, Any]]


def first(lines: Lines, kind: str, **fields: Any) -> int:
    """Return the place, from 0, of the first line of that kind with those fields."""
    wanted = {"kind": kind, **fields}
    return next(place for place, line in enumerate(lines) if all(line.get(n) == v for n, v in wanted.items()))


def drop(lines: Lines, kind: str, **fields: Any) -> None:
    del lines[first(lines, kind, **fields)]


def shorten(lines: Lines) -> None:
    row = lines[first(lines, "results", model="model-11", attack="attack-00")]
    for column in ("outcomes", "distances", "queries"):
        row[column] = row[column][:-1]
    row["pieces"][-1]["end"] -= 1


def lengthen(lines: Lines) -> None:
    row = lines[first(lines, "results", model="model-00", attack="attack-11")]
    for column, value in (("outcomes", "adversarial"), ("distances", 1.0), ("queries", 1)):
        row[column].append(value)
    row["pieces"][-1]["end"] += 1


def set_row(lines: Lines, outcome: str, distance: float) -> None:
    row = lines[first(lines, "results")]
    row["outcomes"][0], row["distances"][0] = outcome, distance


def commit_to_field(lines: Lines) -> None:
    """Recompute the commitment from the lines, as the holder of the key can."""
    field = [
        [
            of["track"],
            of["order"],
            of["prior"],
            of["player"],
            [[one["team"], one["commit"]] for one in of["submissions"]],
        ]
        for of in lines
        if of["kind"] == "entrant"
    ]
    lines[0]["field_commitment"] = sha256(canonical([lines[0]["field_salt"], field])).hexdigest()


def desert(lines: Lines) -> None:
    lines[:] = [of for of in lines if of["kind"] in ("head", "sample")]
    commit_to_field(lines)


def leave_out_the_last_target(lines: Lines) -> None:
    lines[:] = [of for of in lines if "target-01" not in (of.get("player"), of.get("attack"))]
    for line in lines:
        if line["kind"] == "entrant" and line["track"] == "targeted":
            line["prior"] = 1


def of_audit(line: dict[str, Any], model: str) -> bool:
    return (line["kind"], line.get("model")) == ("audit", model)


def entrant(lines: Lines) -> dict[str, Any]:
    """The player of two teams."""
    return lines[first(lines, "entrant", player="model-03")]


def submission(lines: Lines, number: int) -> dict[str, Any]:
    """Its submissions: 0 is eligible, 1 is not."""
    one: dict[str, Any] = entrant(lines)["submissions"][number]
    return one


CHEATS: dict[str, tuple[Callable[[Lines], object], str, str]] = {
    # the change, the kind of the reported line, the message
    "a decision is lost": (lambda lines: drop(lines, "decision"), "stage", "a line is missing after it"),
    "a stage is lost": (lambda lines: drop(lines, "stage"), "results", "a line is missing after it"),
    "a warning is lost": (lambda lines: drop(lines, "warning"), "place", "a line is missing after it"),
    "a warning is made up": (
        lambda lines: lines.append({**lines[-1], "model": "model-10"}),
        "warning",
        "this line does not follow",
    ),
    "a place is listed twice": (
        lambda lines: lines.insert(first(lines, "warning"), lines[first(lines, "warning") - 1]),
        "place",
        "it repeats line",
    ),
    "two places are exchanged": (
        lambda lines: lines.insert(first(lines, "place"), lines.pop(first(lines, "place") + 1)),
        "stage",
        "out of order",
    ),
    "a pair is missing": (
        lambda lines: drop(lines, "results", model="model-11", attack="attack-00"),
        "warning",
        "results are incomplete",
    ),
    "a sample is lost": (shorten, "results", "results are incomplete"),
    "a sample that was not demanded": (lengthen, "results", "demanded 10"),
    "a failure that is not the worst case": (lambda lines: set_row(lines, "failed", 1.0), "results", "the worst case"),
    "a clean mistake that is not 0": (lambda lines: set_row(lines, "clean_wrong", 1.0), "results", "it must be 0"),
    "more than the worst case": (lambda lines: set_row(lines, "adversarial", 99.0), "results", "not be above"),
    "a worst case beyond all images": (
        lambda lines: lines[1].update(worst_case=1e300),
        "sample",
        "from 0 to 1000000000",
    ),
    "another 0": (lambda lines: set_row(lines, "clean_wrong", -0.0), "results", "from 0 to"),
    "a distance below 0": (lambda lines: set_row(lines, "adversarial", -1.0), "results", "from 0 to"),
    "another sample list": (lambda lines: lines[1].update(hash="9" * 64), "head", "commitment"),
    "an unknown schedule": (lambda lines: lines[0].update(schedule="lottery"), "head", "commitment to the field"),
    "no sample": (lambda lines: lines[0].update(samples=0), "head", "samples must be a whole number from 1"),
    "endless samples": (lambda lines: lines[0].update(samples=10**18), "head", "from 1 to 10000"),
    "fewer samples than stand there": (lambda lines: lines[0].update(samples=15), "sample", "only 15 samples"),
    "more samples than 64 bits": (lambda lines: lines[0].update(samples=10**400), "head", "whole number from 1"),
    "true for a number": (lambda lines: lines[0].update(round=True), "head", "round must be a whole number"),
    "text for a list": (lambda lines: lines[first(lines, "entrant")].update(teams="owls"), "entrant", "must be a list"),
    "a field too many": (lambda lines: lines[0].update(more=1), "head", "unknown fields"),
    "a field too few": (lambda lines: lines[0].pop("rules"), "head", "rules is missing"),
    "an object for a name": (lambda lines: lines[-1].update(model={"a": []}), "warning", "this line does not follow"),
    "another form": (lambda lines: lines[0].update(format=1), "head", "format is not one of 2, 3, 4"),
    "a hash that is none": (lambda lines: lines[1].update(hash="0" * 63 + "F"), "sample", "64 hexadecimal digits"),
    "a sample twice": (lambda lines: lines[2].update(hash=lines[1]["hash"]), "sample", "listed twice"),
    "nobody's player": (lambda lines: entrant(lines).update(teams=[], submissions=[]), "entrant", "at least one"),
    "a team that sent nothing": (lambda lines: entrant(lines)["teams"].append("bats"), "entrant", "must be those of"),
    "another owner": (lambda lines: entrant(lines)["teams"].reverse(), "entrant", "in their order"),
    "a team twice": (
        lambda lines: [entrant(lines)[field].append(entrant(lines)[field][0]) for field in ("teams", "submissions")],
        "entrant",
        "each once",
    ),
    "eligible, but why not": (
        lambda lines: submission(lines, 0).update(why="no licence"),
        "entrant",
        "a reason why not",
    ),
    "not eligible for no reason": (lambda lines: submission(lines, 1).update(why=""), "entrant", "a reason why not"),
    "more queries than allowed": (
        lambda lines: lines[first(lines, "results")]["queries"].__setitem__(0, 1001),
        "results",
        "more than the 1000 queries",
    ),
    "a budget of words": (lambda lines: lines[0]["rules"].update(query_budget="many"), "head", "query_budget"),
    "a final without a sweep": (
        lambda lines: lines[0].update(sweep=False),
        "head",
        "every round of this format needs a sweep",
    ),
    "a round of another kind": (
        lambda lines: lines[0].update(round_kind="development"),
        "head",
        "commitment to the field",
    ),
    "a player twice": (
        lambda lines: lines[first(lines, "entrant") + 1].update(player="model-00"),
        "entrant",
        "is listed twice",
    ),
    "one prior for two": (
        lambda lines: lines[first(lines, "entrant") + 1].update(prior=12),
        "entrant",
        "also has the prior 12",
    ),
    "a gap in the priors": (
        lambda lines: lines[first(lines, "entrant")].update(prior=13),
        "head",
        "priors of the track",
    ),
    "no player at all": (
        desert,
        "head",
        "commitment to the field",
    ),
    "a pair twice": (
        lambda lines: lines.insert(first(lines, "results"), lines[first(lines, "results")]),
        "results",
        "twice, or out of order",
    ),
    "an entrant is left out": (leave_out_the_last_target, "head", "the commitment to the field does not match"),
    "another commit of an entrant": (
        lambda lines: submission(lines, 0).update(commit="f00d"),
        "head",
        "the commitment to the field does not match",
    ),
    "an inconsistent model is kept in silence": (
        lambda lines: lines[first(lines, "decision", player="model-02")].update(inconsistent=False, kept=True),
        "decision",
        "kept is true, but the results make it false",
    ),
    "a model that was kept by nobody": (lambda lines: drop(lines, "kept"), "decision", "kept is true, but"),
    "a model is kept though its audits passed": (
        lambda lines: lines[first(lines, "kept")].update(model="model-07"),
        "kept",
        "so it cannot be kept",
    ),
    "a model is kept for no reason": (
        lambda lines: lines[first(lines, "kept")].update(reason=""),
        "kept",
        "needs a reason",
    ),
    "failed audits are hidden": (
        lambda lines: lines.__setitem__(slice(None), [of for of in lines if not of_audit(of, "model-02")]),
        "decision",
        "inconsistent is true, but the results make it false",
    ),
    "an audit of nobody": (
        lambda lines: lines[first(lines, "audit")].update(model="x"),
        "audit",
        "not a model of this",
    ),
    "an audit of samples that were not played": (
        lambda lines: lines[first(lines, "audit", model="model-02")].update(failed_on=[10, 16]),
        "results",
        "which the schedule did not demand",
    ),
    "an audit of no samples": (
        lambda lines: lines[first(lines, "audit")].update(failed_on=[]),
        "audit",
        "at least one",
    ),
    "an audit twice": (
        lambda lines: lines.insert(first(lines, "audit"), lines[first(lines, "audit")]),
        "audit",
        "twice, or out of order",
    ),
    "images of a piece are named by nothing": (
        lambda lines: lines[first(lines, "results")]["pieces"].pop(),
        "results",
        "do not cover its samples",
    ),
    "a digest that is none": (
        lambda lines: lines[first(lines, "results")]["pieces"][0].update(digest="00"),
        "results",
        "digest of a piece",
    ),
    "two heads": (lambda lines: lines.insert(1, lines[0]), "head", "must be the head"),
    "a kind of its own": (lambda lines: lines.append({"kind": "gift"}), "gift", "not part of a bundle"),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_it_rejects_what_is_signed_but_does_not_fit(written: bytes, seed: bytes, cheat: str) -> None:
    change, kind, message = CHEATS[cheat]
    lines = list(decode(written))
    change(lines)
    report = verify(sign(encode(lines), seed), public_key(seed))
    found = [problem for problem in report.problems if message in problem.text]
    assert found, report.problems
    assert lines[found[0].line - 1]["kind"] == kind
