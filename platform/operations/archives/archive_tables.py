"""Which rows belong to a competition: all that lead to it by foreign keys, but for the tables that stay behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Field, Model, Q, QuerySet

from accounts.models import Invitation, Team, User
from competitions.models import Competition, FrozenLeaderboards, SampleSet, Track
from core.models import Event
from operations.archives.extension_points import ArchivedTables, KeysInValues, StoredObjects, archived_tables
from repositories.models import PushCost
from rounds.models import Objection, Release, Round
from submissions.models import Build, Submission
from webhooks.models import Delivery, Webhook
from workers.models import HostComparison, WorkerTime
from workers.work_item_models import HostedItem, WorkItem

LEFT_OUT: Mapping[type[Model], str] = {
    Invitation: "nobody can accept an invitation of another site",
    PushCost: "what pushes cost the web hosts of the last hour",
    HostComparison: "about hosts of the site",
    WorkerTime: "how the workers of the site were shared",
    Webhook: "their addresses and secrets are for the site",
    Delivery: "of webhooks",
}
"""Tables with rows of a competition or its teams that no archive has, and why."""

OF_THE_SITE = frozenset({"export_archive", "import_archive"})
"""Verbs of events that are about archives, and stay on their site."""

NOT_IN_EVENTS = frozenset({"host", "username"})
"""Names in the data of events that are about hosts of the site, or people who are in no row of the archive."""

USER_COLUMNS = ("username",)
"""What an archive has of a person: no password, address, token or right."""

_ROOTS: Mapping[type[Model], str] = {Competition: "pk", Team: "entry__competition"}
"""Paths to the competition that do not follow from foreign keys of the table."""

_COMPUTED: Mapping[type[Model], frozenset[str]] = {Team: frozenset({"slug_skeleton", "name_skeleton"})}
"""Columns that follow from others."""

_SHARED = ArchivedTables(
    objects=(
        StoredObjects(Competition, "smoke_opponent_digest"),
        StoredObjects(Track, "own_baselines", within="archive"),
        StoredObjects(SampleSet, "digest"),
        StoredObjects(Round, "outcome"),
        StoredObjects(Release, "content", needed=Q(withdrawn_at=None)),
    ),
    cleared={Build: {"worker": "", "pictures": {}, "lease_until": None}},
    open=lambda competition: [
        (competition.rounds.filter(state__in=Round.UNDER_WAY), "rounds under way"),
        (
            Submission.objects.filter(repository__track__competition=competition, state__in=Submission.UNDER_WAY),
            "submissions that are built or checked",
        ),
        (
            Objection.objects.filter(round__competition=competition, state=Objection.State.OPEN),
            "objections without an answer",
        ),
        # nobody can unfreeze those of an imported competition
        (FrozenLeaderboards.objects.filter(competition=competition), "freeze of its leaderboards"),
    ],
)
_CLEARED_OF_ITEMS: Mapping[str, Any] = {"fault_hosts": {}, "host_faults": 0, "lease_until": None, "claimed_at": None}


class Table(NamedTuple):
    """A table of an archive; `path` leads from a row to the competition."""

    model: type[Model]
    path: str

    @property
    def label(self) -> str:
        """The name of the table: "rounds.Round"."""
        return self.model._meta.label

    def rows(self, competition: Competition) -> QuerySet[Any]:
        """Return the rows of a competition in the order of their keys, which an import keeps."""
        found: QuerySet[Any]
        if self.model is Event:
            found = Event.objects.filter(scope=f"competition:{competition.pk}").exclude(verb__in=OF_THE_SITE)
            for model in LEFT_OUT:
                found = found.exclude(subject__startswith=f"{model._meta.model_name}:")
        else:
            found = self.model._base_manager.filter(**{self.path: competition.pk})
        return found.order_by("pk")


class Tables:
    """The tables of an archive, each after those that its rows refer to, and what is special about them."""

    def __init__(self) -> None:
        self._special = [_SHARED, *archived_tables.answers()]
        found = _paths()
        self.users = Table(User, "")
        every = [self.users, *(Table(model, path) for model, path in found.items()), Table(Event, "")]
        by_model = {table.model: table for table in every}
        order = TopologicalSorter(
            {model: sorted(self._before(model) & by_model.keys(), key=_label) for model in sorted(by_model, key=_label)}
        )
        # an event names rows of any table
        self.ordered = [by_model[model] for model in order.static_order() if model is not Event] + [by_model[Event]]
        self.models = frozenset(by_model)

    @cached_property
    def objects(self) -> Sequence[StoredObjects]:
        """The columns with digests of objects."""
        return [each for special in self._special for each in special.objects]

    def objects_of(self, model: type[Model]) -> Sequence[StoredObjects]:
        """Return those of a table."""
        return [each for each in self.objects if each.model is model]

    def keys_in(self, model: type[Model]) -> Mapping[str, Sequence[KeysInValues]]:
        """Return the columns of a table whose values contain keys."""
        found: dict[str, list[KeysInValues]] = {}
        for special in self._special:
            for each in special.keys:
                if each.model is model:
                    found.setdefault(each.column, []).append(each)
        return found

    def cleared(self, model: type[Model]) -> Mapping[str, Any]:
        """Return the columns of a table that an archive does not have, with the value that they get."""
        found: dict[str, Any] = dict(_CLEARED_OF_ITEMS) if issubclass(model, WorkItem) else {}
        if issubclass(model, HostedItem):
            found["worker"] = ""
        for special in self._special:
            found |= special.cleared.get(model, {})
        return found

    def columns(self, model: type[Model]) -> list[Field[Any, Any]]:
        """Return the columns that an archive has of a table, without its own key.

        References to a table that stays behind are left out; they must be optional.
        """
        if model is User:
            return [field for field in model._meta.concrete_fields if field.name in USER_COLUMNS]
        kept = []
        for field in model._meta.concrete_fields:
            other = field.remote_field.model if field.remote_field else None
            if (field.primary_key and other is None) or field.name in self.cleared(model):
                continue
            if field.name in _COMPUTED.get(model, ()):
                continue
            if other is not None and other not in self.models:
                if not field.null:
                    raise ImproperlyConfigured(
                        f"{model._meta.label}.{field.name} refers to {other._meta.label}, which no archive has"
                    )
                continue
            kept.append(field)
        return kept

    def open_rows(self, competition: Competition) -> Iterator[tuple[int, str]]:
        """Yield how many rows have to end before an export, and what they are called."""
        for special in self._special:
            for rows, noun in special.open(competition):
                if number := rows.count():
                    yield number, noun
        for table in self.ordered:
            if issubclass(table.model, WorkItem):
                held = table.rows(competition).filter(state=WorkItem.State.CLAIMED).count()
                if held:
                    yield held, f"{table.model._meta.verbose_name_plural} that workers hold"

    def _before(self, model: type[Model]) -> set[type[Model]]:
        """Return the models whose new keys have to be known before rows of `model` are written, without itself."""
        referred = {field.remote_field.model for field in model._meta.concrete_fields if field.remote_field}
        in_values = {other for columns in self.keys_in(model).values() for each in columns for other in each.models}
        return (referred | in_values) - {model}


def digests_in(value: Any, within: str) -> Iterable[str]:
    """Return the digests in a value of a column of `StoredObjects`."""
    if within:
        return [each[within] for each in value.values()]
    return [value] if value else []


def _label(model: type[Model]) -> str:
    return model._meta.label


def _paths() -> dict[type[Model], str]:
    """Return the paths to the competition of all tables that have one; required references come first."""
    found = dict(_ROOTS)
    models = [model for model in apps.get_models(include_auto_created=True) if model not in LEFT_OUT]
    while True:
        steps = [step for model in models if model not in found and (step := _step(model, found)) is not None]
        required = [step for step in steps if step.required]
        if not steps:
            return found
        found |= {step.model: step.path for step in required or steps}


class _Step(NamedTuple):
    model: type[Model]
    path: str
    required: bool


def _step(model: type[Model], found: Mapping[type[Model], str]) -> _Step | None:
    """Return how a row leads to the competition in one step more than the tables that are found already."""
    steps = [
        _Step(model, f"{field.name}__{found[field.remote_field.model]}", not field.null)
        for field in model._meta.concrete_fields
        if field.remote_field and field.remote_field.model in found
    ]
    return max(steps, key=lambda step: step.required, default=None)
