"""Released files of a round, and the signing key of bundles."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import User
from competitions.models import RulesVersion, SampleSet
from core import object_store
from formats.query.matches.models import Match
from formats.query.rounds.models import RoundMatch
from rounds.models import Release, Round
from submissions.models import Player

Play = Callable[..., Round]

FILES = "/competitions/digits/rounds/1/files"
CONTENT = {Release.Part.BUNDLE: b'{"round":1}\n', Release.Part.IMAGES: b"PK", Release.Part.PERTURBED: b"pair,kind\n"}


@pytest.fixture
def released(play: Play, olga: User) -> Round:
    """Round 1 with all parts released."""
    played = play(3)
    for part in Release.Part:
        content = object_store.put(CONTENT[part]) if part in CONTENT else ""
        Release.objects.create(
            round=played, part=part, released_at=played.planned_at, released_by=olga, content=content
        )
    return played


@pytest.mark.parametrize(
    ("part", "ending", "content_type"),
    [
        ("bundle", "gauntlet", "application/octet-stream"),
        ("images", "zip", "application/zip"),
        ("perturbed", "csv", "text/csv"),
    ],
)
def test_a_released_file_is_downloaded_with_its_name_and_type(
    client: Client, released: Round, part: str, ending: str, content_type: str
) -> None:
    answer = client.get(f"{FILES}/{part}")
    assert answer.getvalue() == CONTENT[Release.Part(part)]
    assert answer.headers["Content-Type"].startswith(content_type)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="digits-round-1-{part}.{ending}"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_leads_to_all_of_it(client: Client, released: Round) -> None:
    page = client.get("/competitions/digits/rounds/1").content.decode()
    key = client.get("/signing-key.txt")
    assert key.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert f"gauntlet verify digits-round-1-bundle.gauntlet --key {key.content.decode().strip()}" in page
    assert f"{FILES}/bundle" in page
    # into a folder of its own: all commands can be run in one place
    assert "git clone http://testserver/git/public/model-1/model.git model-1-model</code>" in page
    assert "the secret salt" in page, "with the images the salt is public"


def test_released_code_states_the_image_that_played(client: Client, released: Round) -> None:
    Player.objects.update(image="sha256:of-the-first-build")
    assert (
        ", image <code>sha256:of-the-first-build</code>" in client.get("/competitions/digits/rounds/1").content.decode()
    )


def test_it_rejects_what_is_withdrawn(client: Client, released: Round) -> None:
    Release.objects.update(withdrawn_at=released.planned_at)
    assert client.get(f"{FILES}/bundle").status_code == 404
    page = client.get("/competitions/digits/rounds/1").content.decode()
    assert "Nothing is released yet" in page
    assert "the secret salt" not in page
    assert "git clone" not in page


@pytest.mark.parametrize("part", ["code", "perturbed-1", f"perturbed-{10**30}", "other", "bundle.zip"])
def test_it_rejects_what_is_no_file(client: Client, released: Round, part: str) -> None:
    assert client.get(f"{FILES}/{part}").status_code == 404


def test_each_released_pair_is_a_link(client: Client, released: Round, sample_set: SampleSet) -> None:
    model, attack = (released.entries.filter(track__name=name).first() for name in ("model", "untargeted"))
    assert model
    assert attack
    match = Match.objects.create(
        rules=RulesVersion.objects.get(), sample_set=sample_set, model=model.player, attack=attack.player, seed=1,
        created_at=released.planned_at,
    )  # fmt: skip
    RoundMatch.objects.create(round=released, match=match, samples=6)
    page = client.get("/competitions/digits/rounds/1").content.decode()
    assert "Perturbed images and query traces of 1 pair" in page
    assert f'href="{FILES}/perturbed-{match.pk}" download' in page
    assert f'href="/matches/{match.pk}"' in page
    assert f'href="/submissions/{model.submission_id}"' in page
    assert (
        f"{FILES}/perturbed-{match.pk}"
        not in client.get("/competitions/digits/rounds/1?track=targeted").content.decode()
    )
    Release.objects.filter(part=Release.Part.PERTURBED).update(withdrawn_at=released.planned_at)
    assert "Perturbed images and query traces" not in client.get("/competitions/digits/rounds/1").content.decode()
