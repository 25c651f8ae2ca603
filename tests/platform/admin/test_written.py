"""Organisers write pages, terms and announcements in the admin."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from competitions.models import Announcement, Competition, Page, TermsVersion
from core.models import Event


def address(model: str, view: str, *arguments: object) -> str:
    return reverse(f"admin:competitions_{model}_{view}", args=arguments)


def test_an_organiser_writes_changes_and_removes_a_page_and_events_record_it(
    as_organiser: Client, competition: Competition
) -> None:
    values = {"competition": competition.pk, "name": "prizes", "text": "A letter."}
    assert as_organiser.post(address("page", "add"), values).status_code == 302
    page = Page.objects.get()
    assert as_organiser.post(address("page", "change", page.pk), {"text": "A book."}).status_code == 302
    assert Page.objects.get().text == "A book."
    assert as_organiser.post(address("page", "delete", page.pk), {"post": "yes"}).status_code == 302
    verbs = list(Event.objects.values_list("verb", "by__username"))
    assert verbs == [("remove_page", "olga"), ("write_page", "olga"), ("write_page", "olga")]


def test_organisers_publish_terms_and_announcements(as_organiser: Client, competition: Competition) -> None:
    values = {"competition": competition.pk, "text": "Be fair."}
    as_organiser.post(address("termsversion", "add"), values)
    assert (TermsVersion.objects.get().version, TermsVersion.objects.get().text) == (1, "Be fair.")
    assert "Be fair." in as_organiser.get(address("termsversion", "add")).content.decode()
    at = {"published_at_0": "2026-11-21", "published_at_1": "12:00:00"}
    as_organiser.post(address("announcement", "add"), values | at | {"title": "News"})
    made = Announcement.objects.get()
    as_organiser.post(address("announcement", "change", made.pk), at | {"title": "Changed", "text": "!"})
    assert Announcement.objects.get().title == "Changed"
    assert set(Event.objects.values_list("verb", flat=True)) == {"publish_terms", "announce", "change_announcement"}


def test_what_was_written_stays_in_the_form_when_it_is_refused(as_organiser: Client, competition: Competition) -> None:
    values = {"competition": competition.pk, "title": "News", "text": "A text of many hours."}
    for model, view, arguments in (("announcement", "add", ()), ("announcement", "change", (1,))):
        refused = as_organiser.post(
            address(model, view, *arguments), values | {"published_at_0": "9026-11-21", "published_at_1": "12:00:00"}
        )
        page = refused.content.decode()
        assert "the year 9026 is out of range: choose one from 1970 to 8999" in page
        assert "A text of many hours." in page
        Announcement.objects.get_or_create(
            pk=1, competition=competition, title="Old", text="Old.", published_at=competition.created_at,
            changed_at=competition.created_at,
        )  # fmt: skip
    Competition.objects.update(archived_at=competition.created_at)
    page = as_organiser.post(address("page", "add"), values | {"name": "prizes"}).content.decode()
    assert "Digits was archived at" in page
    assert "A text of many hours." in page
    assert (Announcement.objects.get().text, Page.objects.count(), Event.objects.count()) == ("Old.", 0, 0)


def test_it_rejects_pages_of_the_site_and_of_other_competitions(as_organiser: Client, competition: Competition) -> None:
    other = Competition.objects.create(
        slug="other", title="Other", starts_at=competition.starts_at, ends_at=competition.ends_at,
        created_at=competition.created_at,
    )  # fmt: skip
    imprint = Page.objects.create(name="imprint", text="Us.", changed_at=competition.created_at)
    answer = as_organiser.post(address("page", "add"), {"competition": "", "name": "privacy", "text": "None."})
    assert "Only superusers write pages of the site." in answer.content.decode()
    answer = as_organiser.post(address("page", "add"), {"competition": other.pk, "name": "prizes", "text": "Mine."})
    assert "Select a valid choice." in answer.content.decode()
    assert as_organiser.post(address("page", "change", imprint.pk), {"text": "Me."}).status_code == 403
    assert as_organiser.post(address("page", "delete", imprint.pk), {"post": "yes"}).status_code == 403
    assert list(Page.objects.values_list("text", flat=True)) == ["Us."]


def test_superusers_write_pages_of_the_site(as_superuser: Client) -> None:
    answer = as_superuser.post(address("page", "add"), {"competition": "", "name": "prizes", "text": "None."})
    assert "Choose the competition of the prizes." in answer.content.decode()
    assert as_superuser.post(address("page", "add"), {"name": "imprint", "text": "Us."}).status_code == 302
    assert Page.objects.get().competition is None
    answer = as_superuser.post(address("page", "add"), {"name": "imprint", "text": "Twice."})
    assert "The site has this page. Change it." in answer.content.decode()
