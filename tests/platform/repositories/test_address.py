"""Answers of repository addresses to clients other than git."""

from __future__ import annotations

import base64

import pytest
from django.test import Client

from accounts.models import Team, User
from accounts.services import issue_token
from competitions.models import Entry


@pytest.fixture
def authorization(alice: User) -> str:
    """Authorization header of Alice."""
    plain = issue_token(user=alice, name="laptop", scopes=["read"], days=7)[1]
    return f"Basic {base64.b64encode(f'any:{plain}'.encode()).decode()}"


def test_a_git_client_gets_the_advertisement_of_the_repository(
    client: Client, entry: Entry, authorization: str
) -> None:
    address = "/git/owls/model.git/info/refs?service=git-upload-pack"
    answer = client.get(address, headers={"Authorization": authorization})
    assert answer.status_code == 200
    assert b"".join(answer).startswith(b"001e# service=git-upload-pack\n")
    assert answer["Content-Type"] == "application/x-git-upload-pack-advertisement"


@pytest.mark.parametrize("place", ["owls/model", "hawks/model"])
@pytest.mark.parametrize("header", ["", "Basic", "Basic %%%", "Basic \xff", "Basic YTpi", "Bearer x"])
def test_it_gives_the_same_answer_for_unknown_and_hidden_repositories(
    client: Client, entry: Entry, place: str, header: str
) -> None:
    answer = client.get(f"/git/{place}.git/info/refs?service=git-upload-pack", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Basic realm=")
    assert b"access token" in answer.content


@pytest.mark.parametrize("service", ["HEAD", "objects/info/packs", "info/refs", "config", "info/refs?service=git-x"])
def test_it_rejects_other_services(client: Client, entry: Entry, authorization: str, service: str) -> None:
    answer = client.get(f"/git/owls/model.git/{service}", headers={"Authorization": authorization})
    assert answer.status_code == 403
    assert b"only git's smart HTTP" in answer.content


NONE, STRANGER = b"there is no repository ", b"is not a member of "
SMART, PAGE = b"only git's smart HTTP protocol is supported", b"<!doctype html>"


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("owls/model.git/../../hawks/model.git/info/refs", 403, SMART),
        ("owls/model.git/%2e%2e/%2e%2e/hawks/model.git/info/refs", 403, SMART),
        ("owls/model.git//info/refs", 403, SMART),
        ("owls%2f..%2fhawks/model.git/info/refs", 404, PAGE),
        ("owls/..%2fhawks%2fmodel.git/info/refs", 404, PAGE),
        ("//hawks/model.git/info/refs", 404, PAGE),
        ("public/../hawks/model.git/info/refs", 404, PAGE),
        ("hawks/model.git%00/info/refs", 404, PAGE),
        ("hawks/model%00.git/info/refs", 404, PAGE),
        ("hawks/model/info/refs", 404, PAGE),
        ("OWLS/model.git/info/refs", 404, NONE),
        ("hawks/MODEL.git/info/refs", 404, NONE),
        ("hawks/model.git/info/refs", 403, STRANGER),
        ("hawks/model.git/config", 403, STRANGER),
        ("hawks/model.git/HEAD", 403, STRANGER),
        ("hawks/model.git/objects/info/packs", 403, STRANGER),
        ("hawks/model.git/objects/info/alternates", 403, STRANGER),
        ("hawks/model.git/objects/info/http-alternates", 403, STRANGER),
        ("hawks/model.git/objects/pack/pack-" + "0" * 40 + ".pack", 403, STRANGER),
    ],
)
def test_no_path_leads_to_the_repository_of_another_team(
    client: Client, entry: Entry, authorization: str, path: str, status: int, words: bytes
) -> None:
    hawks = Team.objects.create(slug="hawks", name="Hawks", created_at=entry.joined_at)
    Entry.objects.create(team=hawks, competition=entry.competition, joined_at=entry.joined_at)
    answer = client.get(f"/git/{path}?service=git-upload-pack", headers={"Authorization": authorization})
    assert answer.status_code == status
    assert words in b"".join(answer)


@pytest.mark.parametrize("service", ["objects/info/alternates", "objects/info/http-alternates", "info/attributes"])
def test_no_file_of_the_own_repository_is_served(
    client: Client, entry: Entry, authorization: str, service: str
) -> None:
    answer = client.get(f"/git/owls/model.git/{service}", headers={"Authorization": authorization})
    assert answer.status_code == 403
    assert b"only git's smart HTTP" in answer.content
