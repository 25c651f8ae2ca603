"""Verification of a bundle of the curves format with nothing but the file and the public key.

It checks that every line is the signed one, that the field is the committed one, that every attack of the rules was
played against every model, and that all numbers and places follow from the distances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np

from evaluation.bundle.canonical_json import canonical, commitment_of
from evaluation.bundle.checked_fields import MOST_WHOLE, quoted
from evaluation.bundle.derived_lines import about_commitments
from evaluation.bundle.released_sample_check import check_committed
from evaluation.bundle.signature_check import BundleBody, Checked, Problem, Report, not_committed, verify_signed
from evaluation.domain.errors import BundleRefusal
from evaluation.formats.curves.bundle import VERSION
from evaluation.formats.curves.rules import KNOWLEDGE
from evaluation.formats.curves.scoring.standings import standing_of
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm

Line: TypeAlias = Mapping[str, Any]
Numbered: TypeAlias = tuple[int, Line]

NUMBERS = ("accuracy", "clean_accuracy", "median_distance")
"""The numbers of a model under a threat model."""


class CurvesBundle(NamedTuple):
    """The lines of a bundle by their kinds."""

    head: Line
    models: Sequence[Line]
    benchmarks: Sequence[Line]


def verify(
    bundle: bytes | IO[bytes],
    key: str | None = None,
    *,
    samples: str | None = None,
    field: str | None = None,
    images: Iterable[tuple[str, IO[bytes]]] = (),
    perturbed: Iterable[tuple[str, IO[bytes]]] = (),
) -> Report:
    """Verify a bundle against the public `key` (64 hexadecimal digits), or, without one, against its own.

    `samples` and `field` are the published commitments, and `images` the released archive of the images. There are no
    archives of perturbed images. Raise `Refusal` where there is nothing to verify.
    """

    def check(body: BundleBody) -> Checked:
        found, problems = _read(body, samples, field, images)
        problems += [
            Problem(1, f"{name}: rounds of the curves format have no perturbed images") for name, _ in perturbed
        ]
        counted = f"{len(found.models)} models, {len(found.benchmarks)} benchmarks"
        if "version" in found.head:
            counted = f"round {found.head['round']} of {quoted(found.head['competition'])}: {counted}"
        about = about_commitments(found.head["samples"], found.head["field"], body.snapshot)
        return Checked(problems, (counted, *about))

    return verify_signed(bundle, key, samples, field, check)


def read_signed(
    bundle: bytes | IO[bytes], key: str | None = None, *, images: Iterable[tuple[str, IO[bytes]]] = ()
) -> tuple[CurvesBundle | None, Report]:
    """Read and verify a bundle; arguments and errors as for `verify`. The bundle is None where it cannot be read."""
    found: list[CurvesBundle] = []

    def check(body: BundleBody) -> Checked:
        bundle_, problems = _read(body, None, None, images)
        found.append(bundle_)
        return Checked(problems, ())

    report = verify_signed(bundle, key, None, None, check)
    return (found[0] if found else None), report


def _read(
    body: BundleBody, samples: str | None, field: str | None, images: Iterable[tuple[str, IO[bytes]]]
) -> tuple[CurvesBundle, list[Problem]]:
    numbered = list(enumerate(body, 1))
    try:
        problems = list(_problems(numbered, samples, field))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise BundleRefusal(1, f"the lines are not those of a round of the curves format: {error!r}") from error
    (_, head), *rest = numbered
    for name, file in images:
        problems += check_committed(head["samples"], head["labels"], name, file)
    models, benchmarks = ([line for _, line in rest if line["kind"] == kind] for kind in ("model", "benchmark"))
    return CurvesBundle(head, models, benchmarks), problems


def commitment_to_field(rules: Line, models: Sequence[Line], salt: str) -> str:
    """Return the salted hash of the rules and of the models in their order: team, commit, licence."""
    entries = [f"{each['team']} {each['commit']} {each['licence']}" for each in models]
    return commitment_of([salt, canonical(rules).decode(), *entries])


def standing_lines(rules: Line, benchmarks: Sequence[Line]) -> list[dict[str, Any]]:
    """Return the numbers of a model under each threat model; none if it failed under any attack."""
    if any(each["reason"] for each in benchmarks):
        return []
    found = []
    for (knowledge, goal, norm), group in groupby(sorted(benchmarks, key=_threat), key=_threat):
        attacks = [(np.array(each["right"], bool), _distances(each)) for each in group]
        standing = standing_of(attacks, float(rules[f"budget_{norm}"]))
        numbers = {name: getattr(standing, name) for name in NUMBERS}
        found.append({"knowledge": knowledge, "goal": goal, "norm": norm, **numbers})
    return found


def ranking_value(standings: Sequence[Line], first: Line) -> float:
    """Return the accuracy in per cent under the threat model that ranks, that of the benchmark `first`; 0 without."""
    return next((100.0 * each["accuracy"] for each in standings if _threat(each) == _threat(first)), 0.0)


def _threat(line: Line) -> tuple[str, str, str]:
    return Knowledge(line["knowledge"]).value, Goal(line["goal"]).value, Norm(line["norm"]).value


def _distances(line: Line) -> Any:
    return np.array([np.inf if each is None else float(each) for each in line["distances"]])


def _problems(lines: Sequence[Numbered], samples: str | None, field: str | None) -> Iterator[Problem]:
    (_, head), *body = lines
    models = [(number, line) for number, line in body if line["kind"] == "model"]
    benchmarks = [(number, line) for number, line in body if line["kind"] == "benchmark"]
    if head["kind"] != "round" or len(models) + len(benchmarks) != len(body):
        raise ValueError("a line is of another kind")
    _require_identity(head, benchmarks)
    yield from not_committed(head["samples"], head["field"], samples=samples, field=field)
    if commitment_to_field(head["rules"], [line for _, line in models], head["salt"]) != head["field"]:
        yield Problem(1, "the commitment to the field does not follow from the rules, the models and the salt")
    yield from _benchmark_problems(head, models, benchmarks)
    yield from _model_problems(head, models, [line for _, line in benchmarks])


def _require_identity(head: Line, benchmarks: Sequence[Numbered]) -> None:
    """Raise `BundleRefusal` where a bundle does not name its round, or the seed of a benchmark."""
    if "version" not in head:
        return
    if head["version"] != VERSION:
        raise BundleRefusal(1, f"it has the version {quoted(head['version'])}, and this one reads up to {VERSION}")
    if type(head["competition"]) is not str or type(head["round"]) is not int:
        raise BundleRefusal(1, "it does not name its competition and the number of its round")
    for number, line in benchmarks:
        if line["seed"] != str(int(line["seed"])) or not 0 <= int(line["seed"]) <= MOST_WHOLE:
            raise BundleRefusal(number, "its seed is not text of a whole number of 63 bits")


def _benchmark_problems(head: Line, models: Sequence[Numbered], benchmarks: Sequence[Numbered]) -> Iterator[Problem]:
    listed = [(each["name"], each["goal"], each["norm"], each["queries"]) for each in head["rules"]["attacks"]]
    expected = [(model["team"], *attack) for _, model in models for attack in listed]
    names = ("team", "attack", "goal", "norm", "queries")
    if [tuple(line[name] for name in names) for _, line in benchmarks] != expected:
        yield Problem(1, "the benchmarks are not every attack of the rules against every model, in this order")
    for number, line in benchmarks:
        if line["attack"] not in KNOWLEDGE:
            raise BundleRefusal(number, f"this version knows no attack {quoted(line['attack'])}")
        if line["knowledge"] != (sees := KNOWLEDGE[line["attack"]]):  # it says under which threat model it counts
            yield Problem(number, f"{line['attack']} is a {sees} attack, not {quoted(line['knowledge'])}")
        count = 0 if line["reason"] else len(head["labels"])
        if len(line["right"]) != count or len(line["distances"]) != count:
            raise BundleRefusal(number, f"it does not have {count} images")
        if any(each is not None and not 0 <= float(each) < np.inf for each in line["distances"]):
            raise BundleRefusal(number, "a distance is below 0 or not finite")


def _model_problems(head: Line, models: Sequence[Numbered], benchmarks: Sequence[Line]) -> Iterator[Problem]:
    own = {model["team"]: [each for each in benchmarks if each["team"] == model["team"]] for _, model in models}
    expected = {team: standing_lines(head["rules"], lines) for team, lines in own.items()}
    values = {team: ranking_value(lines, own[team][0]) for team, lines in expected.items()}
    for number, model in models:
        team = model["team"]
        if model["threat_models"] != expected[team]:
            yield Problem(number, "its numbers do not follow from its benchmarks")
        place = 1 + sum(other > values[team] for other in values.values())
        if (model["value"], model["place"]) != (values[team], place):
            yield Problem(number, f"its value and place do not follow: they are {values[team]:g} and {place}")
