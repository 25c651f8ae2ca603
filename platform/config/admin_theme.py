"""Title and sidebar of the admin (settings of django-unfold)."""

from __future__ import annotations

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy

SUPERUSER = "core.administration.permissions.is_superuser"
ORGANISER = "core.administration.permissions.is_superuser_or_organiser"
WAITING_ACCOUNTS = "accounts.admin.waiting_badge"


def _item(title: str, icon: str, model: str, permission: str = ORGANISER) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{model}_changelist"), "permission": permission}


def _group(title: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "separator": True, "collapsible": False, "items": list(items)}


def _icon(request: object) -> str:
    return static("img/mark.svg")


def _style(request: object) -> str:
    return static("css/admin.css")


_UNFOLD = {
    "STYLES": [_style],
    "SITE_SYMBOL": "swords",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _icon}],
    "SHOW_BACK_BUTTON": True,
    "DASHBOARD_CALLBACK": "pages.status.admin_incidents.dashboard",
    "SIDEBAR": {
        "show_search": True,
        "show_all_applications": False,
        "navigation": [
            _group(
                "Competition",
                _item("Competitions", "trophy", "competitions_competition"),
                _item("Tracks", "route", "competitions_track"),
                _item("Rules", "gavel", "competitions_rulesversion"),
                _item("Sample sets", "photo_library", "competitions_sampleset"),
                _item("Freeze windows", "ac_unit", "competitions_freezewindow"),
                _item("Organisers", "badge", "competitions_organiser"),
                _item("Pages", "article", "competitions_page"),
                _item("Announcements", "campaign", "competitions_announcement"),
                _item("Terms", "contract", "competitions_termsversion"),
                _item("Accepted terms", "order_approve", "competitions_termsacceptance"),
            ),
            _group(
                "Teams",
                _item("Entries", "how_to_reg", "competitions_entry"),
                _item("Teams", "groups", "accounts_team"),
                _item("Memberships", "group_add", "accounts_membership"),
                _item("Invitations", "mark_email_unread", "accounts_invitation", SUPERUSER),
                _item("Repositories", "folder_data", "repositories_repository"),
                _item("Push costs", "hourglass", "repositories_pushcost"),
                _item("Account requests", "person_add", "accounts_accountrequest") | {"badge": WAITING_ACCOUNTS},
                _item("Sign-up links", "add_link", "accounts_signuplink"),
                _item("Users", "person", "accounts_user", SUPERUSER),
                _item("Groups", "group", "auth_group", SUPERUSER),
                _item("Access tokens", "key", "accounts_accesstoken", SUPERUSER),
                _item("E-mail addresses", "mail", "account_emailaddress", SUPERUSER),
            ),
            _group(
                "Submissions",
                _item("Submissions", "upload", "submissions_submission"),
                _item("Builds", "build", "submissions_build"),
                _item("Build logs", "receipt_long", "submissions_logchunk"),
                _item("Players", "smart_toy", "submissions_player"),
                _item("Quota slots", "confirmation_number", "submissions_quotaslot"),
            ),
            _group(
                "Matches",
                _item("Matches", "sports_kabaddi", "matches_match"),
                _item("Pieces", "extension", "matches_piece"),
                _item("Sample results", "analytics", "matches_sampleresult"),
                _item("Worker time", "timer", "workers_workertime"),
                _item("Workers", "memory", "workers_worker", SUPERUSER),
                _item("Hosts", "dns", "workers_host", SUPERUSER),
            ),
            _group(
                "Leaderboards",
                _item("Standings", "leaderboard", "leaderboards_standing"),
                _item("Submission choices", "check_circle", "leaderboards_submissionchoice"),
                _item("Evaluations", "scoreboard", "leaderboards_evaluation"),
                _item("Resamples", "shuffle", "leaderboards_resamples"),
                _item("Rejudgings", "balance", "leaderboards_rejudging"),
                _item("Frozen leaderboards", "lock_clock", "competitions_frozenleaderboards"),
                _item("Snapshots", "photo_camera", "leaderboards_snapshot"),
                _item("Pools", "pool", "leaderboards_pool"),
                _item("Pool places", "format_list_numbered", "leaderboards_poolplace"),
            ),
            _group(
                "Tournaments",
                _item("Tournaments", "grid_on", "tournaments_tournament"),
                _item("Entrants", "groups", "tournaments_entrant"),
                _item("Runs of attacks", "bolt", "tournaments_attackrun"),
                _item("Runs of defences", "shield", "tournaments_defencerun"),
                _item("Repeated runs", "replay", "tournaments_repeatrun"),
                _item("Totals of pairs", "functions", "tournaments_pairtotal"),
            ),
            _group(
                "Benchmarks",
                _item("Benchmarks", "show_chart", "curves_format_benchmark"),
                _item("Scores of models", "scoreboard", "curves_format_modelscore"),
            ),
            _group(
                "Rounds",
                _item("Rounds", "emoji_events", "rounds_round"),
                _item("Round entries", "how_to_vote", "rounds_roundentry"),
                _item("Stages", "stairs", "query_rounds_roundstage"),
                _item("Decision log", "rule", "query_rounds_decision"),
                _item("Round matches", "join_inner", "query_rounds_roundmatch"),
                _item("Warnings", "warning", "query_rounds_roundwarning"),
                _item("Releases", "public", "rounds_release"),
                _item("Signing keys", "key", "rounds_signingkey"),
            ),
            _group(
                "Log",
                _item("Events", "history", "core_event", SUPERUSER),
                _item("Site identity", "fingerprint", "core_siteidentity", SUPERUSER),
            ),
        ],
    },
}


def unfold(site_name: str) -> dict[str, Any]:
    """Return the settings of the admin for a site of this name."""
    return _UNFOLD | {"SITE_TITLE": site_name, "SITE_HEADER": site_name}
