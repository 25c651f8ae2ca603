"""Title and sidebar of the admin (settings of django-unfold)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.module_loading import import_string

WAITING_ACCOUNTS = "accounts.admin.waiting_badge"


class AdminPage(NamedTuple):
    """A list of rows in the sidebar."""

    title: str
    icon: str
    """Its name among the Material Symbols."""
    model: str
    """Label of its app and name of the model, as in the names of its addresses: "rounds_round"."""
    badge: str = ""
    """The function that counts what waits there; none if empty."""

    def sees(self, request: HttpRequest) -> bool:
        """Return whether the user may open the list."""
        app_label, _, name = self.model.rpartition("_")
        return admin.site._registry[apps.get_model(app_label, name)].has_view_permission(request)

    def item(self, request: HttpRequest) -> dict[str, Any]:
        """Return it as django-unfold takes it, which would also draw an empty badge."""
        link = reverse(f"admin:{self.model}_changelist")
        item = {"title": self.title, "icon": self.icon, "link": link, "permission": self.sees}
        count = import_string(self.badge)(request) if self.badge and self.sees(request) else ""
        return item | ({"badge": count} if count else {})


Groups = Mapping[str, Sequence[AdminPage]]
"""Pages by the title of their group."""

_FIRST: Groups = {
    "Competition": (
        AdminPage("Competitions", "trophy", "competitions_competition"),
        AdminPage("Tracks", "route", "competitions_track"),
        AdminPage("Rules", "gavel", "competitions_rulesversion"),
        AdminPage("Sample sets", "photo_library", "competitions_sampleset"),
        AdminPage("Data sets", "folder_data", "competitions_uploadeddataset"),
        AdminPage("Data set uploads", "upload", "competitions_datasetupload"),
        AdminPage("Freeze windows", "ac_unit", "competitions_freezewindow"),
        AdminPage("Frozen leaderboards", "lock_clock", "competitions_frozenleaderboards"),
        AdminPage("Organisers", "badge", "competitions_organiser"),
        AdminPage("Origins", "public", "competitions_competitionorigin"),
        AdminPage("Pages", "article", "competitions_page"),
        AdminPage("Announcements", "campaign", "competitions_announcement"),
        AdminPage("Webhooks", "extension", "webhooks_webhook"),
        AdminPage("Deliveries", "upload", "webhooks_delivery"),
        AdminPage("Terms", "contract", "competitions_termsversion"),
        AdminPage("Accepted terms", "order_approve", "competitions_termsacceptance"),
    ),
    "Teams": (
        AdminPage("Entries", "how_to_reg", "competitions_entry"),
        AdminPage("Teams", "groups", "accounts_team"),
        AdminPage("Memberships", "group_add", "accounts_membership"),
        AdminPage("Invitations", "mark_email_unread", "accounts_invitation"),
        AdminPage("Repositories", "folder_data", "repositories_repository"),
        AdminPage("Push costs", "hourglass", "repositories_pushcost"),
        AdminPage("Account requests", "person_add", "accounts_accountrequest", badge=WAITING_ACCOUNTS),
        AdminPage("Sign-up links", "add_link", "accounts_signuplink"),
        AdminPage("Users", "person", "accounts_user"),
        AdminPage("Groups", "group", "auth_group"),
        AdminPage("Access tokens", "key", "accounts_accesstoken"),
        AdminPage("Sign-ins by code", "computer", "accounts_devicelogin"),
        AdminPage("E-mail addresses", "mail", "account_emailaddress"),
    ),
    "Submissions": (
        AdminPage("Submissions", "upload", "submissions_submission"),
        AdminPage("Builds", "build", "submissions_build"),
        AdminPage("Build logs", "receipt_long", "submissions_logchunk"),
        AdminPage("Players", "smart_toy", "submissions_player"),
        AdminPage("Quota slots", "confirmation_number", "submissions_quotaslot"),
    ),
}
"""Above what formats add."""

_LAST: Groups = {
    "Workers": (
        AdminPage("Worker time", "timer", "workers_workertime"),
        AdminPage("Workers", "memory", "workers_worker"),
        AdminPage("Hosts", "dns", "workers_host"),
        AdminPage("Host credentials", "key", "workers_hostcredential"),
        AdminPage("Host comparisons", "compare_arrows", "workers_hostcomparison"),
    ),
    "Rounds": (
        AdminPage("Rounds", "emoji_events", "rounds_round"),
        AdminPage("Round entries", "how_to_vote", "rounds_roundentry"),
        AdminPage("Objections", "balance", "rounds_objection"),
        AdminPage("Releases", "public", "rounds_release"),
        AdminPage("Signing keys", "key", "rounds_signingkey"),
    ),
    "Log": (
        AdminPage("Events", "history", "core_event"),
        AdminPage("Site identity", "fingerprint", "core_siteidentity"),
    ),
}
"""Below what formats add."""


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the groups of the sidebar: those of shared apps, and the `admin_pages` of the apps of formats.

    Pages that a format adds to a group of shared apps come last in it.
    """
    own: dict[str, list[AdminPage]] = {}
    for app in apps.get_app_configs():
        added: Groups = getattr(app, "admin_pages", {})
        for title, pages in added.items():
            own.setdefault(title, []).extend(pages)
    titles = dict.fromkeys([*_FIRST, *(title for title in own if title not in _LAST), *_LAST])
    shared = {**_FIRST, **_LAST}
    listed = {title: [*shared.get(title, ()), *own.get(title, ())] for title in titles}
    items = {title: [each.item(request) for each in listed[title]] for title in titles}
    return [{"title": title, "separator": True, "collapsible": False, "items": items[title]} for title in titles]


def _icon(request: object) -> str:
    return static("img/mark.svg")


def _style(request: object) -> str:
    return static("css/admin.css")


_PRIMARY = {
    "50": "oklch(97% .012 215)",
    "100": "oklch(94% .025 215)",
    "200": "oklch(89% .045 215)",
    "300": "oklch(84% .065 213)",
    "400": "oklch(78% .085 211)",
    "500": "oklch(72% .095 211)",
    "600": "oklch(45% .095 220)",
    "700": "oklch(40% .09 220)",
    "800": "oklch(35% .08 222)",
    "900": "oklch(30% .065 224)",
    "950": "oklch(24% .05 226)",
}
"""Shades of the colour of the site's links. Links have 600 on light pages and 500 on dark ones."""

SEARCHED = (
    "accounts.team",
    "accounts.user",
    "competitions.competition",
    "repositories.repository",
    "submissions.submission",
    "rounds.round",
    "core.event",
)
"""The models in which the search of the sidebar looks, by their `search_fields`: commits are those of submissions."""

_UNFOLD = {
    "COLORS": {"primary": _PRIMARY},
    "STYLES": [_style],
    "SITE_SYMBOL": "swords",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _icon}],
    "SHOW_BACK_BUTTON": True,
    "DASHBOARD_CALLBACK": "pages.status.admin_dashboard.dashboard",
    "COMMAND": {"search_models": SEARCHED},
    "SIDEBAR": {
        "show_search": True,
        "command_search": True,
        "show_all_applications": False,
        "navigation": navigation,
    },
}


def unfold(site_name: str) -> dict[str, Any]:
    """Return the settings of the admin for a site of this name."""
    return _UNFOLD | {"SITE_TITLE": site_name, "SITE_HEADER": site_name}
