"""An organiser's season in a real browser, without a shell, for a competition of each format."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from celery import current_app
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse
from PIL import Image
from playwright.sync_api import Browser, FilePayload, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.services import create_team
from competitions.models import Competition, Organiser, UploadedDataSet
from competitions.services import enter
from competitions.uploaded_data_sets import prepare_data_sets, request_data_set
from core import worker_notifications
from core.roles import OrganiserRole
from rounds.models import Objection, Round
from rounds.objections.filing import file_objection
from rounds.running import lifecycle
from submissions import quota_ledger
from submissions.models import QuotaSlot, Submission
from tests.browser import opened, problems_of, started_browser
from tests.journeys.sites import networks_of_host
from tests.platform.conftest import FakeClock
from tests.platform.formats.conftest import submit_ready
from tests.platform.formats.simulated_work import sweep_and_play
from tests.platform.formats.test_conformance import NAMES

pytestmark = pytest.mark.django_db(transaction=True)

CHANGED = {"query": ("query_budget", "200"), "transfer": ("batch_images", "10"), "curves": ("budget_l2", "2.0")}
"""A rule of each format, and a value that is not its default."""

REASON = "As the rules say."

WITH_FIELDS = ("Publish", "Release")
"""Acts on lists that ask for more than a reason: the pages of all others are alike."""


@pytest.fixture(scope="module")
def browser(shared_folder: Path) -> Iterator[Browser]:
    """One browser for all formats, whose connections nobody drops."""
    with networks_of_host(shared_folder), started_browser() as started, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # its driver has an event loop in this thread
        yield started


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A page of a site whose workers do what they are notified of when the test lets them."""
    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: None)
    current_app.loader.import_default_modules()  # as a worker does when it starts
    with opened(browser, live_server.url, width=1280) as shown:
        yield shown


class Desk:
    """What an organiser sees and does in the admin, of which axe-core checks each kind of page once."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._checked: set[str] = set()

    def sign_in(self, user: User) -> None:
        """Continue as somebody."""
        client = Client()
        client.force_login(user)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        self.page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": self._origin}])

    @cached_property
    def _origin(self) -> str:
        self.page.goto("/healthz")
        return self.page.url

    def open(self, name: str, *arguments: object) -> None:
        """Open a page of the admin."""
        self.page.goto(reverse(f"admin:{name}", args=arguments))
        self.check()

    def press(self, title: str) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=title, exact=True).click()
        self.check()

    def follow(self, title: str) -> None:
        """Follow a link: the one in the page rather than the one above it."""
        self.page.get_by_role("link", name=title, exact=True).last.click()
        self.check()

    def fill(self, **values: str) -> None:
        """Fill in fields of a form."""
        for name, value in values.items():
            self.page.fill(f"[name={name}]", value)

    def choose(self, **values: str) -> None:
        """Choose from lists of a form."""
        for name, value in values.items():
            self.page.select_option(f"select[name={name}]", value)

    def act_on(self, keys: Sequence[int], title: str, *, action: str = "", part: Sequence[str] = ()) -> None:
        """Act on rows of the list that is shown, with a reason, and read that it is done to all of them."""
        for key in keys:
            self.page.check(f"input.action-select[value='{key}']")
        self.choose(action=action or title.lower())  # shown by a script, once a row is checked
        self.press("Run")
        for each in part:
            self.page.check(f"input[name=part][value={each}]")
        self.confirm(title, count=len(keys))

    def confirm(self, title: str, *, count: int) -> None:
        """Give the reason that the page of an act asks for, confirm, and read that it is done."""
        self.fill(reason=REASON)
        self.press(title)
        self.reads(f"{count} of {count}")

    def reads(self, text: str) -> None:
        """Read a text on the page."""
        expect(self.page.get_by_text(text).first).to_be_visible()

    def check(self) -> None:
        """See that axe-core finds nothing serious, once for each kind of page."""
        act = next((each for each in WITH_FIELDS if self.page.title().startswith(each)), "")
        kind = re.sub(r"\d+", "N", self.page.url.partition("?")[0]) + act
        if kind not in self._checked:
            self._checked.add(kind)
            assert problems_of(self.page) == [], kind


def archive(number: int) -> bytes:
    """Forty images of 8 x 8 pixels of each of two classes, others for each number."""
    random, packed = np.random.default_rng(number), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        for each in range(80):
            image = io.BytesIO()
            Image.fromarray(random.integers(0, 256, (8, 8, 3), np.uint8)).save(image, "png")
            files.writestr(f"{('heron', 'owl')[each % 2]}/{each}.png", image.getvalue())
    return packed.getvalue()


def upload(desk: Desk, by: User) -> None:
    """Upload images for each competition: those of the first one in the browser."""
    first, *others = NAMES
    for number, name in enumerate(others):
        packed = SimpleUploadedFile("images.zip", archive(number))
        request_data_set(name=name, licence="CC BY 4.0, from us", archive=packed, by=by)
    desk.open("competitions_uploadeddataset_add")
    desk.fill(name=first, licence="CC BY 4.0, from us")
    content: FilePayload = {"name": "images.zip", "mimeType": "application/zip", "buffer": archive(len(others))}
    desk.page.set_input_files("input[name=archive]", content)
    desk.press("Upload")
    desk.reads("A worker prepares its images")
    prepare_data_sets()
    desk.page.reload()
    desk.reads("80 of 80")
    desk.follow(first)


def make_competitions(desk: Desk) -> list[Competition]:
    """Make a competition of uploaded images in each format."""
    for name in NAMES:
        desk.open("competitions_uploadeddataset_change", UploadedDataSet.objects.get(name=name).pk)
        desk.follow("Make a competition")
        desk.choose(format=name)
        desk.fill(starts_at="2026-11-01T12:00", ends_at="2027-11-01T12:00")
        desk.press("Preview")
        desk.reads(f"{name.capitalize()} ({name}): a new competition")
        desk.press("Create the competition")
        desk.reads(f"{name.capitalize()} is imported.")
        desk.reads("Hidden: only its organisers see this competition")
    return list(Competition.objects.order_by("pk"))


def appoint(desk: Desk, olga: User, competitions: Sequence[Competition]) -> None:
    """Make Olga the owner of the competitions: of the first one in the browser."""
    first, *others = competitions
    desk.open("competitions_organiser_add")
    desk.choose(competition=str(first.pk))
    desk.fill(user_name=olga.username)
    desk.page.check("input[name=role][value=owner]")
    desk.press("Save")
    for each in others:
        Organiser.objects.create(competition=each, user=olga, role=OrganiserRole.OWNER)


def make_public(desk: Desk, competition: Competition, *captains: User) -> None:
    """Make a competition public, in which teams submit."""
    desk.open("competitions_competition_change", competition.pk)
    desk.page.check("input[name=public]")
    desk.fill(objection_days="3")
    desk.press("Save and continue editing")
    for captain in captains:
        team = create_team(
            slug=f"{captain.username}-{competition.slug}",
            name=f"{captain.username} {competition.slug}",
            captain=captain,
        )
        entry = enter(team=team, competition=competition)
        for track in competition.tracks.all():
            submit_ready(entry, track, captain)


def change_rules(desk: Desk, competition: Competition) -> None:
    """Change a rule of a competition, after a preview of what that costs."""
    desk.open("competitions_competition_change", competition.pk)
    desk.follow("Change the rules")
    desk.fill(**dict([CHANGED[competition.format]]))
    desk.press("Preview")
    count = Submission.objects.filter(repository__track__competition=competition).count()
    desk.reads(f"{count} submissions are evaluated again: about 1 min of worker time.")
    desk.fill(reason="Time.")
    desk.press("Change the rules")
    desk.reads("Version 2 of the rules is in force.")


def judge(desk: Desk, submissions: QuerySet[Submission]) -> None:
    """Read why the site failed submissions, refund and retry them; disqualify and reinstate them."""
    ready = list(submissions)
    keys = [each.pk for each in ready]
    ended = {"state": "rejected", "cause": "platform", "reason": "fault", "player": None}
    Submission.objects.filter(pk__in=keys).update(**ended, problem="Platform error: the disk is full.")
    QuotaSlot.objects.filter(submission__in=keys).update(reason=quota_ledger.AWAITS_ORGANISER)
    desk.open("index")
    desk.reads(f"Submissions ended by platform errors: {len(keys)}")
    desk.open("submissions_submission_change", keys[0])
    desk.reads("Platform error: the disk is full.")
    desk.reads("an organiser decides on its refund")
    desk.open("submissions_submission_changelist")
    desk.act_on(keys, "Refund slot", action="refund")
    desk.act_on(keys, "Retry")
    for each in ready:  # as workers that build them again
        each.save()
    desk.page.reload()
    desk.act_on(keys, "Disqualify")
    desk.act_on(keys, "Reinstate")


def play_rounds(
    desk: Desk, competitions: Sequence[Competition], kind: str, the_clock: FakeClock, by: User
) -> list[Round]:
    """Plan a round in each competition; publish and release them, and if they are finals, freeze and start them."""
    begins, ends = the_clock.at + timedelta(hours=1), the_clock.at + timedelta(hours=3)
    for each in competitions:
        source = each.sample_sets.get(name="final" if kind == "final" else "test")
        desk.open("rounds_round_add")
        desk.choose(competition=str(each.pk), kind=kind, source=str(source.pk))
        desk.fill(title=f"The {kind}", samples="4", reason="It is time.")
        desk.fill(starts_at_0=f"{begins:%Y-%m-%d}", starts_at_1=f"{begins:%H:%M:%S}")
        desk.fill(ends_at_0=f"{ends:%Y-%m-%d}", ends_at_1=f"{ends:%H:%M:%S}")
        desk.press("Plan the round")
        desk.reads("is planned. The commitment to its samples is public.")
    the_clock.at = begins + timedelta(seconds=1)
    rounds = list(Round.objects.filter(kind=kind).order_by("pk"))
    keys = [each.pk for each in rounds]
    if kind == "final":
        desk.open("rounds_round_changelist")
        desk.act_on(keys, "Freeze")
        desk.act_on(keys, "Start")
        sweep_and_play()
        for key in keys:
            desk.open("rounds_round_change", key)
            desk.reads("Check the preview, then publish the result.")
            desk.reads("Standings")
            expect(desk.page.locator("#content-main").get_by_role("link", name="Publish", exact=True)).to_be_visible()
    else:  # the site freezes them by itself
        sweep_and_play()
        for frozen in rounds:
            lifecycle.start(round_=frozen, by=by)
        sweep_and_play()
    desk.open("rounds_round_changelist")
    desk.act_on(keys, "Publish")
    desk.act_on(keys, "Release", part=["bundle", "images"])
    for played in rounds:
        played.window.refresh_from_db()
        assert played.window.ends_at == the_clock.at
        assert sorted(played.releases.values_list("part", flat=True)) == ["bundle", "images"]
    return rounds


@pytest.mark.slow(60)
@pytest.mark.timeout(900)
def test_a_season_of_each_format_needs_no_shell(
    page: Page, root_user: User, alice: User, bob: User, the_clock: FakeClock
) -> None:
    """From an archive of images to the announced winners; what a list offers is done to all formats at once.

    A development round is in the first one alone: an organiser does to it what they do to a final.
    """
    desk, olga = Desk(page), User.objects.create_user("olga", "olga@example.org")
    desk.sign_in(root_user)
    upload(desk, root_user)
    competitions = make_competitions(desk)
    appoint(desk, olga, competitions)
    desk.sign_in(olga)
    for each in competitions:
        make_public(desk, each, alice, bob)
    sweep_and_play()
    for each in competitions:
        change_rules(desk, each)
    sweep_and_play()
    judge(desk, Submission.objects.filter(submitted_by=alice, repository__track__name__in=("model", "defence")))
    play_rounds(desk, competitions[:1], "development", the_clock, olga)
    finals = play_rounds(desk, competitions, "final", the_clock, olga)

    objections = [file_objection(round_=each, by=bob, text="Our model was slow on your host.") for each in finals]
    desk.open("rounds_objection_changelist")
    desk.act_on([each.pk for each in objections], "Reject")
    assert set(Objection.objects.values_list("state", "answer")) == {("rejected", REASON)}
    desk.open("competitions_announcement_add")
    desk.choose(competition=str(competitions[0].pk))
    desk.fill(title="The winners", text="Congratulations!")
    desk.press("Save")
    page.goto(reverse("pages:news", args=[competitions[0].slug]))
    desk.reads("The winners")
    desk.open("competitions_competition_change", competitions[0].pk)
    page.locator("a:visible").filter(has_text="More").first.click()
    page.get_by_role("link", name="Delete or archive").click()
    desk.fill(slug=competitions[0].slug)
    desk.confirm("Delete or archive", count=1)
    competitions[0].refresh_from_db()
    assert competitions[0].archived_at is not None
