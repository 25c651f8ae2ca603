"""The option `--competition`: rules and development samples of a competition, from its file or from its site."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import tomllib
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar

from evaluation.cli.output import say
from evaluation.cli.site_client import AnswerShapeError, read_answer
from evaluation.cli.site_version_check import note_version
from evaluation.datasets.base import Dataset, with_targets
from evaluation.datasets.load import load_dataset
from evaluation.datasets.released_samples import released
from evaluation.domain.errors import Refusal
from evaluation.domain.images import ImageShape
from evaluation.domain.samples import Sample
from evaluation.formats.curves.rules import CurvesRules, ListedAttack
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.transfer.rules import Opponents, TransferRules

UNPUBLISHED = "unpublished"
"""What a site answers in place of an opponent that its organisers keep to themselves."""

SITE_RULES = frozenset({"least_accuracy", "counting_submission", "note"})
"""Values in `[rules]` of a competition's file that are no rules of the engine."""

BUNDLED_SOURCE = "digits"
"""The data set that every installation has."""

_LEAST_ACCURACY = {QueryRules.format: 0.5, TransferRules.format: 0.0, CurvesRules.format: 0.5}
_URL = re.compile(r"(https?://[^\s?#]+)/competitions/([a-z0-9-]+)/?")
_SECONDS = 30
_MOST_ANSWER_BYTES = 4 << 20
_MOST_ARCHIVE_BYTES = 1 << 30

RulesType = TypeVar("RulesType", QueryRules, TransferRules, CurvesRules)


@dataclass(frozen=True, eq=False)
class GivenCompetition:
    """What a competition says about a smoke test: its rules, its development samples and the opponent of attacks."""

    title: str
    rules: Mapping[str, Any]
    """The values of its rules; a missing one has the default of the format."""
    version: int
    least_accuracy: float
    opponent: str
    """A bundled model or a directory; "" for the default of its data, `UNPUBLISHED` for one of the organisers."""
    samples: Mapping[str, Any]
    """Where the development samples come from: `source`, `split`, `order`, `skip`, `count`, `target_seed`."""
    archive: str = ""
    """The address of the development samples, for those that this computer cannot make itself."""

    @property
    def format(self) -> str:
        """The name of its format."""
        return str(self.rules.get("format", QueryRules.format))

    def rules_as(self, made: type[RulesType]) -> RulesType:
        """Return its rules as the engine takes them. Raise `Refusal` for those of another format, or invalid ones."""
        if self.format != made.format:
            raise Refusal(
                f"{self.title!r} is a competition of the {self.format} format",
                fix=f"name one of the {made.format} format, or a submission of the {self.format} format",
            )
        known = {each.name for each in fields(made)}
        if unknown := set(self.rules) - known - SITE_RULES:
            raise Refusal(f"unknown rules: {', '.join(sorted(unknown))}", fix="correct the competition's file")
        values = {name: value for name, value in self.rules.items() if name in known}
        try:
            return made(**_as_of_the_engine(values) | {"version": self.version})
        except (TypeError, ValueError) as error:
            raise Refusal(f"the rules are not valid: {error}", fix="correct the competition's file") from None

    def read_samples(self, dataset: str | None = None) -> tuple[Dataset, str, tuple[Sample, ...]]:
        """Return data set, split and all development samples with their targets, as the site has them.

        `dataset` says where the data set is on this computer. Raise `Refusal`.
        """
        kept = self.samples
        source = dataset or str(kept["source"])
        published = kept.get("order", "published") == "published"
        if self.archive and dataset is None and (source != BUNDLED_SOURCE or not published):
            return _archived(self.archive)
        if source.startswith("released:"):
            return _all_samples(load_dataset(source))
        if not published:
            raise Refusal(
                "the development samples are in an order that only the site knows",
                fix=f"leave --dataset out, or download {self.archive} and add --dataset released:FILE"
                if self.archive
                else "name the competition by its address: --competition SITE/competitions/SLUG",
            )
        data, split = load_dataset(source), str(kept["split"])
        skip, count = int(kept.get("skip", 0)), int(kept["count"])
        chosen = with_targets(data.samples(split, skip + count)[skip:], data.classes, int(kept["target_seed"]))
        return data, split, tuple(replace(sample, number=number) for number, sample in enumerate(chosen))


@dataclass(frozen=True)
class _SampleSource:
    """Where the development samples of a competition on a site come from."""

    source: str
    split: str
    count: int
    target_seed: int
    order: str = "published"
    skip: int = 0


@dataclass(frozen=True)
class _SmokeTest:
    """What a site says about its smoke test."""

    rules: dict[str, Any]
    least_accuracy: float
    opponent: str
    samples: _SampleSource


@dataclass(frozen=True)
class _RulesVersion:
    """The number of rules."""

    version: int


@dataclass(frozen=True)
class _DescribedCompetition:
    """What a site says about a competition."""

    title: str
    smoke_test: _SmokeTest


def add_competition(command: argparse.ArgumentParser) -> None:
    """Add `--competition` to a command that has the options of samples."""
    command.set_defaults(dataset=None, budget=None)  # None: left to the competition, or to the defaults of the help
    command.add_argument(
        "--competition",
        metavar="URL|FILE",
        help="play by the rules and on the development samples of a competition: its address "
        "(SITE/competitions/SLUG) or its file; replaces --budget, --split and the data set",
    )


def given_competition(given: argparse.Namespace, *, checking: bool = False) -> GivenCompetition | None:
    """Return the competition that the options name; raise `Refusal` for options that its rules replace.

    It is read once for a command. `checking`: it may be one of models alone, which have a smoke test and no matches.
    """
    text = getattr(given, "competition", None)
    if text is None:
        return None
    for option in ("budget", "split"):
        if getattr(given, option) is not None:
            raise Refusal(f"the competition decides --{option}", fix=f"leave --{option} or --competition out")
    if isinstance(text, GivenCompetition):
        return text
    found = read_competition(text)
    if found.format not in _LEAST_ACCURACY or (found.format == CurvesRules.format and not checking):
        raise Refusal(
            f"{found.title} is a competition of the {found.format} format, whose rules this command does not play",
            fix="check a model with `gauntlet check`; `gauntlet benchmark` runs the attacks of such rules",
        )
    given.competition = found
    say(f"{found.title}: {found.format} format, {found.samples['count']} development samples")
    return found


def read_competition(text: str) -> GivenCompetition:
    """Return the competition at an address, or in a file. Raise `Refusal` naming what is wrong with it."""
    if "://" not in text:
        return _of_file(Path(text).expanduser())
    address = _URL.fullmatch(text)
    if address is None:
        raise Refusal(f"{text} is no address of a competition", fix="write it as SITE/competitions/SLUG")
    site, slug = address.groups()
    return of_answer(
        _fetched(site, f"{site}/api/v1/competitions/{slug}"), f"{site}/competitions/{slug}/development.zip"
    )


def _of_file(path: Path) -> GivenCompetition:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
        about, rules = dict(content["competition"]), dict(content.get("rules", {}))
        samples = next(each for each in content["sample_sets"] if each["purpose"] == "development")
        missing = {"source", "split", "count", "target_seed"} - samples.keys()
        if missing:
            raise Refusal(
                f"{path}: the development samples lack {', '.join(sorted(missing))}", fix="complete their table"
            )
        samples = samples | {name: int(samples.get(name, 0)) for name in ("skip", "count", "target_seed")}
        least = rules.get("least_accuracy", _LEAST_ACCURACY.get(rules.get("format", QueryRules.format), 0.5))
    except OSError as error:
        raise Refusal(
            f"cannot read {path}: {error.strerror}", fix="name a competition's file, or SITE/competitions/SLUG"
        ) from None
    except StopIteration:
        raise Refusal(f"{path} has no development samples", fix="add them under [[sample_sets]]") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Refusal(
            f"{path} is not the file of a competition ({error})",
            fix="name a TOML file with [competition], [rules] and [[sample_sets]]",
        ) from None
    return GivenCompetition(
        str(about.get("title", path.stem)), rules, 1, least, str(about.get("smoke_opponent", "")), samples
    )


def of_answer(answer: Any, archive: str) -> GivenCompetition:
    """Return the competition that a site describes; its development samples are in `archive`. Raise `Refusal`."""
    try:
        described = read_answer(_DescribedCompetition, answer)
        test = described.smoke_test
        version = read_answer(_RulesVersion, test.rules).version
    except AnswerShapeError as error:
        raise Refusal(
            f"the site does not say how its smoke test is played ({error})",
            fix="use the version of this program that the site has, or name the competition's file",
        ) from None
    return GivenCompetition(
        described.title, test.rules, version, test.least_accuracy, test.opponent, asdict(test.samples), archive
    )


def _fetched(site: str, address: str) -> Any:
    request = urllib.request.Request(address, headers={"Accept": "application/json"})  # noqa: S310 - see `_URL`
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - as above
            note_version(site, answer.headers)
            return json.loads(answer.read(_MOST_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        note_version(site, error.headers)
        fix = "correct the address; a competition that is not public has no address for this command: name its file"
        raise Refusal(f"{address} answers {error.code}", fix=fix) from None
    except (OSError, ValueError, RecursionError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise Refusal(f"{address} cannot be read: {reason}", fix="correct the address, or try again later") from None


def _archived(address: str) -> tuple[Dataset, str, tuple[Sample, ...]]:
    """Return the development samples in the archive at `address`."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-development-") as folder:
        file = Path(folder) / "development.zip"
        try:
            with urllib.request.urlopen(address, timeout=_SECONDS) as answer, file.open("wb") as copy:  # noqa: S310 - see `_URL`
                left = _MOST_ARCHIVE_BYTES
                while content := answer.read(1 << 20):
                    if (left := left - len(content)) < 0:
                        raise Refusal(f"{address} is larger than 1 GiB", fix="name the data set with --dataset")
                    copy.write(content)
        except (OSError, HTTPException) as error:
            raise Refusal(
                f"the development samples cannot be read from {address}: {error}",
                fix="name the data set on this computer with --dataset; the competition's page says which it is",
            ) from None
        return _all_samples(released(file))


def _all_samples(dataset: Dataset) -> tuple[Dataset, str, tuple[Sample, ...]]:
    """Return the samples of an archive, with the targets that it has."""
    (split,) = dataset.splits
    return dataset, split, dataset.samples(split)


def _as_of_the_engine(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values of a file or an answer with the types of the engine."""
    made = dict(values)
    if "shape" in made:
        made["shape"] = ImageShape(*made["shape"])
    if "attacks" in made:
        made["attacks"] = tuple(map(ListedAttack.read, made["attacks"]))
    if "epsilons" in made:
        made["epsilons"] = tuple(made["epsilons"])
    if "opponents" in made and isinstance(made["opponents"], str):
        made["opponents"] = Opponents(made["opponents"])
    return made
