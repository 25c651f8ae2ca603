"""Files of a comparison of attacks: tables for people, the same as CSV, and curves over queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.charts.chart_as_svg_file import svg_file
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import Curve, LineChart
from evaluation.charts.scales import LogScale
from evaluation.domain.players import TrackName
from evaluation.domain.score_decimals import decimals
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.runner.kept_matches import KeptMatch
from evaluation.formats.query.scoring.attack_comparison import ComparedAttack, Estimate, best_known, compare_attacks
from evaluation.scoring.distances import Distances

_LEAST_CURVE_QUERIES = 10
"""Where curves begin: before, hardly any attack has found an adversarial."""


@dataclass(frozen=True, eq=False)
class AttackComparison:
    """Attacks of one track against one model; `counts` are all numbers of queries, `at` those of the tables.

    `reference` has for each sample number the distance of an adversarial that a white-box attack found.
    """

    matches: Sequence[KeptMatch]
    counts: Sequence[int]
    at: Sequence[int]
    within: Sequence[float]
    reference: Mapping[int, float] | None = None

    @property
    def track(self) -> TrackName:
        return self.matches[0].track

    @property
    def model(self) -> str:
        return self.matches[0].model

    @property
    def name(self) -> str:
        """The name of its files and headings."""
        return f"{self.track}--{self.model}"

    @cached_property
    def samples(self) -> list[int]:
        """The numbers of the samples that count: those whose clean image met the criterion in no match."""
        wrong = {row["sample"] for match in self.matches for row in match.rows if row["outcome"] == Outcome.CLEAN_WRONG}
        return [row["sample"] for row in self.matches[0].rows if row["sample"] not in wrong]

    @cached_property
    def closest(self) -> dict[str, Distances]:
        """By attack the distances of the samples that count, (samples, counts)."""
        return {
            match.attack: match.closest[[row["sample"] in self.samples for row in match.rows]] for match in self.matches
        }

    @cached_property
    def attacks(self) -> list[ComparedAttack]:
        """The attacks, best first."""
        columns = [self.counts.index(count) for count in self.at]
        return compare_attacks(
            {name: distances[:, columns] for name, distances in self.closest.items()},
            self._found,
            self.within,
            self._reference,
        )

    @property
    def median_best_known(self) -> float:
        """The median over images of the best known distance."""
        return float(np.median(best_known(self.closest, self._reference)))

    @property
    def median_reference(self) -> float | None:
        """The median over images of what the white-box attack needs."""
        return None if self._reference is None else float(np.median(self._reference))

    @property
    def _found(self) -> dict[str, NDArray[np.bool_]]:
        """By attack for which of the samples that count it found an adversarial, (samples,)."""
        counted = set(self.samples)
        return {
            match.attack: np.array(
                [row["outcome"] == Outcome.ADVERSARIAL for row in match.rows if row["sample"] in counted], np.bool_
            )
            for match in self.matches
        }

    @property
    def _reference(self) -> Distances | None:
        return None if self.reference is None else np.array([self.reference[number] for number in self.samples])


def write_comparison(comparisons: Sequence[AttackComparison], directory: Path) -> None:
    """Write tables and curves to `directory`.

    The bytes depend on the matches alone. What depends on the host, the seconds, stands in a file of its own.
    """
    tables = "\n".join(line for each in comparisons for line in markdown(each))
    files = {
        "comparison.md": f"{tables}\n",
        "comparison.csv": _summary(comparisons).csv(),
        "distances.csv": _distances(comparisons).csv(),
        "seconds.csv": _seconds(comparisons).csv(),
    }
    for each in comparisons:
        if each.samples:
            chart = curves(each)
            files[f"curves--{each.name}.csv"] = chart.table.csv()
            files[f"curves--{each.name}.svg"] = svg_file(chart)
    for name, text in files.items():
        unfinished = directory / f"{name}.unfinished"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.rename(directory / name)


def markdown(comparison: AttackComparison) -> Iterator[str]:
    """Yield the lines of one table in Markdown, with its heading."""
    total = len(comparison.matches[0].rows)
    yield f"### {comparison.track} attacks against {comparison.model}"
    yield ""
    yield f"{len(comparison.samples)} of {total} images, those that do not meet the criterion as they are."
    if not comparison.samples:
        yield ""
        return
    reference = comparison.median_reference
    white_box = "" if reference is None else f", of the white-box attack {reference:.3g}"
    yield f"Median of the best known distances {comparison.median_best_known:.3g}{white_box}."
    yield ""
    columns = table_columns(comparison)
    yield f"| {' | '.join(columns)} |"
    yield f"|---|{'---|' * (len(columns) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in table_rows(comparison))
    yield ""


def table_columns(comparison: AttackComparison) -> list[str]:
    """Return the heads of the columns of `table_rows`."""
    within = [f"within {distance:g}" for distance in comparison.within]
    queries = [f"L2 at {count:,}" for count in comparison.at]
    return ["attack", *queries, "times the best", "nearer", *within, "optimality"]


def table_rows(comparison: AttackComparison) -> list[list[str]]:
    """Return a row for each attack, best first."""
    images = len(comparison.samples)
    return [
        [
            attack.name,
            *(_text(median) for median in attack.medians),
            "best" if attack.ratio is None else _text(attack.ratio),
            "" if attack.ratio is None else f"{attack.nearer} of {images}",
            *(f"{100 * count / images:.0f} %" for count in attack.within),
            f"{attack.optimality:.2f}",
        ]
        for attack in comparison.attacks
    ]


def curves(comparison: AttackComparison) -> LineChart:
    """Return the median distances of all attacks over queries, best first."""
    names = [attack.name for attack in comparison.attacks]
    medians = {name: np.median(comparison.closest[name], axis=0) for name in names}
    shown = [number for number, count in enumerate(comparison.counts) if count >= _LEAST_CURVE_QUERIES] or [-1]
    counts = [comparison.counts[number] for number in shown]
    values = [float(medians[name][number]) for name in names for number in shown]
    return LineChart(
        key=f"comparison-{comparison.name}",
        title=f"{str(comparison.track).capitalize()} attacks against {comparison.model}",
        description="Median over images of the closest adversarial after a number of queries; the worst case before "
        "the first one.",
        table=ChartTable(
            ("queries", *names),
            [
                (count, *(float(medians[name][number]) for name in names))
                for count, number in zip(counts, shown, strict=True)
            ],
        ),
        lines=[Curve(name, number) for number, name in enumerate(names, start=1)],
        x=LogScale(float(counts[0]), float(max(counts[-1], counts[0] + 1))),
        y=LogScale(max(min(values), 1e-3) / 1.1, max(*values, 2e-3)),
        x_name="queries",
        y_name="L2",
    )


def seconds_per_image(match: KeptMatch, samples: Sequence[int]) -> float:
    """Return the mean seconds that a sample that counts took, model and referee included."""
    counted = set(samples)
    return float(np.mean([row["seconds"] for row in match.rows if row["sample"] in counted]))


def _summary(comparisons: Sequence[AttackComparison]) -> ChartTable:
    """Return a row for each attack, model and number of queries, with all digits."""
    columns = (
        *("track", "model", "attack", "images", "queries", "median", "low", "high"),
        *("ratio_to_best", "ratio_low", "ratio_high", "nearer_than_best", "optimality"),
    )
    rows: list[tuple[Any, ...]] = []
    for each in comparisons:
        for attack in each.attacks if each.samples else ():
            for count, median in zip(each.at, attack.medians, strict=True):
                ratio = attack.ratio if count == each.at[-1] else None
                paired = (ratio.value, ratio.low, ratio.high, attack.nearer) if ratio else (None,) * 4
                rows.append(
                    (
                        *(str(each.track), each.model, attack.name, len(each.samples), count),
                        *(median.value, median.low, median.high, *paired, attack.optimality),
                    )
                )
    return ChartTable(columns, rows)


def _distances(comparisons: Sequence[AttackComparison]) -> ChartTable:
    """Return a row for each sample that counts in each match; the white-box distances are an attack of their own."""
    rows: list[tuple[Any, ...]] = []
    at = comparisons[0].at
    for each in comparisons:
        columns = [each.counts.index(count) for count in at]
        for name, distances in each.closest.items():
            for sample, values in zip(each.samples, distances[:, columns].tolist(), strict=True):
                rows.append((str(each.track), each.model, name, sample, *values))
        for sample in each.samples if each.reference is not None else ():
            reference = (each.reference or {})[sample]
            rows.append((str(each.track), each.model, "white-box", sample, *(None,) * (len(at) - 1), reference))
    return ChartTable(("track", "model", "attack", "sample", *(f"after_{count}" for count in at)), rows)


def _seconds(comparisons: Sequence[AttackComparison]) -> ChartTable:
    rows = [
        (str(each.track), each.model, match.attack, round(seconds_per_image(match, each.samples), 3))
        for each in comparisons
        for match in each.matches
        if each.samples
    ]
    return ChartTable(("track", "model", "attack", "seconds_per_image"), rows)


def _text(found: Estimate) -> str:
    digits = decimals(found.low, found.high)
    return f"{found.value:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"
