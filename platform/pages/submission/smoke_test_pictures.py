"""The pictures of a smoke test on the page of its submission: samples, what became of them, and the attack's path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from competitions.sample_pictures import CLEAN, PERTURBED, difference_name
from core import rounding
from evaluation.charts.chart_table import ChartTable
from evaluation.charts.line_chart import Curve, LineChart
from evaluation.charts.sample_pictures import AMPLIFICATIONS, USUAL_AMPLIFICATION
from evaluation.charts.scales import LogScale, distances_over
from evaluation.domain.samples import class_name
from pages.competition.development_samples import development_set
from submissions.models import Build, Submission
from submissions.smoke_test_pictures import KeptSample, kept


@dataclass(frozen=True)
class SmokeTestStep:
    """A step of the path: its query, its distance as text, the name of its label, its picture, its dot in the chart."""

    query: int
    distance: float
    label: str
    picture: str
    x: float
    y: float


@dataclass(frozen=True)
class SmokeTestSample:
    """A sample with the names of its classes and labels, and the addresses of its pictures.

    `given` is the label of the clean image, `found` that of the perturbed one, both empty where no model was asked.
    `differences` are by amplification. `wrong`: the clean image got another label than its class.
    """

    kept: KeptSample
    number: int
    label: str
    given: str
    found: str
    target: str
    clean: str
    perturbed: str
    differences: Sequence[tuple[int, str]]
    path: Sequence[SmokeTestStep]
    chart: LineChart | None

    @property
    def wrong(self) -> bool:
        """Whether a model gave the clean image another label than its class."""
        return self.kept.clean_label is not None and self.kept.clean_label != self.kept.label

    @property
    def replayed(self) -> Sequence[SmokeTestStep]:
        """The steps that have pictures."""
        return [step for step in self.path if step.picture]


@dataclass(frozen=True)
class SmokeTestPictures:
    """The samples of a smoke test. `attacked`: some were perturbed; `labelled`: a model labelled what was."""

    samples: Sequence[SmokeTestSample]
    attacked: bool
    labelled: bool
    factors: Sequence[int] = AMPLIFICATIONS
    factor: int = USUAL_AMPLIFICATION


def shown_pictures(submission: Submission, build: Build) -> SmokeTestPictures | None:
    """Return the pictures of a build's smoke test, None where there are none; for the team and the organisers."""
    samples = kept(build)
    if not samples:
        return None
    public = development_set(submission.repository.track.competition)
    names: Sequence[str] = public.class_names if public else ()
    shown = [_shown(submission, build, number, sample, names) for number, sample in enumerate(samples)]
    return SmokeTestPictures(
        shown,
        attacked=any(sample.perturbed for sample in samples),
        labelled=any(sample.found is not None for sample in samples),
    )


def _shown(
    submission: Submission, build: Build, number: int, sample: KeptSample, names: Sequence[str]
) -> SmokeTestSample:
    def address(name: str) -> str:
        return reverse("pages:smoke_picture", args=[submission.pk, build.attempt, number, name])

    chart = _chart(number, sample)
    return SmokeTestSample(
        kept=sample,
        number=number,
        label=class_name(names, sample.label),
        given="" if sample.clean_label is None else class_name(names, sample.clean_label),
        found=class_name(names, sample.found) if sample.perturbed and sample.found is not None else "",
        target="" if sample.target is None else class_name(names, sample.target),
        clean=address(CLEAN),
        perturbed=address(PERTURBED) if sample.perturbed else "",
        differences=[(factor, address(difference_name(factor))) for factor in AMPLIFICATIONS]
        if sample.perturbed
        else [],
        path=[
            SmokeTestStep(
                query=step.query,
                distance=step.distance,
                label=class_name(names, step.label),
                picture=address(step.picture) if step.picture else "",
                x=chart.x_of(step.query),
                y=chart.y_of(step.distance),
            )
            for step in sample.path
        ]
        if chart
        else [],
        chart=chart,
    )


def _chart(number: int, sample: KeptSample) -> LineChart | None:
    """Return the distance of the closest image against queries; None where nothing was found."""
    if not sample.path:
        return None
    rows: list[tuple[float, float]] = [(step.query, rounding.distance(step.distance)) for step in sample.path]
    last = max(sample.queries or 0, sample.path[-1].query)
    if last > rows[-1][0]:
        rows.append((last, rows[-1][1]))
    return LineChart(
        key=f"path-{number}",
        title="Distance against queries",
        description="The closest adversarial of this sample after a number of queries.",
        table=ChartTable(("queries", "distance"), rows),
        lines=[Curve("distance", 1)],
        x=LogScale(1.0, float(max(last, 2))),
        y=distances_over([distance for _, distance in rows]),
        x_name="queries",
        y_name="distance",
        steps=True,
    )
