"""The results of a published round, with the curves of its models."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from core import platform_error_report
from core.errors import Fault
from evaluation.charts.line_chart import COLOURS, LineChart
from evaluation.formats.curves.rules import CurvesRules
from formats.curves.best_known.released_models import released_models
from formats.curves.models import ModelScore
from formats.curves.pages.accuracy_curves import BUDGETS, by_budget
from formats.curves.pages.best_known_page_data import ShownNorm, round_rows
from formats.curves.pages.board_page_data import named
from formats.curves.requests_and_scores import threat_of
from formats.curves.threat_model_boards import threat_models
from pages.formats import RoundContent
from rounds.models import Round, RoundEntry

log = logging.getLogger(__name__)


def round_content(shown: Round, plain: RoundContent) -> RoundContent:
    """Return the places of a round with a chart for each threat model, and what is best known of released models."""
    context = {**plain.context, "charts": _charts(shown), "best_known": _best_known(shown)}
    return replace(plain, template="formats/curves/parts/round.html", context=context, charts=True)


def _best_known(shown: Round) -> Sequence[tuple[RoundEntry, str, Sequence[ShownNorm]]]:
    try:
        return round_rows(list(released_models(shown)))
    except Fault as fault:  # the rest of the page does not need them
        platform_error_report.report(log, fault, "what is best known of the models of %s cannot be shown", shown)
        return ()


def _charts(shown: Round) -> list[LineChart]:
    if shown.rules is None:
        return []
    best = shown.entries.filter(place__isnull=False).order_by("place", "order")
    first = list(best.values_list("submission", flat=True)[:COLOURS])
    scores = ModelScore.objects.filter(
        sample_set=shown.sample_set, rules=shown.rules, submission__in=first
    ).select_related("submission__repository__entry__team")
    known = {(each.submission_id, *threat_of(each)): each for each in scores}
    charts = []
    for threat in threat_models(shown.rules.rules_as(CurvesRules)):
        keys = [(key, threat.knowledge, threat.goal.value, threat.norm.value) for key in first]
        found = [known[key] for key in keys if key in known]
        if found:
            columns = {named(each): each.curve for each in found}
            chart = by_budget(columns, found[0].budgets, threat, key=f"{BUDGETS}-{threat.key}", title=threat.title)
            charts += [chart] if chart else []
    return charts
