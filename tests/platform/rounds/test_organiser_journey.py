"""An organiser's season in the admin alone: every act is a form that the site rendered, filled in and sent."""

from __future__ import annotations

import io
import re
import tomllib
import zipfile
from collections.abc import Mapping
from copy import deepcopy
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from PIL import Image

import demo
from accounts.models import Membership, User
from competitions.data_sets import prepare_data_sets
from competitions.models import Competition
from competitions.toml_text import written
from formats.query.leaderboards.tasks import sweep
from rounds.models import Objection, Round
from rounds.objections.filing import file_objection
from submissions import quota_ledger
from submissions.models import QuotaSlot, Submission
from tests.platform.rounds.conftest import RoundFixture

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock

DIGITS = tomllib.loads(Path(demo.__file__).with_name("digits.toml").read_text(encoding="utf-8"))


class Forms(HTMLParser):
    """The forms of a page that are sent by POST: their addresses, and their fields with the values they have."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []
        self._text: str | None = None
        self._select: str | None = None
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = given.get("method", "").lower() == "post"
            if self._inside:
                self.forms.append((given.get("action", ""), {}))
        if not self._inside:
            return
        fields, name, kind = self.forms[-1][1], given.get("name", ""), given.get("type")
        if tag == "option" and self._select and ("selected" in given or self._select not in fields):
            fields[self._select] = given.get("value", "")  # without a selected option, a browser sends the first
        elif tag == "select":
            self._select = name
        elif tag == "textarea":
            self._text, fields[name] = name, ""
        elif tag == "input" and name and (kind not in ("submit", "checkbox", "radio") or "checked" in given):
            fields[name] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        self._text = None if tag == "textarea" else self._text
        self._select = None if tag == "select" else self._select
        self._inside = self._inside and tag != "form"

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            # a browser leaves out the line break that follows the tag
            self.forms[-1][1][self._text] += data if self.forms[-1][1][self._text] else data.removeprefix("\n")


class Person:
    """Somebody at a browser without scripts."""

    def __init__(self, user: User) -> None:
        self.client = Client()
        self.client.force_login(user)
        self.address, self.page = "", ""

    def open(self, address: str) -> str:
        """Open a page; return its text."""
        self._show(self.client.get(address, follow=True), address)
        return self.page

    def follow(self, title: str) -> str:
        """Follow the link whose address ends with `title`."""
        addresses = [part.split('"')[0] for part in self.page.split('href="')[1:]]
        return self.open(next(each for each in addresses if each.endswith(title)))

    def send(self, values: Mapping[str, Any], *, having: str) -> str:
        """Fill in the form of this page that has the field `having`, and send it; return the text of the next page."""
        action, fields = next(each for each in Forms(self.page).forms if having in each[1])
        answer = self.client.post(action or self.address, {**fields, **values}, follow=True)
        self._show(answer, self.address)
        return self.page

    def _show(self, answer: Any, asked: str) -> None:
        assert answer.status_code == 200, asked
        self.address = answer.redirect_chain[-1][0] if answer.redirect_chain else asked
        self.page = answer.content.decode()


@pytest.fixture
def root(root_user: User) -> Person:
    """A superuser."""
    return Person(root_user)


def archive() -> SimpleUploadedFile:
    """Forty images of 8 x 8 pixels of each of two classes."""
    random = np.random.default_rng(1)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for number in range(80):
            image = io.BytesIO()
            Image.fromarray(random.integers(0, 256, (8, 8, 3), np.uint8)).save(image, "png")
            packed.writestr(f"{('heron', 'owl')[number % 2]}/{number}.png", image.getvalue())
    return SimpleUploadedFile("birds.zip", file.getvalue())


def birds(tables: str) -> SimpleUploadedFile:
    """The file of a hidden competition of the images, with the tables that their page gives."""
    document, part = deepcopy(DIGITS), tomllib.loads(tables)
    document["competition"] |= {"slug": "birds", "title": "Birds", "smoke_opponent": "", "public": False}
    document["rules"] |= part["rules"]
    document["sample_sets"] = part["sample_sets"]
    for track in document["tracks"].values():
        track["baselines"] = []
    return SimpleUploadedFile("birds.toml", written(document | {"rounds": []}).encode())


def text_of(page: str) -> str:
    """The text of a page, with a line for each that it shows."""
    return unescape(re.sub(r"<[^>]*>", "", re.sub(r"<br ?/?>", "\n", page)))


def make_competition(root: Person) -> Competition:
    """Upload images, make a competition of them with the tables of their page, and appoint Olga."""
    root.open(reverse("admin:competitions_uploadeddataset_add"))
    shown = root.send({"name": "birds", "licence": "CC BY 4.0, from us", "archive": archive()}, having="licence")
    assert "A worker prepares its images" in shown
    prepare_data_sets()
    assert "80 of 80" in root.open(root.address)
    found = re.search(r"/admin/competitions/uploadeddataset/\d+/change/", root.page)
    assert found is not None
    tables = text_of(root.open(found[0]))
    tables = tables[tables.index("[rules]") : tables.index("Digest")]
    root.open(reverse("admin:competitions_competition_add"))
    assert "Birds (birds): a new competition" in text_of(root.send({"file": birds(tables)}, having="file"))
    assert "Birds is imported." in root.send({}, having="seen")
    made = Competition.objects.get(slug="birds")
    root.open(reverse("admin:competitions_organiser_add"))
    root.send({"competition": made.pk, "user_name": "olga", "role": "owner"}, having="user_name")
    return made


def failed(env: RoundFixture) -> Submission:
    """A submission that platform errors ended, whose slot waits for an organiser."""
    submission = env.submission("mo-9", "model", 9)
    ended = {"state": "rejected", "cause": "platform", "reason": "fault", "problem": "Platform error.", "player": None}
    Submission.objects.filter(pk=submission.pk).update(**ended)
    QuotaSlot.objects.create(
        repository=submission.repository, commit=submission.commit, tag=submission.tag, submission=submission,
        reserved_by=env.organiser, reserved_at=submission.received_at, state="used",
        reason=quota_ledger.AWAITS_ORGANISER,
    )  # fmt: skip
    return submission


def act(olga: Person, row: Model, name: str, **fields: str) -> str:
    """Press the button of an action on the page of a row, confirm it with a reason, and return what is said."""
    page = f"admin:{row._meta.app_label}_{row._meta.model_name}"
    olga.open(reverse(f"{page}_change", args=[row.pk]))
    olga.follow(reverse(f"{page}_{name}", args=[row.pk]))
    said = olga.send({"reason": "As the rules say.", **fields}, having="reason")
    assert "1 of 1" in said, text_of(said)
    row.refresh_from_db()
    return said


def change_a_rule(olga: Person, competition: Competition) -> None:
    """Change the query budget, after a preview of what that costs."""
    olga.open(reverse("admin:competitions_competition_change", args=[competition.pk]))
    olga.follow(reverse("admin:competitions_competition_change_rules", args=[competition.pk]))
    preview = text_of(olga.send({"query_budget": "200"}, having="query_budget"))
    assert "rules from version 1 to version 2" in preview
    assert "4 submissions are evaluated again: about 1 min of worker time." in preview
    assert "Version 2 of the rules is in force." in olga.send({"reason": "Time.", "confirmed": "yes"}, having="reason")


def judge(olga: Person, broken: Submission, suspect: Submission) -> None:
    """Refund and retry a submission that the site failed, and disqualify and reinstate another one."""
    act(olga, broken, "refund")
    act(olga, broken, "retry")
    assert (broken.state, QuotaSlot.objects.get().state) == ("received", "refunded")
    act(olga, suspect, "disqualify")
    assert suspect.disqualified_for == "As the rules say."
    act(olga, suspect, "reinstate")
    assert suspect.disqualified_at is None


def publish_a_round(olga: Person, env: RoundFixture) -> Round:
    """Plan a round, and freeze, start and publish it; workers play it."""
    olga.open(reverse("admin:rounds_round_add"))
    times = {"starts_at_0": "2026-11-21", "starts_at_1": "13:00", "ends_at_0": "2026-11-22", "ends_at_1": "12:00"}
    values = {"title": "Round 1", "source": str(env.sources["test"].pk), "samples": "8", "schedule": "ladder", **times}
    said = olga.send(values | {"reason": "It is time."}, having="samples")
    assert "is planned. The commitment to its samples is public." in said, text_of(said)
    round_ = Round.objects.get()
    env.clock.at = round_.window.starts_at
    act(olga, round_, "freeze")
    act(olga, round_, "start")
    env.run(round_)
    act(olga, round_, "publish")
    assert round_.state == "published"
    return round_


def test_a_season_needs_no_shell(root: Person, alice: User, the_clock: FakeClock) -> None:
    """A competition of uploaded images, from its file to the announced winner of its first round."""
    olga, visitor = Person(User.objects.create_user("olga")), Client()
    competition = make_competition(root)
    public = reverse("pages:competition", args=["birds"])
    assert visitor.get(public).status_code == 404
    olga.open(reverse("admin:competitions_competition_change", args=[competition.pk]))
    olga.send({"public": "on", "objection_days": "3"}, having="summary")
    assert visitor.get(public).status_code == 200

    # teams come, and workers measure them
    rows = {each.name: each for each in competition.sample_sets.all()}
    tracks = {each.name: each for each in competition.tracks.all()}
    env = RoundFixture(competition, tracks, User.objects.get(username="olga"), rows, the_clock)
    env.field(models=2, untargeted=2)
    Membership.objects.create(team=env.entry("mo-1").team, user=alice, role="captain", joined_at=the_clock.at)

    sweep()
    env.play()
    sweep()

    change_a_rule(olga, competition)
    judge(olga, failed(env), Submission.objects.get(title="mo-0 0"))
    round_ = publish_a_round(olga, env)

    objection = file_objection(round_=round_, by=alice, text="Our model was slow because of your host.")
    act(olga, objection, "reject", reason="The host was not slow.")
    assert (objection.state, objection.answer) == (Objection.State.REJECTED, "The host was not slow.")
    olga.open(reverse("admin:competitions_announcement_add"))
    news = {"competition": str(competition.pk), "title": "Mo-0 wins round 1", "text": "Congratulations!"}
    olga.send(news | {"published_at_0": "2026-11-21", "published_at_1": "13:00"}, having="title")
    assert "Mo-0 wins round 1" in visitor.get(reverse("pages:news", args=["birds"])).content.decode()
