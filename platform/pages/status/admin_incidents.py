"""What needs a person, with links to the rows, for the first page of the admin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from competitions import uploaded_data_sets
from core.administration.admin_base_classes import is_superuser
from pages.formats import page_formats
from pages.status import failed_submissions
from pages.status.incident_types import RowsToFix, Urgency
from pages.status.status_page_data import late_submissions
from rounds.models import Objection
from submissions import quota_ledger
from workers.selectors import hosts_out_of_service, live_workers, workers_without_heartbeat

MOST_LINKED = 200
"""Maximum number of rows in the address of a list; a card with more links to the first ones."""


@dataclass(frozen=True)
class Card:
    """A kind of rows that need a person: how many, what to do, and the address of their list, "" without one."""

    title: str
    count: int
    text: str
    link: str


def incident_cards(request: HttpRequest) -> list[Card]:
    """Return the cards that the user may see, the most urgent first; a kind without rows has none."""
    cards = [_card(request, each) for each in _kinds() if visible(request, each.rows).exists()]
    return [*_host_cards(), *cards] if is_superuser(request) else cards


def _kinds() -> list[RowsToFix]:
    """Return the kinds of rows that belong to competitions, the most urgent first."""
    found = [
        RowsToFix(
            Urgency.REJECTED,
            "Submissions ended by platform errors",
            failed_submissions.failed_submissions(),
            "Their logs name the cause. Fix it, then choose Retry.",
        ),
        RowsToFix(
            Urgency.REFUND,
            "Slots that only an organiser refunds",
            quota_ledger.awaiting_organiser(),
            "Platform errors used more slots of these teams in a day than the site refunds. Open the submission and "
            "choose Refund slot.",
        ),
        RowsToFix(
            Urgency.REJECTED,
            "Uploads of data sets given up",
            uploaded_data_sets.given_up(),
            "Platform errors ended every attempt. The log names the cause. Fix it, then have the file uploaded again.",
        ),
        RowsToFix(
            Urgency.OBJECTION,
            "Objections without an answer",
            Objection.objects.filter(state=Objection.State.OPEN),
            "Teams object to results of rounds, which stay provisional until each objection has an answer. Uphold or "
            "reject it, with a public reason.",
        ),
        RowsToFix(
            Urgency.LATE,
            "Submissions that wait for more than a day",
            late_submissions(),
            "They are neither ready nor rejected. They stay in the queue; see whether a builder is online.",
        ),
    ]
    for name in page_formats:
        found += page_formats[name].rows_to_fix()
    return sorted(found, key=lambda each: each.urgency)


def _host_cards() -> list[Card]:
    hosts, late = hosts_out_of_service(), workers_without_heartbeat()
    found = []
    if hosts:
        problems = "; ".join(f"{host.name}: {host.problem.splitlines()[0]}" for host in hosts if host.problem)
        link = reverse("admin:workers_host_changelist") + "?out_since__isempty=0"
        found.append(Card("Hosts out of service", len(hosts), problems, link))
    if late:
        link = reverse("admin:workers_worker_changelist") + "?o=7"
        text = (
            "Other workers play their pieces again."
            if live_workers().exists()
            else "No other worker is online, so nothing is played. Start one."
        )
        found.append(Card("Workers without a heartbeat", late, text, link))
    return found


def _card(request: HttpRequest, of: RowsToFix) -> Card:
    keys = list(visible(request, of.rows).order_by("pk").values_list("pk", flat=True))
    model: type[Model] = of.rows.model
    if not admin.site.is_registered(model):
        return Card(of.title, len(keys), of.text, "")
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    shown = ",".join(map(str, keys[:MOST_LINKED]))
    return Card(of.title, len(keys), of.text, f"{address}?{urlencode({'id__in': shown})}")


def visible(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return those of `rows` that the user sees in the admin; without an admin page, only superusers see them."""
    page = admin.site._registry.get(rows.model)
    if page is None:
        return rows if is_superuser(request) else rows.none()
    return rows.filter(pk__in=page.get_queryset(request).order_by().values("pk"))
