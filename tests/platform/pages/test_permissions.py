"""Permissions of every URL of the pages for every role, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AccessToken, Invitation, Team, User
from competitions.models import Competition, Organiser, Page, SampleSet
from competitions.organiser_pages import announce
from competitions.terms import publish_terms
from core import clock, object_store
from core.roles import RIGHTS, OrganiserRole, Right
from formats.query.challenges.models import Challenge
from formats.query.matches.models import Match
from pages.urls import urlpatterns
from rounds.models import Objection, Release, Round, RoundEntry
from submissions.models import Player, Submission
from webhooks.services import add_team_webhook, ask_for_test

ROLES = ("anonymous", "charlie", "bob", "olga")


class Row(NamedTuple):
    """A URL by name, its request, and the status for each role, in the order of ROLES."""

    name: str
    args: tuple[str, ...]
    method: str
    statuses: tuple[int, int, int, int]


EVERYONE = (200, 200, 200, 200)
INSIDE = (403, 403, 200, 200)
"""Bob is a member, Olga organises."""
CAPTAIN = (302, 403, 403, 403)
"""None of them is Alice."""
SIGNED_IN = (302, 200, 200, 200)
MEMBERS_ACT = (302, 403, 302, 403)
"""302: to the login page, and back to the page after the act."""

INVITED_ACT = (302, 302, 404, 404)
"""Charlie is invited into the Owls."""

TABLE = [
    Row("home", (), "get", EVERYONE),
    Row("competitions", (), "get", EVERYONE),
    Row("leaderboards", (), "get", EVERYONE),
    Row("teams", (), "get", EVERYONE),
    Row("search", (), "get", EVERYONE),
    Row("docs", (), "get", EVERYONE),
    Row("manual", ("scoring",), "get", EVERYONE),
    Row("manual", ("first-model",), "get", EVERYONE),
    Row("manual", ("nothing",), "get", (404, 404, 404, 404)),
    Row("manual", ("operating",), "get", EVERYONE),
    Row("manual", ("decisions/0001-only-queried-images-count",), "get", EVERYONE),
    Row("manual_search", (), "get", EVERYONE),
    Row("manual_image", ("home.webp",), "get", EVERYONE),
    Row("manual_image", ("take_screenshots.py",), "get", (404, 404, 404, 404)),
    *(
        Row(name, arguments, "get", (404, 404, 404, 404))  # no kit; tests of it are in test_kit.py
        for name, arguments in (
            ("kit", ()),
            ("kit_requirements", ()),
            ("kit_requirements_players", ()),
            ("kit_pins", ()),
            ("kit_index", ()),
            ("kit_project", ("gauntlet-arena",)),
            ("kit_file", ("0123456789abcdef", "gauntlet_arena-0.1.0-py3-none-any.whl")),
        )
    ),
    Row("person", ("name of bob",), "get", EVERYONE),
    Row("person", ("name of charlie",), "get", (404, 200, 404, 404)),  # in no team
    Row("person", ("nobody",), "get", (404, 404, 404, 404)),
    Row("competition", ("digits",), "get", EVERYONE),
    Row("rules", ("digits",), "get", EVERYONE),
    Row("page", ("digits", "prizes"), "get", EVERYONE),
    Row("page", ("digits", "imprint"), "get", EVERYONE),  # the site's
    Row("page", ("digits", "conduct"), "get", (404, 404, 404, 404)),  # nobody wrote it
    Row("site_page", ("imprint",), "get", EVERYONE),
    Row("site_page", ("prizes",), "get", (404, 404, 404, 404)),
    Row("terms", ("digits",), "get", EVERYONE),
    Row(
        "terms_accept", ("digits",), "post", (302, 404, 302, 404)
    ),  # Bob has a team; the service refuses who is no captain
    Row("data", ("digits",), "get", EVERYONE),
    Row("citation", ("digits",), "get", EVERYONE),
    Row("citation_file", ("digits",), "get", EVERYONE),
    Row("news", ("digits",), "get", EVERYONE),
    Row("feed", ("digits",), "get", EVERYONE),
    Row("track_feed", ("digits", "model"), "get", EVERYONE),
    Row("track_feed", ("digits", "nothing"), "get", (404, 404, 404, 404)),
    Row("team_feed", ("owls",), "get", EVERYONE),
    Row("calendar_ics", ("digits",), "get", EVERYONE),
    Row("rules_diff", ("digits", "1", "1"), "get", EVERYONE),
    Row("board", ("digits", "model"), "get", EVERYONE),
    Row("board_csv", ("digits", "model"), "get", EVERYONE),
    Row("round", ("digits", "1"), "get", EVERYONE),
    Row("round_file", ("digits", "1", "bundle"), "get", EVERYONE),
    Row("round_file", ("digits", "1", "images"), "get", (404, 404, 404, 404)),
    Row("objection_new", ("digits", "1"), "get", (302, 403, 200, 403)),
    Row("objection_new", ("digits", "2"), "get", (302, 403, 302, 403)),  # not published: back to its page
    Row("objection_new", ("digits", "1"), "post", (302, 403, 200, 403)),  # it has no text
    Row("objection_withdraw", ("digits", "1", "objection"), "post", (302, 404, 302, 404)),
    Row("objection_withdraw", ("digits", "2", "objection"), "post", (302, 404, 404, 404)),  # of another round
    Row("figure_csv", ("digits", "1", "robustness"), "get", (404, 404, 404, 404)),  # nobody has a score
    Row("figure_csv", ("digits", "2", "robustness"), "get", (404, 404, 404, 404)),  # not published
    Row("figure_svg", ("digits", "1", "robustness"), "get", (404, 404, 404, 404)),
    Row("figure_svg", ("digits", "2", "robustness"), "get", (404, 404, 404, 404)),
    Row("signing_key", (), "get", EVERYONE),
    Row("signing_keys", (), "get", EVERYONE),
    Row("team", ("owls",), "get", EVERYONE),
    Row("webhooks", ("owls",), "get", CAPTAIN),
    Row("webhooks", ("owls",), "post", CAPTAIN),
    Row("webhook", ("owls", "webhook"), "get", CAPTAIN),
    *(
        Row(name, ("owls", "webhook", *more), "post", CAPTAIN)
        for name, more in [
            *((name, ()) for name in ("webhook_test", "webhook_enable", "webhook_remove")),
            ("webhook_send_again", ("delivery",)),
        ]
    ),
    Row("submission", ("scored",), "get", EVERYONE),
    Row("submission", ("rejected",), "get", EVERYONE),
    Row("submission", ("building",), "get", EVERYONE),
    Row("smoke_picture", ("rejected", "1", "0", "clean"), "get", (403, 403, 404, 404)),  # it keeps none
    Row("challenge", ("challenge",), "get", INSIDE),
    Row("challenge_new", ("scored",), "get", (302, 403, 200, 403)),
    Row("challenge_image", ("challenge", "0", "clean"), "get", INSIDE),
    Row("match", ("match",), "get", EVERYONE),
    Row("match", ("hidden match",), "get", (404, 404, 404, 200)),
    Row("match_table", ("match", "success"), "get", EVERYONE),
    *(
        Row("match_table", ("match", name), "get", (404, 404, 404, 200))
        for name in ("samples", "queries", "budgets", "distribution")
    ),
    Row("match_table", ("match", "other"), "get", (404, 404, 404, 404)),
    Row("matrix", ("digits", "untargeted"), "get", EVERYONE),
    Row("matrix", ("digits", "model"), "get", (404, 404, 404, 404)),
    Row("matrix_csv", ("digits", "targeted"), "get", EVERYONE),
    Row("transfer_pair", ("digits", "1", "2"), "get", (404, 404, 404, 404)),  # another format
    Row("round_pair", ("digits", "1", "1", "2"), "get", (404, 404, 404, 404)),  # another format
    Row("round_image", ("digits", "1", "1", "0", "clean"), "get", (404, 404, 404, 404)),  # another format
    *(
        Row(name, ("digits", "1", "1", *more), "get", (404, 404, 404, 404))  # another format
        for name, more in [("best_known", ()), ("best_known_csv", ()), ("proof_images", ("1",))]
    ),
    Row("proof_upload", ("digits", "1", "1"), "post", (302, 404, 404, 404)),
    Row("round_matrix", ("digits", "1", "untargeted"), "get", EVERYONE),
    Row("round_matrix", ("digits", "2", "untargeted"), "get", (404, 404, 404, 404)),
    Row("round_matrix_csv", ("digits", "1", "targeted"), "get", EVERYONE),
    Row("round_matrix_csv", ("digits", "2", "targeted"), "get", (404, 404, 404, 404)),
    Row("round_gallery", ("digits", "1", "untargeted"), "get", (404, 404, 404, 200)),  # its images are not released
    Row("round_gallery", ("digits", "2", "untargeted"), "get", (404, 404, 404, 404)),
    Row("development_archive", ("digits",), "get", EVERYONE),
    Row("development_image", ("digits", "0"), "get", EVERYONE),
    Row("development_image", ("digits", "99"), "get", (404, 404, 404, 404)),
    Row("curves", ("digits", "model"), "get", EVERYONE),
    Row("curves_csv", ("digits", "model"), "get", (404, 404, 404, 404)),  # the address names no submission
    Row("round_bracket", ("digits", "1", "model"), "get", EVERYONE),
    Row("round_bracket", ("digits", "2", "model"), "get", (404, 404, 404, 404)),
    Row("share_competition", ("digits",), "get", EVERYONE),
    Row("share_board", ("digits", "model"), "get", EVERYONE),
    Row("share_round", ("digits", "1"), "get", EVERYONE),
    Row("share_round", ("digits", "2"), "get", EVERYONE),
    Row("history", ("digits", "model"), "get", EVERYONE),
    Row("history_table", ("digits", "model", "best"), "get", (404, 404, 404, 404)),  # nobody has a score
    Row("history_drawing", ("digits", "model", "best"), "get", (404, 404, 404, 404)),
    Row("team_history", ("owls", "model", "score"), "get", (404, 404, 404, 404)),
    Row("match_curves", ("digits",), "get", EVERYONE),
    Row("match_curves_csv", ("digits", "success"), "get", (404, 404, 404, 404)),  # nor a match
    Row("match_image", ("match", "1", "clean"), "get", (404, 404, 404, 200)),
    Row("match_image", ("match", "1", "perturbed"), "get", (404, 404, 404, 200)),
    Row("match_image", ("match", "1", "difference-10"), "get", (404, 404, 404, 200)),
    Row("status", (), "get", EVERYONE),
    Row("logo", (), "get", (404, 404, 404, 404)),  # nor a logo or a colour
    Row("brand_style", (), "get", (404, 404, 404, 404)),
    Row("share_site", (), "get", EVERYONE),
    Row("time_zone", (), "get", EVERYONE),
    Row("time_zone", (), "post", (302, 302, 302, 302)),
    Row("icon", (), "get", (302, 302, 302, 302)),
    Row("robots", (), "get", EVERYONE),
    Row("sitemap", (), "get", EVERYONE),
    Row("security", (), "get", (404, 404, 404, 404)),  # the test settings have no contact
    Row("log_after", ("building",), "get", INSIDE),
    Row("log_file", ("building",), "get", INSIDE),
    # who is in a team gets to that
    *(Row("team_new", ("digits",), method, (302, 200, 302, 200)) for method in ("get", "post")),
    Row("account", (), "get", SIGNED_IN),
    Row("account", (), "post", SIGNED_IN),
    *(Row("device", (), method, SIGNED_IN) for method in ("get", "post")),
    Row("withdraw", ("building",), "post", MEMBERS_ACT),
    Row("challenge_request", ("scored",), "post", MEMBERS_ACT),
    Row("choose", ("scored",), "post", MEMBERS_ACT),
    Row("choose_newest", ("owls", "model"), "post", MEMBERS_ACT),
    Row("submit", ("owls", "model"), "post", MEMBERS_ACT),
    Row("invite", ("owls",), "post", MEMBERS_ACT),
    Row("invitation_withdraw", ("owls", "invitation"), "post", MEMBERS_ACT),
    Row("invitation_decline", ("invitation",), "post", INVITED_ACT),
    Row("invitation_accept", ("invitation",), "post", INVITED_ACT),
    Row("member_remove", ("owls", "alice"), "post", MEMBERS_ACT),
    Row("member_remove", ("owls", "bob"), "post", MEMBERS_ACT),
    Row("token_revoke", ("token of alice",), "post", (302, 404, 404, 404)),
    *(
        Row(name, args, "get", (405, 405, 405, 405))
        for name, args in [
            ("proof_upload", ("digits", "1", "1")),
            ("objection_withdraw", ("digits", "1", "objection")),
            ("withdraw", ("building",)),
            ("challenge_request", ("scored",)),
            ("choose", ("scored",)),
            ("choose_newest", ("owls", "model")),
            ("terms_accept", ("digits",)),
            ("submit", ("owls", "model")),
            ("invite", ("owls",)),
            ("invitation_withdraw", ("owls", "invitation")),
            ("invitation_accept", ("invitation",)),
            ("invitation_decline", ("invitation",)),
            ("member_remove", ("owls", "alice")),
            ("token_revoke", ("token of alice",)),
            *((name, ("owls", "webhook")) for name in ("webhook_test", "webhook_enable", "webhook_remove")),
            ("webhook_send_again", ("owls", "webhook", "delivery")),
        ]
    ),
]
OPEN = {
    *(
        "home",
        "competitions",
        "leaderboards",
        "teams",
        "search",
        "docs",
        "manual",
        "manual_search",
        "manual_image",
        "status",
        "icon",
        "robots",
        "sitemap",
        "security",
    ),
    *("account", "device", "token_revoke", "signing_key", "signing_keys", "time_zone"),
    *("site_page", "logo", "brand_style", "share_site"),
    *("kit", "kit_requirements", "kit_requirements_players", "kit_pins", "kit_index", "kit_project", "kit_file"),
}
"""Addresses that belong to no competition."""

LISTS = ("/", "/competitions", "/leaderboards", "/teams", "/search?q=owls", "/search?q=digits", "/search?q=owl+1")
"""Pages that list what is in the competitions that the user sees."""

TEXTS = [
    # page, argument, text, and the roles that see it
    ("submission", "rejected", "rejected", ROLES),
    ("submission", "rejected", "is right on 2 of 10 samples", ("bob", "olga")),
    ("submission", "rejected", "Train it longer", ("bob", "olga")),
    ("submission", "rejected", "printed 3", ("bob", "olga")),
    ("submission", "rejected", "starts in time", ("bob", "olga")),
    ("submission", "rejected", "submission-2", ("bob", "olga")),
    ("submission", "building", "Time limit:", ("bob", "olga")),
    ("submission", "building", "Yes, withdraw", ("bob",)),
    ("submission", "scored", "1.25<", ROLES),
    ("submission", "scored", "Boundary attack", ROLES),
    ("submission", "scored", "0000000001", ("bob", "olga")),
    ("submission", "scored", "Disqualified on", ROLES),
    ("submission", "scored", "it remembers images", ("bob", "olga")),
    ("submission", "scored", "Place 1 in", ROLES),
    ("submission", "building", "Frozen in", ("bob", "olga")),
    ("submission", "scored", "gaussian-noise", ("bob", "olga")),
    ("match", "match", "Boundary attack", ROLES),
    ("match", "match", "Median distance", ROLES),
    ("match", "match", "987654321", ()),
    ("match", "match", "replayed images got", ("olga",)),
    ("match", "match", "CSV of the samples", ("olga",)),
    ("match", "match", "Distance against queries", ("olga",)),
    ("match", "match", "The samples of this match are secret", ("anonymous", "charlie", "bob")),
    ("round", "digits 1", "Objection", ROLES),
    ("round", "digits 1", "an open objection", ("bob", "olga")),
    ("round", "digits 1", "Object to the result", ("bob",)),
    ("round", "digits 1", "Yes, withdraw", ("bob",)),
    ("team", "owls", "Place 1 in", ROLES),
    ("team", "owls", "Frozen in", ("bob", "olga")),
    ("team", "owls", "alice", ROLES),
    ("team", "owls", "/git/owls/model.git", ("bob", "olga")),
    ("team", "owls", "slots left", ("bob", "olga")),
    ("team", "owls", "submission-1,", ("bob", "olga")),
    ("team", "owls", "Invite by user name", ()),
    ("team", "owls", "invites you", ("charlie",)),
    ("home", "", "invites you", ("charlie",)),
    ("account", "", "invites you", ("charlie",)),
    ("team", "owls", "Webhooks", ()),  # Alice is the captain
    ("team", "owls", "Leave the team", ("bob",)),
    ("team", "owls", "of the terms is not accepted", ("bob", "olga")),
    ("terms", "digits", "Be fair.", ROLES),
    ("terms", "digits", "The Owls has not accepted these terms", ("bob",)),
    ("terms", "digits", "Accept for", ()),  # Alice is the captain
    ("news", "digits", "The first news", ROLES),
    ("news", "digits", "A surprise", ("olga",)),
    ("feed", "digits", "The first news", ROLES),
    ("feed", "digits", "A surprise", ()),
    ("competition", "digits", "A surprise", ()),
    ("data", "digits", "<dd>6</dd>", ROLES),
    ("account", "", "gtl_alice", ()),
]


@pytest.fixture
def keys(
    shown: dict[str, Submission],
    played_match: Match,
    planned: Round,
    alice: User,
    bob: User,
    charlie: User,
    olga: User,
) -> dict[str, str]:
    """Map the arguments of the table to parts of URLs."""
    token = AccessToken.objects.create(
        user=alice,
        name="laptop",
        scopes=["read"],
        digest="d" * 64,
        start="gtl_alice",
        created_at=alice.date_joined,
        expires_at=alice.date_joined + timedelta(days=9),
    )
    Submission.objects.filter(pk=shown["scored"].pk).update(
        disqualified_at=alice.date_joined, disqualified_for="it remembers images"
    )
    invitation = Invitation.objects.create(
        team=Team.objects.get(slug="owls"),
        username="charlie",
        user=charlie,
        invited_by=alice,
        made_at=alice.date_joined,
        expires_at=alice.date_joined + timedelta(days=9),
    )
    _play(planned, shown, olga)
    _write(planned.competition, olga)
    objection = Objection.objects.create(
        round=Round.objects.get(number=1), team=Team.objects.get(slug="owls"), text="This is an open objection.",
        made_at=planned.planned_at, made_by=bob,
    )  # fmt: skip
    numbers = {name: str(submission.pk) for name, submission in shown.items()}
    match = played_match.pk
    samples = SampleSet.objects.create(
        competition=planned.competition, name="development", purpose="development", source="digits", split="validation",
        count=6, target_seed=7, digest=played_match.sample_set.digest, class_names=list("0123456789"),
        imported_at=planned.planned_at,
    )  # fmt: skip
    played_match.pk, played_match.repetition = None, 1
    played_match.save()
    webhook, _ = add_team_webhook(
        entry=shown["scored"].repository.entry, address="https://bot.example/", events=["round.published"], by=alice
    )
    others = {"webhook": webhook.pk, "delivery": ask_for_test(webhook=webhook, by=alice).pk}
    challenge = Challenge.objects.create(
        submission=shown["scored"], by=bob, requested_at=planned.planned_at, opponent_track="untargeted",
        baseline="gaussian-noise", rules=played_match.rules, sample_set=samples, samples=6, seed=1,
    )  # fmt: skip
    others |= {"match": match, "hidden match": played_match.pk, "challenge": challenge.pk}
    others |= {
        "objection": objection.pk,
        "token of alice": token.pk,
        "invitation": invitation.pk,
        "alice": alice.pk,
        "bob": bob.pk,
    }
    names = {f"name of {name}": name for name in ("bob", "charlie")}
    return numbers | names | {name: str(key) for name, key in others.items()}


def _write(competition: Competition, by: User) -> None:
    """Write pages, terms, and an announcement that is published and one that is not yet."""
    at = competition.created_at
    Page.objects.create(competition=competition, name="prizes", text="A letter.", changed_at=at)
    Page.objects.create(name="imprint", text="The society.", changed_at=at)
    publish_terms(competition=competition, text="Be fair.", by=by)
    announce(competition=competition, title="The first news", text="Welcome.", published_at=at, by=by)
    announce(competition=competition, title="A surprise", text="Later.", published_at=competition.ends_at, by=by)


def _play(first: Round, shown: dict[str, Submission], by: User) -> None:
    """Publish the first round with its bundle, and freeze the submission that is being built in a second one."""
    first.state, first.state_since, first.objection_days = Round.State.PUBLISHED, clock.now(), 9
    first.save()
    Release.objects.create(
        round=first,
        part=Release.Part.BUNDLE,
        released_at=first.planned_at,
        released_by=by,
        content=object_store.put(b"{}\n"),
    )
    _enter(first, shown["scored"], place=1)
    first.pk, first.number, first.title, first.state = None, 2, "Round 2", Round.State.FROZEN
    for name in ("window", "sample_set"):
        row = getattr(first, name)
        row.pk, row.name = None, "round-2"
        row.save()
        setattr(first, name, row)
    first.save()
    _enter(first, shown["building"])


def _enter(round_: Round, submission: Submission, **result: int) -> None:
    track = submission.repository.track
    player = Player.objects.get_or_create(
        competition=round_.competition,
        track_name=track.name,
        digest=f"sha256:{submission.pk}",
        defaults={
            "title": submission.title,
            "command": [],
            "repository": submission.repository,
            "created_at": round_.planned_at,
        },
    )[0]
    RoundEntry.objects.create(
        round=round_, track=track, submission=submission, player=player, order=1, prior=1, **result
    )


def enter(client: Client, role: str) -> None:
    """Sign in as `role`."""
    if role != "anonymous":
        client.force_login(User.objects.get(username=role))


@pytest.fixture
def clients(keys: dict[str, str], settings: Settings) -> dict[str, Client]:
    """A client of each role. All are signed in before the first page is kept: a sign-in makes what is kept outdated."""
    settings.ANONYMOUS_REQUESTS = 0
    made = {role: Client() for role in ROLES}
    for role, client in made.items():
        enter(client, role)
    return made


def answers(clients: Mapping[str, Client], path: str) -> Iterator[tuple[str, Any]]:
    """Yield the answer of a page to each role; the public has read it before, so it may be kept."""
    clients["anonymous"].get(path).getvalue()  # an unread file would stay open
    for role, client in clients.items():
        answer = client.get(path)
        answer.getvalue()
        yield role, answer


def address(name: str, args: tuple[str, ...], keys: dict[str, str]) -> str:
    """Return the URL of a row."""
    return reverse(f"pages:{name}", args=[keys.get(arg, arg) for arg in args])


def test_the_table_names_every_address() -> None:
    assert {row.name for row in TABLE} == {str(pattern.name) for pattern in urlpatterns}


@pytest.mark.usefixtures("empty_errors")
@pytest.mark.slow(8)
def test_every_address_answers_each_role_with_the_status_of_the_table(
    clients: dict[str, Client], keys: dict[str, str]
) -> None:
    for row in (row for row in TABLE if row.method == "get"):
        for role, answer in answers(clients, address(row.name, row.args, keys)):
            assert answer.status_code == row.statuses[ROLES.index(role)], f"{row.name} {row.args} as {role}"
    for row in (row for row in TABLE if row.method == "post"):
        for role, status in zip(ROLES, row.statuses, strict=True):
            with transaction.atomic():
                answer = clients[role].post(address(row.name, row.args, keys))
                transaction.set_rollback(True)
            assert answer.status_code == status, f"post {row.name} {row.args} as {role}"


ORGANISERS_ONLY = {
    **dict.fromkeys([("match", "hidden match"), ("round_gallery", "digits")], Right.SEE_SECRETS),
    **dict.fromkeys([("match_table", "match"), ("match_image", "match")], Right.SEE_SECRETS),
    **dict.fromkeys([("log_after", "building"), ("log_file", "building")], Right.SEE),
    **dict.fromkeys([("challenge", "challenge"), ("challenge_image", "challenge")], Right.SEE),
}
"""What organisers see and strangers do not, by the name of its address and its first argument, and what it needs."""


def test_each_role_sees_of_what_only_organisers_see_what_it_allows(
    clients: dict[str, Client], keys: dict[str, str]
) -> None:
    charlie, olga = ROLES.index("charlie"), ROLES.index("olga")
    inside = [row for row in TABLE if row.statuses[olga] == 200 != row.statuses[charlie]]
    assert {(row.name, row.args[0]) for row in inside} == set(ORGANISERS_ONLY)
    for role in OrganiserRole:
        Organiser.objects.filter(user__username="olga").update(role=role)
        for row in inside:
            answer = clients["olga"].get(address(row.name, row.args, keys))
            answer.getvalue()
            allowed = ORGANISERS_ONLY[row.name, row.args[0]] in RIGHTS[role]
            assert (answer.status_code == 200) == allowed, f"{row.name} {row.args} as {role}"


def test_texts_are_visible_only_to_their_roles(clients: dict[str, Client], keys: dict[str, str]) -> None:
    for name, arg in dict.fromkeys((name, arg) for name, arg, _, _ in TEXTS):
        for role, answer in answers(clients, address(name, tuple(arg.split()), keys)):
            page = answer.content.decode()
            for text, readers in ((text, readers) for *page_of, text, readers in TEXTS if page_of == [name, arg]):
                assert (text in page) == (role in readers), f"{text!r} on {name} {arg} as {role}"


@pytest.mark.usefixtures("empty_errors")
def test_it_rejects_everyone_but_organisers_before_a_competition_is_public(
    clients: dict[str, Client], competition: Competition, keys: dict[str, str]
) -> None:
    Competition.objects.filter(pk=competition.pk).update(public=False)
    for role in ("anonymous", "charlie", "bob"):
        for row in TABLE:
            if row.name == "person":  # everyone sees the own page
                continue
            if row.name not in OPEN and row.statuses[ROLES.index(role)] not in {302, 405}:
                seen = clients[role].generic(row.method.upper(), address(row.name, row.args, keys)).status_code
                assert seen == 404, f"{row.method} {row.name} {row.args} as {role}"
    for page in LISTS:
        for role, answer in answers(clients, page):
            text = answer.text.split("</header>")[1]  # the header names the own teams
            assert ("Digits" in text or "The Owls" in text) == (role == "olga"), f"{page} as {role}"
    for name in ("bob", "alice"):
        for role, answer in answers(clients, f"/people/{name}"):
            assert answer.status_code == (200 if role in {"olga", name} else 404)
        for role, answer in answers(clients, f"/search?q={name}"):
            assert (f'<a href="/people/{name}">' in answer.text) == (role == "olga")


def test_it_rejects_a_post_without_a_csrf_token(keys: dict[str, str]) -> None:
    client = Client(enforce_csrf_checks=True)
    enter(client, "bob")
    for row in TABLE:
        if row.method == "post":
            assert client.post(address(row.name, row.args, keys)).status_code == 403, row.name


def test_it_rejects_a_member_who_removes_the_captain(client: Client, keys: dict[str, str], owls: Team) -> None:
    enter(client, "bob")
    client.post(address("member_remove", ("owls", "alice"), keys))
    assert owls.memberships.filter(user__username="alice").exists()
