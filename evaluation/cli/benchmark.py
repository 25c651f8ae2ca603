"""`gauntlet benchmark`: robustness curves of models (Dong et al. 2020)."""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.cli.options import TARGET_SEED, default_split, results_directory
from evaluation.cli.output import ERR, print_json, print_table, progress_bar, say
from evaluation.cli.positive_number import positive
from evaluation.datasets.base import Dataset, with_targets
from evaluation.datasets.load import load_dataset
from evaluation.domain.errors import Fault, Refusal
from evaluation.domain.samples import Sample
from evaluation.formats.curves.threat_models import Goal, Knowledge, Norm
from evaluation.parsing.process_pool import process_pool

if TYPE_CHECKING:
    import torch

    from evaluation.cli.benchmarked_submissions import BenchmarkedSubmission
    from evaluation.formats.curves.models.classifier import Classifier
    from evaluation.formats.curves.results import Results
    from evaluation.formats.curves.runner.benchmark_run import BenchmarkRun, Subject
    from evaluation.formats.curves.runner.benchmark_settings import BenchmarkSettings

_LINE_SECONDS = 30.0
"""Time between two lines about the progress where no bar can be shown."""
_LINE_RUNS = 10
"""Runs between two such lines where processes share the runs."""
_WARNED = 100
"""Images by which AutoAttack's warnings are decided."""
_START_IMAGES = 1000
"""Images of the split among which those that decision-based attacks start from are sought."""


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "benchmark", help="measure robustness curves of models with white-box, transfer, score and decision attacks"
    )
    add = command.add_argument
    add("--model", action="append", default=[], metavar="MODEL", help=_MODELS)
    add("--attacks", type=_words, metavar="A,...", help="names of attacks, see --list (default: all that fit)")
    add("--goal", type=_words, default=("untargeted",), metavar="G,...", help="untargeted (default), targeted")
    add("--norm", type=_words, default=("linf", "l2"), metavar="N,...", help="linf, l2 (default: both), l2-normalised")
    add("--dataset", default="digits", help="digits (default), or cifar10:DIR, tiny-imagenet:DIR, nips2017:DIR, ...")
    add("--split", help="split of the data set (default test-1, test or validation, or the only one)")
    add("--samples", type=positive, default=100, metavar="N", help="images, from the first on (default 100)")
    add("--out", type=Path, metavar="DIR", help="directory of results and report; what it has is not run again")
    add("--substitute", metavar="MODEL", help="the model that transfer attacks use (default: the first other one)")
    add("--fixed-budget", type=_budgets, default={}, metavar="NORM=E,...", help="budgets of accuracy by strength")
    add("--queries", type=positive, metavar="N", help="queries of an image, at most (default 20,000)")
    add("--halvings", type=positive, metavar="N", help="of the interval of the smallest budget (default 10)")
    add("--batch", type=positive, default=100, metavar="N", help="images attacked together (default 100)")
    add("--processes", type=positive, default=1, metavar="N", help="processes that share the runs (default 1)")
    add("--device", default="cpu", help="cpu (default), cuda or cuda:N")
    add(
        "--sandbox",
        choices=("process", "docker"),
        default="process",
        help="of submissions: process, for code you trust (default), or docker, for untrusted code",
    )
    add("--seed", type=int, default=0, help="random seed (default 0)")
    add("--list", action="store_true", help="list attacks and bundled models")
    add("--json", action="store_true", help="print the table of all runs as JSON")
    command.set_defaults(run=run)


_MODELS = (
    "name of a bundled model, Python file with load() -> torch.nn.Module, submission:DIR (in its sandbox), or "
    "robustbench:NAME (Linf; robustbench:L2/NAME for another threat model) if that package is installed; "
    "may be given several times (default: all bundled ones)"
)


def run(given: argparse.Namespace) -> int:
    """Run the attacks, write results and report, and print the table."""
    if given.list:
        return _list()
    if given.out is None:
        raise Refusal("there is no directory for the results", fix="name one: --out DIR")
    with ExitStack() as running:
        plan = _plan(given, running)
        out = results_directory(given.out)
        if given.processes > 1:
            _play_in_processes(plan, out, given)
        results = _play_all(plan, out)
        for each in plan.submissions:
            _check(each, plan, out)
    _write(plan, results, out, given)
    if given.json:
        from evaluation.formats.curves.report.tables import run_table

        table = run_table(results)
        print_json([dict(zip(table.columns, row, strict=True)) for row in table.rows])
    else:
        _print(results)
    for text in plan.left_out:
        say(text)
    say(f"{out / 'index.html'}: report; {out / 'results'}: arrays of each run")
    return 0


@dataclass(frozen=True)
class _Plan:
    """All runs."""

    runs: Sequence[tuple[BenchmarkRun, Subject]]
    settings: BenchmarkSettings
    left_out: Sequence[str]
    """What was asked for and is not run, a line each."""
    samples: Sequence[Sample]
    dataset: Dataset
    submissions: Sequence[BenchmarkedSubmission]


def _list() -> int:
    from evaluation.formats.curves.attacks.catalogue import ATTACKS
    from evaluation.formats.curves.defences.catalogue import BUNDLED, NOT_INCLUDED

    rows = [
        (
            each.name,
            each.title,
            each.knowledge,
            ", ".join(sorted(each.goals)),
            ", ".join(sorted(each.norms)),
            each.capability,
            each.source,
        )
        for each in (entry.by_budget for entry in ATTACKS.values())
    ]
    columns = ("attack", "title", "knowledge", "goals", "norms", "capability", "source")
    print_table("Attacks", columns, rows, text=range(len(columns)))
    models = [(each.name, each.dataset, each.title) for each in BUNDLED.values()]
    print_table("Bundled models", ("model", "data set", "defence"), models, text=(0, 1, 2))
    missing = [(each.name, each.dataset, each.reason) for each in NOT_INCLUDED]
    print_table("Defences not included", ("defence", "data set", "reason"), missing, text=(0, 1, 2))
    return 0


def _plan(given: argparse.Namespace, running: ExitStack) -> _Plan:
    from evaluation.formats.curves.attacks.smallest_budget import BISECTIONS
    from evaluation.formats.curves.runner.attack_selection import runs_of
    from evaluation.formats.curves.runner.benchmark_run import Subject, start_images
    from evaluation.formats.curves.runner.benchmark_settings import MOST_QUERIES, settings_for
    from evaluation.formats.curves.runner.named_models import bundled_for
    from evaluation.formats.curves.runner.preconditions import require_model, require_samples
    from evaluation.training.precision import open_device

    # 1. images
    dataset = load_dataset(given.dataset)
    usual = next((name for name in ("test-1", "test", "validation") if name in dataset.splits), "test")
    split = given.split or default_split(dataset, usual)
    samples = with_targets(dataset.samples(split, given.samples), dataset.classes, TARGET_SEED)
    # 2. models
    device = open_device(given.device)
    names = given.model or bundled_for(dataset)
    if not names:
        raise Refusal(f"no bundled model is for images of {dataset.name}", fix="name one: --model MODEL")
    submissions: list[BenchmarkedSubmission] = []
    models = [_model(name, dataset, device, given, running, submissions) for name in dict.fromkeys(names)]
    _require_distinct(models)
    for model in models:
        require_samples(samples, model.classes)
        with _failures_of(model):
            require_model(model, samples)
    substitute = _model(given.substitute, dataset, device, given, running, submissions) if given.substitute else None
    # 3. limits
    goals, norms = _goals(given.goal), _norms(given.norm)
    budgets = dict(zip(_norms(tuple(given.fixed_budget)), given.fixed_budget.values(), strict=True))
    queries, halvings = given.queries or MOST_QUERIES, given.halvings or BISECTIONS
    settings = settings_for(dataset.shape, given.seed, given.batch, queries, budgets, halvings)
    # 4. runs
    runs: list[tuple[BenchmarkRun, Subject]] = []
    left_out: list[str] = []
    for model in models:
        other = substitute or next(
            (each for each in models if each is not model and Knowledge.WHITE_BOX in each.offers), None
        )
        subject = Subject(model, samples, dataset.name, other)
        found, refused = runs_of(subject, given.attacks, goals, norms)
        if any(each.by_budget.knowledge is Knowledge.DECISION for each in found):
            with _failures_of(model):
                starts = start_images(model, dataset.first(split, _START_IMAGES))
            subject = replace(subject, starts=starts)
        runs += [(each, subject) for each in found]
        left_out += refused
    if not runs:
        raise Refusal("no attack fits these models, goals and norms", fix="see gauntlet benchmark --list")
    return _Plan(runs, settings, list(dict.fromkeys(left_out)), samples, dataset, submissions)


def _model(
    name: str,
    dataset: Dataset,
    device: torch.device,
    given: argparse.Namespace,
    running: ExitStack,
    submissions: list[BenchmarkedSubmission],
) -> Classifier:
    """Return the model of a name; a submission runs until `running` ends, and is added to `submissions`."""
    from evaluation.cli.benchmarked_submissions import PREFIX, running_submission
    from evaluation.formats.curves.runner.named_models import model_called

    if not name.startswith(PREFIX):
        return model_called(name, dataset, device)
    if device.type != "cpu":
        raise Refusal("attacks on submissions run on the CPU", fix="leave out --device, or benchmark it by itself")
    found = running.enter_context(running_submission(name, dataset, given.sandbox, given.seed))
    submissions.append(found)
    return found.model


def _failures_of(model: Classifier) -> AbstractContextManager[None]:
    from evaluation.cli.benchmarked_submissions import failures_as_refusals

    return failures_as_refusals(model.name)


def _play_in_processes(plan: _Plan, out: Path, given: argparse.Namespace) -> None:
    """Play all runs in processes, which leave their results in the directory.

    Each process reads models and images itself: networks from Python files cannot be sent to it.
    """
    if plan.submissions:
        raise Refusal("a submission runs once, for one process", fix="leave out --processes, or benchmark it by itself")
    pool = process_pool(given.processes, _prepare_process, given)
    try:
        waiting = [pool.submit(_play_in_process, number, out) for number in range(len(plan.runs))]
        with progress_bar(len(waiting), "benchmark") as bar:
            for number, _ in enumerate(map(Future.result, as_completed(waiting)), start=1):
                bar.step()
                if not ERR.is_terminal and number % _LINE_RUNS == 0:
                    say(f"{number} of {len(waiting)} runs are done")
    except BrokenProcessPool as error:
        raise Fault("a process of the benchmark was killed; the same command goes on where it was") from error
    finally:
        pool.shutdown(cancel_futures=True)


_PLANS: list[_Plan] = []
"""In a process of `_play_in_processes`: the plan."""


def _prepare_process(given: argparse.Namespace) -> None:
    import torch

    torch.set_num_threads(max(1, (os.cpu_count() or 1) // given.processes))
    _PLANS.append(_plan(given, ExitStack()))  # nothing runs in it: submissions are refused


def _play_in_process(number: int, out: Path) -> None:
    from evaluation.formats.curves.runner.benchmark_run import play

    (plan,) = _PLANS
    run, subject = plan.runs[number]
    play(run, subject, plan.settings, out, lambda images: None)


def _play_all(plan: _Plan, out: Path) -> list[Results]:
    from evaluation.formats.curves.runner.benchmark_run import play

    total = len(plan.runs) * len(plan.samples)
    done, begun, lined = 0, time.monotonic(), time.monotonic()
    results = []
    with progress_bar(total, "benchmark") as bar:
        for number, (each, subject) in enumerate(plan.runs, start=1):
            name = f"{each.by_budget.title} on {subject.model.name}, {each.goal}, {each.norm}"
            name = f"{number} of {len(plan.runs)}: {name}"
            bar.step(0, text=name)

            def progress(images: int, name: str = name) -> None:
                nonlocal done, lined
                done += images
                bar.step(images)
                now = time.monotonic()
                if now - lined > _LINE_SECONDS and not ERR.is_terminal:
                    left = (now - begun) / done * (total - done)
                    say(f"{name}; about {left / 60:.0f} min left")
                    lined = now

            with _failures_of(subject.model):
                results.append(play(each, subject, plan.settings, out, progress))
    return results


def _check(submission: BenchmarkedSubmission, plan: _Plan, out: Path) -> None:
    """Raise `Refusal` if a fresh instance answers otherwise; what was kept of the submission is then removed.

    Another call would use it again, without asking the submission.
    """
    from evaluation.formats.curves.runner.benchmark_run import forget

    try:
        submission.check_answers_of_fresh_instance()
    except Refusal:
        for run, subject in plan.runs:
            attacked = subject.model is submission.model
            transfer = run.by_budget.knowledge is Knowledge.TRANSFER
            if attacked or (transfer and subject.substitute is submission.model):
                forget(run, subject, out)
        raise


def _write(plan: _Plan, results: Sequence[Results], out: Path, given: argparse.Namespace) -> None:
    from evaluation.formats.curves.report.benchmark_report import write_report
    from evaluation.report.page import Context

    command = " ".join(["gauntlet", *given.arguments])
    context = Context(plan.samples, plan.dataset.class_names, plan.dataset.name, plan.settings.seed, command)
    write_report(results, context, plan.settings, _warnings(plan), out)


def _warnings(plan: _Plan) -> dict[str, list[str]]:
    """Return AutoAttack's warnings about each model that it attacked."""
    from evaluation.formats.curves.attacks.autoattack import AutoAttack, warnings_of
    from evaluation.formats.curves.models.classifier import NetworkClassifier
    from evaluation.formats.curves.runner.benchmark_run import as_tensor

    models = {
        subject.model.name: subject.model
        for run, subject in plan.runs
        # a submission has ended by now
        if isinstance(run.by_budget, AutoAttack) and isinstance(subject.model, NetworkClassifier)
    }
    return {
        name: [each.text for each in sorted(warnings_of(model, as_tensor(plan.samples[:_WARNED]).to(model.device)))]
        for name, model in models.items()
    }


def _print(results: Sequence[Results]) -> None:
    from evaluation.formats.curves.report.tables import table_3

    for each in table_3(results):
        title = f"{each.goal}, {each.norm}: median distance / accuracy in % at {each.budget:.4g}"
        rows = [tuple("-" if cell is None else str(cell) for cell in row) for row in each.table.rows]
        print_table(title, each.table.columns, rows, text=(0,))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _budgets(text: str) -> dict[str, float]:
    """Parse NORM=E,... for argparse."""
    found = {}
    for part in _words(text):
        name, _, value = part.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{part} is not NORM=NUMBER") from None
        if not 0 < found[name] < math.inf:
            raise argparse.ArgumentTypeError(f"the budget {value} is not above 0")
    return found


def _require_distinct(models: Sequence[Classifier]) -> None:
    names = [model.name for model in models]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise Refusal(f"two models are called {twice}", fix="rename a file: results are named after their model")


def _goals(names: Sequence[str]) -> tuple[Goal, ...]:
    return tuple(Goal(_known(name, [each.value for each in Goal], "goal")) for name in names)


def _norms(names: Sequence[str]) -> tuple[Norm, ...]:
    return tuple(Norm(_known(name, [each.value for each in Norm], "norm")) for name in names)


def _known(name: str, known: Sequence[str], kind: str) -> str:
    if name not in known:
        raise Refusal(f"there is no {kind} {name!r}", fix=f"name one of: {', '.join(known)}")
    return name
