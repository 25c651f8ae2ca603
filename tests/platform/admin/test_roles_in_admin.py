"""What each role sees and does in the admin, in one table of every page and action. A new one fails until named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.messages import get_messages
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import User
from competitions.models import Announcement, Competition, FreezeWindow, Organiser, Track
from core.models import Event
from core.roles import RIGHTS, OrganiserRole, Right
from rounds.models import Objection
from submissions.models import QuotaSlot, Submission

pytestmark = pytest.mark.usefixtures("sidebar")

SEE, SECRETS, ANSWER, JUDGE, RUN, GRANT, ARCHIVE = Right
ADDED, CHANGED, DELETED = "add", "change", "delete"

PAGES: dict[str, tuple[Right | None, Right | None, set[str]]] = {
    # page: who sees it, who edits its rows, and how; None: only superusers
    **dict.fromkeys(
        [
            *("core.siteidentity", "auth.group", "account.emailaddress", "accounts.user", "accounts.accesstoken"),
            *("accounts.invitation", "workers.worker", "workers.host", "workers.hostcomparison", "rounds.signingkey"),
            *("workers.hostcredential", "accounts.devicelogin"),
            *("competitions.uploadeddataset", "competitions.datasetupload"),
        ],
        (None, None, set()),
    ),
    **dict.fromkeys(
        [
            *("competitions.rulesversion", "competitions.termsacceptance", "accounts.team", "accounts.membership"),
            *("repositories.repository", "repositories.pushcost", "submissions.submission", "submissions.quotaslot"),
            *("submissions.build", "submissions.logchunk", "submissions.player", "workers.workertime"),
            "competitions.competitionorigin",
        ],
        (SEE, None, set()),
    ),
    **dict.fromkeys(
        [
            *(
                "core.event",
                "rounds.roundentry",
                "rounds.objection",
                "rounds.release",
                "competitions.frozenleaderboards",
            ),
            *("matches.match", "matches.piece", "matches.sampleresult", "leaderboards.pool", "leaderboards.poolplace"),
            *("leaderboards.evaluation", "leaderboards.resamples", "leaderboards.rejudging", "leaderboards.snapshot"),
            *("leaderboards.standing", "leaderboards.submissionchoice", "query_rounds.roundmatch"),
            "challenges.challenge",
            *("query_rounds.roundstage", "query_rounds.decision", "query_rounds.roundwarning"),
            *("tournaments.tournament", "tournaments.entrant", "tournaments.attackrun", "tournaments.defencerun"),
            *("tournaments.repeatrun", "tournaments.pairtotal", "curves_format.benchmark", "curves_format.modelscore"),
            *("curves_format.proof", "curves_format.improvement"),
        ],
        (SECRETS, None, set()),
    ),
    "competitions.competition": (SEE, RUN, {CHANGED}),
    "competitions.track": (SEE, RUN, {CHANGED}),
    "competitions.entry": (SEE, RUN, {CHANGED}),
    "competitions.sampleset": (SECRETS, RUN, {CHANGED}),
    "competitions.freezewindow": (SEE, RUN, {ADDED, CHANGED}),
    "competitions.organiser": (SEE, GRANT, {ADDED, CHANGED, DELETED}),
    "competitions.page": (SEE, RUN, {ADDED, CHANGED, DELETED}),
    "competitions.announcement": (SEE, ANSWER, {ADDED, CHANGED, DELETED}),
    "competitions.termsversion": (SEE, RUN, {ADDED}),
    "rounds.round": (SECRETS, RUN, {ADDED}),
    "accounts.accountrequest": (ANSWER, None, set()),
    "accounts.signuplink": (ANSWER, ANSWER, {ADDED}),
    "webhooks.webhook": (RUN, RUN, {ADDED, DELETED}),
    "webhooks.delivery": (RUN, None, set()),
}
PAGES["competitions.rulesversion"] = (SEE, RUN, {ADDED})

ACTIONS: dict[str, Right | None] = {
    "workers.host.return_to_service": None,
    "workers.hostcredential.revoke": None,
    "workers.worker.drain": None,
    "competitions.competition.clone": None,
    "competitions.uploadeddataset.make_competition": None,
    **dict.fromkeys(["submissions.submission.retry", "submissions.submission.refund"], ANSWER),
    **dict.fromkeys([f"accounts.accountrequest.{name}" for name in ("approve", "decline")], ANSWER),
    "accounts.signuplink.withdraw": ANSWER,
    **dict.fromkeys(
        [f"submissions.submission.{name}" for name in ("disqualify", "reinstate", "hide", "show_again")], JUDGE
    ),
    **dict.fromkeys([f"submissions.submission.{name}" for name in ("make_baseline", "end_baseline")], JUDGE),
    **dict.fromkeys([f"rounds.objection.{name}" for name in ("uphold", "reject")], JUDGE),
    **dict.fromkeys(
        [f"rounds.roundentry.{name}" for name in ("confirm_licence", "refuse_licence", "override_audit")], JUDGE
    ),
    "competitions.organiser.hand_over": GRANT,
    **dict.fromkeys([f"competitions.competition.{name}" for name in ("end", "unarchive")], ARCHIVE),
    **dict.fromkeys(
        [
            *(f"competitions.competition.{name}" for name in ("change_rules", "export", "season_costs")),
            *(f"competitions.competition.{name}" for name in ("freeze_leaderboards", "unfreeze_leaderboards")),
            *(f"competitions.freezewindow.{name}" for name in ("open_now", "extend", "end_now", "call_off")),
            *(f"rounds.round.{name}" for name in ("freeze", "start", "pause", "resume", "cancel", "publish")),
            *(f"rounds.round.{name}" for name in ("release", "withdraw")),
            *(f"webhooks.webhook.{name}" for name in ("send_test", "enable")),
            "webhooks.delivery.send_again",
            "submissions.submission.re_evaluate",
            *(f"leaderboards.evaluation.{name}" for name in ("re_evaluate", "rejudge")),
            *(f"leaderboards.rejudging.{name}" for name in ("publish", "discard", "replay")),
            "matches.match.replay",
            *(f"matches.piece.{name}" for name in ("retry_now", "give_up")),
            *(
                f"{page}.{name}"
                for page in (
                    *("tournaments.attackrun", "tournaments.defencerun", "tournaments.repeatrun"),
                    *("curves_format.benchmark", "curves_format.proof", "challenges.challenge"),
                )
                for name in ("replay", "retry_now", "give_up")
            ),
        ],
        RUN,
    ),
}


def actions_of(page: Any) -> set[str]:
    """Return the names of the actions of a page, on its list and on its rows."""
    found = set(page.actions or ())
    for each in page.actions_detail or ():
        found |= set(each["items"]) if isinstance(each, dict) else {each}
    return found


def every_action() -> Iterator[tuple[str, Any, str]]:
    """Yield the label of every action of the admin, its page and its name."""
    for model, page in admin.site._registry.items():
        for name in actions_of(page):
            yield f"{model._meta.label_lower}.{name}", page, name


@pytest.fixture
def request_by(rf: RequestFactory, competition: Competition) -> Any:
    """Return a request of a person with a role in the competition; with none, of staff without a role."""

    def made(role: OrganiserRole | None) -> HttpRequest:
        user = User.objects.create_user(f"with-{role}", is_staff=True)
        if role is not None:
            Organiser.objects.create(competition=competition, user=user, role=role)
        request = rf.get("/admin/")
        request.user = user
        return request

    return made


def test_the_tables_name_every_page_and_every_action() -> None:
    assert set(PAGES) == {model._meta.label_lower for model in admin.site._registry}
    assert set(ACTIONS) == {label for label, _, _ in every_action()}


@pytest.mark.parametrize("role", [*OrganiserRole, None])
def test_each_role_sees_and_edits_what_the_table_says(request_by: Any, role: OrganiserRole | None) -> None:
    request, may = request_by(role), RIGHTS[role] if role else frozenset()
    for model, page in admin.site._registry.items():
        label = model._meta.label_lower
        viewing, changing, edits = PAGES[label]
        assert page.has_view_permission(request) == (viewing in may), label
        assert page.has_module_permission(request) == (viewing in may), label
        for edit in (ADDED, CHANGED, DELETED):
            allowed = getattr(page, f"has_{edit}_permission")(request)
            assert allowed == (edit in edits and changing in may), f"{edit} {label}"


@pytest.mark.parametrize("role", [*OrganiserRole, None])
def test_each_role_acts_as_the_table_says(request_by: Any, role: OrganiserRole | None) -> None:
    request, may = request_by(role), RIGHTS[role] if role else frozenset()
    for label, page, name in every_action():
        needed = getattr(page, name).allowed_permissions
        allowed = all(getattr(page, f"has_{each}_permission")(request) for each in needed)
        assert allowed == (ACTIONS[label] in may), label


@pytest.fixture
def helper(client: Client, competition: Competition) -> Client:
    """A client logged in as Henry, who helps in the competition."""
    henry = User.objects.create_user("henry", is_staff=True)
    Organiser.objects.create(competition=competition, user=henry, role=OrganiserRole.HELPER)
    client.force_login(henry)
    return client


def test_a_helper_answers_teams_and_sees_no_link_to_what_is_secret(helper: Client, rows: Any) -> None:
    submission = rows.more()
    QuotaSlot.objects.update(reason="awaits_organiser")
    shown = helper.get(reverse("admin:submissions_submission_change", args=[submission.pk])).content.decode()
    assert "/refund/" in shown
    assert "/disqualify/" not in shown
    assert "/leaderboards/evaluation/" not in shown
    Submission.objects.update(state="rejected", player=None)
    page = reverse("admin:submissions_submission_retry", args=[submission.pk])
    assert helper.get(page).status_code == 200
    sidebar = helper.get(reverse("admin:index")).content.decode()
    assert reverse("admin:submissions_submission_changelist") in sidebar
    assert reverse("admin:matches_match_changelist") not in sidebar
    assert helper.get(reverse("admin:matches_match_csv")).status_code == 403


def test_it_rejects_acts_that_need_another_role_and_changes_nothing(helper: Client, rows: Any) -> None:
    submission = rows.more()
    page = reverse("admin:submissions_submission_disqualify", args=[submission.pk])
    refused = helper.post(page, {"confirmed": "yes", "reason": "mine"})
    assert refused.status_code == 403
    assert "Nothing was changed, because your roles do not allow this" in refused.content.decode()
    objection = reverse("admin:rounds_objection_uphold", args=[Objection.objects.get().pk])
    assert helper.post(objection, {"confirmed": "yes", "reason": "mine"}).status_code == 403
    submission.refresh_from_db()
    assert submission.disqualified_at is None
    assert Objection.objects.get().state == Objection.State.OPEN


def test_a_role_in_one_competition_allows_nothing_in_another(helper: Client, competition: Competition) -> None:
    other = Competition.objects.create(
        slug="letters", title="Letters", starts_at=competition.starts_at, ends_at=competition.ends_at,
        created_at=competition.created_at,
    )  # fmt: skip
    Organiser.objects.create(competition=other, user=User.objects.get(username="henry"), role=OrganiserRole.ORGANISER)
    own = competition.tracks.get(name="model")
    page = reverse("admin:competitions_track_change", args=[own.pk])
    assert not helper.get(page).context["has_change_permission"]
    assert helper.post(page, {"title": "Mine", "quota": 9}).status_code == 403
    assert Track.objects.get(pk=own.pk).title == own.title
    choices = helper.get(reverse("admin:competitions_freezewindow_add")).context["adminform"].form.fields["competition"]
    assert list(choices.queryset) == [other]
    rounds = helper.get(reverse("admin:rounds_round_add")).context["form"].fields["competition"]
    assert list(rounds.queryset) == [other]


def test_an_action_on_a_list_leaves_out_rows_that_the_role_does_not_cover(helper: Client, rows: Any) -> None:
    """Henry judges another competition, so that the list offers the action."""
    submission = rows.more()
    own = Competition.objects.get()
    other = Competition.objects.create(
        slug="letters", title="Letters", starts_at=own.starts_at, ends_at=own.ends_at, created_at=own.created_at
    )
    Organiser.objects.create(competition=other, user=User.objects.get(username="henry"), role=OrganiserRole.JUDGE)
    form = {"action": "disqualify", "_selected_action": [submission.pk], "confirmed": "yes", "reason": "mine"}
    refused = helper.post(reverse("admin:submissions_submission_changelist"), form, follow=True)
    assert "Your role does not allow this in the competition of 1 of the rows." in refused.content.decode()
    submission.refresh_from_db()
    assert submission.disqualified_at is None


def test_a_role_that_is_taken_away_in_mid_form_gives_a_message_and_changes_nothing(
    as_organiser: Client, olga: User, competition: Competition
) -> None:
    track = competition.tracks.get(name="model")
    page = reverse("admin:competitions_track_change", args=[track.pk])
    shown = as_organiser.get(page).context["adminform"].form
    form = {name: value for name, value in shown.initial.items() if value is not None} | {"quota": 77}
    Organiser.objects.filter(user=olga).update(role=OrganiserRole.HELPER)
    for _ in range(2):
        refused = as_organiser.post(page, form | {"baselines": "[]", "initial-baselines": "[]"})
        assert refused.status_code == 403
        assert "A role may have been taken away while the page was open" in refused.content.decode()
        Organiser.objects.filter(user=olga).delete()
    assert Track.objects.get(pk=track.pk).quota == track.quota
    added = reverse("admin:competitions_announcement_add")
    assert "Nothing was changed" in as_organiser.post(added, {"title": "News"}).content.decode()
    assert not Announcement.objects.exists()
    assert not Event.objects.exists()
    window = FreezeWindow.objects.create(
        competition=competition, starts_at=competition.starts_at, ends_at=competition.ends_at, reason="a round"
    )
    gone = as_organiser.post(reverse("admin:competitions_freezewindow_delete", args=[window.pk]), {"post": "yes"})
    assert "Nothing was changed" in gone.content.decode()
    assert FreezeWindow.objects.exists()


def test_staff_without_a_role_see_an_empty_admin(client: Client, charlie: User, rows: Any) -> None:
    rows.more()
    charlie.is_staff = True
    charlie.save()
    client.force_login(charlie)
    index = client.get(reverse("admin:index"))
    assert index.status_code == 200
    assert "Digits" not in index.content.decode()
    links = [item for group in index.context["sidebar_navigation"] for item in group["items"]]
    assert not [item for item in links if item["has_permission"]]


ROLES = reverse("admin:competitions_organiser_changelist")


def test_an_owner_grants_a_role_by_user_name_and_takes_it_away(
    as_organiser: Client, olga: User, competition: Competition, charlie: User
) -> None:
    Organiser.objects.filter(user=olga).update(role=OrganiserRole.OWNER)
    form = as_organiser.get(f"{ROLES}add/").content.decode()
    assert "Helper: sees the competition before it is public" in form
    granted = as_organiser.post(
        f"{ROLES}add/", {"competition": competition.pk, "user_name": "charlie", "role": "judge"}
    )
    assert granted.status_code == 302
    row = Organiser.objects.get(user=charlie)
    assert row.role == OrganiserRole.JUDGE
    page = f"{ROLES}{row.pk}/change/"
    as_organiser.post(page, {"role": "helper", "initial-role": "judge"})
    late = as_organiser.post(page, {"role": "owner", "initial-role": "judge"}, follow=True)
    assert "charlie is helper of Digits now" in late.content.decode()
    page = f"{ROLES}{olga.organiser_roles.get().pk}/hand_over/"
    handed = as_organiser.post(page, {"confirmed": "yes", "to": "charlie", "reason": "Holidays."})
    assert [str(each) for each in get_messages(handed.wsgi_request)][-1] == "1 of 1 handed over."
    assert dict(Organiser.objects.values_list("user__username", "role")) == {"olga": "organiser", "charlie": "owner"}


def test_it_rejects_names_of_nobody_and_the_removal_of_the_last_owner(
    as_organiser: Client, olga: User, competition: Competition
) -> None:
    Organiser.objects.filter(user=olga).update(role=OrganiserRole.OWNER)
    own = olga.organiser_roles.get()
    refused = as_organiser.post(f"{ROLES}add/", {"competition": competition.pk, "user_name": "nobody", "role": "judge"})
    assert "no active account has the user name nobody" in str(refused.context["adminform"].form.errors["user_name"])
    for page, data in {
        f"{ROLES}{own.pk}/delete/": {"post": "yes"},
        f"{ROLES}{own.pk}/change/": {"role": "judge", "initial-role": "owner"},
        ROLES: {"action": "delete_selected", "_selected_action": [own.pk], "post": "yes"},
    }.items():
        assert "olga is the last owner of Digits" in as_organiser.post(page, data, follow=True).content.decode(), page
    assert Organiser.objects.get().role == OrganiserRole.OWNER
    assert not Event.objects.exists()
