"""Changes of the rules of a competition: each is a new version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from accounts.models import User
from competitions.models import Competition, RulesVersion
from competitions.permissions import require
from competitions.rules import check_rules, rules_of
from competitions.rules_difference import ValueChange, differences
from competitions.rules_reader import RefusedRule
from competitions.selectors import rules_in_force
from core import clock, event_log
from core.errors import Refusal
from core.roles import Right
from core.time_format import in_words


def changes_of(version: RulesVersion, values: Mapping[str, Any]) -> Sequence[ValueChange]:
    """Return what rules with `values` change, compared with a version; a value set to its default changes nothing."""
    new = RulesVersion(competition=version.competition, version=version.version + 1, values=dict(values))
    return [each for each in differences(version, new) if each.kind != "unchanged" and not each.same_effect]


def change_rules(
    *, competition: Competition, values: Mapping[str, Any], seen: int, by: User, reason: str
) -> RulesVersion:
    """Make `values` the next version of the rules, for an organiser who has `seen` the version with this number.

    Raise `Refusal` for anyone else, if another version is in force by now, for wrong values, for those that do not fit
    the sample sets, and if they change nothing.
    """
    with transaction.atomic():
        locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        require(by, locked, Right.RUN)
        newest = rules_in_force(locked)
        require_version(newest, seen)
        check_rules(values)
        require_fitting_rules(locked, values)
        if not changes_of(newest, values):
            raise Refusal(
                f"these are the rules of version {newest.version}, which is in force", fix="change at least one value"
            )
        return add_rules_version(locked, newest, values, note=reason, by=by)


def require_version(newest: RulesVersion, seen: int) -> None:
    """Raise `Refusal` unless the version in force is the one that somebody has `seen`."""
    if newest.version != seen:
        raise Refusal(
            f"the rules have changed since you opened the form: version {newest.version} is in force since "
            f"{in_words(newest.created_at)}, and nothing is changed",
            fix="look at the new values, and enter your change again",
        )


def add_rules_version(
    competition: Competition, newest: RulesVersion | None, values: Mapping[str, Any], *, note: str, by: User | None
) -> RulesVersion:
    """Store the version after `newest`, which the caller has checked, in the caller's transaction."""
    made = competition.rules_versions.create(
        version=newest.version + 1 if newest else 1, values=dict(values), note=note, created_at=clock.now()
    )
    changes = [f"{each.label}: {each.before} -> {each.after}" for each in changes_of(newest, values)] if newest else []
    event_log.record("set_rules", made, by=by, reason=note, version=made.version, changes=changes)
    return made


def require_fitting_rules(competition: Competition, values: Mapping[str, Any]) -> None:
    """Raise `Refusal` if a new version of the rules has another image shape or class count than the sample sets.

    A value missing from `values` has the default of its format, not the value of the previous version.
    """
    newest = competition.rules_versions.order_by("-version").first()
    if newest is None or not competition.sample_sets.exists():
        return
    old, new = newest.engine_rules, rules_of(values, newest.version + 1)
    if old.format != new.format:
        raise Refusal(
            f"the competition is of the {old.format} format, these rules are of the {new.format} format",
            fix="create another competition",
        )
    if (old.shape, old.classes) != (new.shape, new.classes):
        raise RefusedRule(
            "shape" if old.shape != new.shape else "classes",
            "shape and classes of the rules differ from those of the imported sample sets",
            fix=f"use the values of version {newest.version}, or create another competition",
        )
