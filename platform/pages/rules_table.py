"""Table of the rules of a competition."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext

from competitions.models import RulesVersion
from competitions.rules import least_accuracy, teams_may_choose
from core.numbers import local
from core.times import duration
from evaluation.domain.rules import QueryRules
from evaluation.domain.transfer_rules import Opponents, TransferRules
from matches.rules import query_rules
from tournaments.rules import transfer_rules


@dataclass(frozen=True)
class RuleRow:
    """A rule, its value and a note."""

    name: str
    value: str
    note: str = ""


def scale(version: RulesVersion) -> str:
    """Return the unit and the range of distances under a version of the rules."""
    height, width, channels = query_rules(version).shape
    largest = math.sqrt(height * width * channels)
    return gettext("L2 of pixels / 255, from 0 to %(largest)s for images of %(shape)s") % {
        "largest": local(f"{largest:.2f}"),
        "shape": f"{height} x {width} x {channels}",
    }


def rows(version: RulesVersion) -> list[RuleRow]:
    """Return every rule of a version as text. Values that it does not set are those of 2018, or of 2017."""
    rules = version.engine_rules
    return (
        _query_rows(version, rules)
        if isinstance(rules, QueryRules)
        else _transfer_rows(version, transfer_rules(version))
    )


def _images(rules: QueryRules | TransferRules) -> RuleRow:
    height, width, channels = rules.shape
    return RuleRow(
        gettext("Images"),
        gettext("%(shape)s, %(classes)s classes")
        % {"shape": f"{height} x {width} x {channels}", "classes": rules.classes},
        gettext("Integers from 0 to 255."),
    )


def _query_rows(version: RulesVersion, rules: QueryRules) -> list[RuleRow]:
    machine = gettext("On the reference machine.")
    return [
        _images(rules),
        RuleRow(
            gettext("Distance"),
            gettext("L2 over pixels / 255"),
            gettext("Measured by the referee on the bytes that it forwarded."),
        ),
        RuleRow(
            gettext("Query budget"),
            gettext("%(count)s for each sample") % {"count": intcomma(rules.query_budget)},
            gettext("Strict. Each sample has its own budget."),
        ),
        RuleRow(
            gettext("No adversarial found"),
            gettext("distance to the grey image"),
            gettext("Also after a crash. This is the largest distance."),
        ),
        RuleRow(gettext("Model wrong on the clean image"), gettext("distance 0")),
        RuleRow(gettext("Time to label an image"), duration(rules.model_seconds_per_image), machine),
        RuleRow(gettext("Time to attack a sample"), duration(rules.attack_seconds_per_sample), machine),
        RuleRow(gettext("Time to set up"), duration(rules.setup_seconds)),
        RuleRow(
            gettext("Opponents"),
            gettext("the %(count)s in the pool of the other side") % {"count": rules.opponents},
        ),
        RuleRow(gettext("Samples in a piece"), f"{rules.piece_samples}"),
        RuleRow(
            gettext("Clean accuracy in the smoke test"),
            _at_least(version),
            gettext("Models only."),
        ),
        RuleRow(
            gettext("Which submission counts"),
            gettext("the newest one, unless the team chooses another")
            if teams_may_choose(version.values)
            else gettext("the newest one"),
            gettext("Of each team and track."),
        ),
    ]


def _transfer_rows(version: RulesVersion, rules: TransferRules) -> list[RuleRow]:
    counted = {
        Opponents.COVERAGE: gettext("Each is weighted by the share of the images that it processed."),
        Opponents.COMPLETE: gettext("Only those that processed every image count, as in 2017."),
    }
    return [
        _images(rules),
        RuleRow(
            gettext("Largest change of a value"),
            gettext("epsilon %(epsilons)s") % {"epsilons": ", ".join(str(each) for each in rules.epsilons)},
            gettext("Drawn for each batch. Larger changes are clipped.")
            if rules.epsilon_order == "drawn"
            else gettext("One for each batch, in turn. Larger changes are clipped."),
        ),
        RuleRow(
            gettext("Queries"), gettext("none"), gettext("Attacks do not see defences, and defences no clean image.")
        ),
        RuleRow(gettext("Images in a batch"), gettext("at most %(count)s") % {"count": intcomma(rules.batch_images)}),
        RuleRow(
            gettext("Time for a batch"),
            duration(rules.batch_seconds),
            gettext("On the reference machine. What was written before the limit counts."),
        ),
        RuleRow(
            gettext("Result file of a defence"),
            gettext("at most %(count)s bytes") % {"count": intcomma(rules.result_bytes)},
            gettext("A larger one is ignored."),
        ),
        RuleRow(
            gettext("Classes in files"),
            gettext("counted from 1"),
            gettext("In target_class.csv and in the result file of a defence."),
        ),
        RuleRow(gettext("Opponents"), gettext("all of the other side"), counted[rules.opponents]),
        RuleRow(gettext("Clean accuracy in the smoke test"), _at_least(version), gettext("Defences only.")),
    ]


def _at_least(version: RulesVersion) -> str:
    return gettext("at least %(share)s") % {"share": f"{100 * least_accuracy(version.values):.0f}\u00a0%"}
