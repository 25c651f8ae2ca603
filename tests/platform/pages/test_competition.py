"""Pages of a competition, and the status page."""

from __future__ import annotations

import io
import re
from datetime import timedelta

import numpy as np
import pytest
from django.test import Client
from PIL import Image as Picture

from accounts.models import User
from competitions.models import Competition, FreezeWindow, RulesVersion, SampleSet
from competitions.sample_store import samples_of
from core import clock
from pages.templatetags.gauntlet import duration, markdown
from submissions.models import Submission
from workers.models import Worker


def test_the_page_shows_the_leader_the_rules_the_opponents_and_the_freeze(
    client: Client, shown: dict[str, Submission], competition: Competition
) -> None:
    now = clock.now()
    FreezeWindow.objects.create(
        competition=competition, starts_at=now, ends_at=now + timedelta(hours=2), reason="round 1"
    )
    page = client.get("/competitions/digits").content.decode()
    for text in ("Digits", "The Owls", "50 for each sample", "Boundary attack", "are frozen: round 1", "5 submissions"):
        assert text in page


def test_organisers_are_led_to_the_admin_and_others_to_a_team(
    client: Client, competition: Competition, olga: User, charlie: User
) -> None:
    """Organisers cannot compete in their own competition."""
    organise, new_team = f"/admin/competitions/competition/{competition.pk}/change/", "/competitions/digits/teams/new"
    User.objects.filter(pk=olga.pk).update(is_staff=True)
    for user, shown, hidden in ((olga, organise, new_team), (charlie, new_team, organise)):
        client.force_login(user)
        for address in ("/", "/competitions/digits"):
            page = client.get(address).content.decode()
            assert f'href="{shown}"' in page
            assert f'href="{hidden}"' not in page
        assert (f'href="{new_team}"' in client.get("/account").content.decode()) == (user == charlie)
        assert client.get(shown).status_code == 200


def test_a_small_picture_has_the_first_name_of_its_class(client: Client, sample_sets: dict[str, SampleSet]) -> None:
    """ImageNet's names are lists of synonyms: seven lines under a picture."""
    names = [f"{number}, digit {number}" for number in range(10)]
    SampleSet.objects.filter(pk=sample_sets["development"].pk).update(class_names=names)
    page = client.get("/competitions/digits").content.decode()
    assert re.findall(r'/images/\d+\.png"[^>]*> ([^<]*)</li>', page) == list("0123456789")


def test_it_shows_development_images_only(client: Client, sample_sets: dict[str, SampleSet]) -> None:
    samples = samples_of(sample_sets["development"])
    page = client.get("/competitions/digits").content.decode()
    shown = re.findall(r'src="(/competitions/digits/images/(\d+)\.png)"[^>]*> (\d)</li>', page)
    assert len(shown) == len({sample.label for sample in samples})
    for address, number, label in shown:
        picture = Picture.open(io.BytesIO(client.get(address).content))
        np.testing.assert_array_equal(np.asarray(picture), samples[int(number)].image)
        assert int(label) == samples[int(number)].label
    sample_sets["development"].delete()
    assert "Development samples" not in client.get("/competitions/digits").content.decode()
    assert client.get("/competitions/digits/images/0.png").status_code == 404


def test_rules_keep_their_history(client: Client, competition: Competition, rules: RulesVersion) -> None:
    RulesVersion.objects.create(
        competition=competition,
        version=2,
        values=rules.values | {"query_budget": 40},
        note="**Fewer** queries",
        created_at=rules.created_at,
    )
    page = client.get("/competitions/digits/rules").content.decode()
    assert page.index("40 for each sample") < page.index("50 for each sample")
    assert "<strong>Fewer</strong>" in page


def test_the_status_shows_workers_and_queue(client: Client, shown: dict[str, Submission]) -> None:
    now = clock.now()
    Worker.objects.create(name="arena-1/play/0", worker_class="cpu", started_at=now, last_seen_at=now)
    page = client.get("/status").content.decode()
    assert "Worker 1" in page
    assert "online" in page
    assert "The Owls" not in page


def test_it_rejects_markup_in_descriptions() -> None:
    text = markdown("# Title\n\n<script>x</script> [go](javascript:x)\n\n|a|b|\n|-|-|\n|c|d|")
    assert "<h2>Title</h2>" in text
    assert "<script" not in text
    assert "href" not in text
    assert "<table>" in text


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.04, "40 ms"), (4.26, "4.3 s"), (250, "4 min 10 s"), (3600, "1 h"), (5400, "1 h 30 min")]
)
def test_lengths_of_time_are_short(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/competitions/digits",
        "/docs/performance",
        "/accounts/signup/",
        "/accounts/password/reset/",
        "/nowhere",
        "/account",
    ],
)
def test_no_page_has_inline_style_or_script(
    client: Client, shown: dict[str, Submission], bob: User, address: str
) -> None:
    if address == "/account":
        client.force_login(bob)
    answer = client.get(address)
    page = answer.content.decode()
    assert " style=" not in page
    assert " onclick=" not in page
    assert page.count("<script") == page.count("<script src=")
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
