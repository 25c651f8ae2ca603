"""The kit: its page, the requirements for pip, the wheels and the package index."""

from __future__ import annotations

import hashlib
import html
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from competitions.models import Competition
from core.checks import check_kit
from core.participant_kit import kit
from evaluation import __version__

COMMAND = f"gauntlet_arena-{__version__}-py3-none-any.whl"
SDK = "gauntlet_sdk-0.1.0-py3-none-any.whl"
JSON = "application/vnd.pypi.simple.v1+json"

pytestmark = pytest.mark.django_db


def write_wheel(file: Path, name: str, version: str, python: str) -> None:
    """Write a wheel that has metadata alone."""
    about = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nRequires-Python: {python}\n\n# Text\n"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{file.name.rsplit('-', 3)[0]}.dist-info/METADATA", about)


@pytest.fixture
def make_kit(settings: Settings) -> Callable[..., dict[str, str]]:
    """Fill the folder of the kit, as `make kit` does; return the SHA-256 of each wheel."""

    def make(version: str = __version__) -> dict[str, str]:
        folder = settings.KIT
        folder.mkdir()
        write_wheel(folder / f"gauntlet_arena-{version}-py3-none-any.whl", "gauntlet-arena", version, ">=3.11")
        write_wheel(folder / SDK, "gauntlet-sdk", "0.1.0", ">=3.8")
        (folder / "constraints.txt").write_text("numpy==2.4.6\n")
        (folder / "packages.txt").write_text("numpy==2.4.6 --hash=sha256:1234\n")
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.whl")}

    return make


def address(name: str, sha256: str) -> str:
    """Return the address of a wheel, below that of the site."""
    return f"/kit/files/{sha256[:16]}/{name}"


def test_pip_gets_the_wheel_by_its_address_and_every_package_by_its_hash(
    client: Client, make_kit: Callable[..., dict[str, str]]
) -> None:
    sha256 = make_kit()[COMMAND]
    wheel = f"http://testserver{address(COMMAND, sha256)}"
    assert client.get("/kit/requirements.txt").content.decode().splitlines() == [
        f"gauntlet-arena @ {wheel} --hash=sha256:{sha256}",
        "numpy==2.4.6 --hash=sha256:1234",
    ]


def test_participants_choose_the_build_of_pytorch_by_an_index(
    client: Client, make_kit: Callable[..., dict[str, str]]
) -> None:
    sha256 = make_kit()[COMMAND]
    assert client.get("/kit/requirements-players.txt").content.decode().splitlines() == [
        f"gauntlet-arena[players] @ http://testserver{address(COMMAND, sha256)}#sha256={sha256}",
        "--constraint http://testserver/kit/constraints.txt",
    ]
    answer = client.get("/kit/constraints.txt")
    assert (answer.headers["Content-Type"], answer.content) == ("text/plain; charset=utf-8", b"numpy==2.4.6\n")


def test_a_wheel_may_be_kept_for_ever_at_its_address(
    client: Client, settings: Settings, make_kit: Callable[..., dict[str, str]]
) -> None:
    for name, sha256 in make_kit().items():
        answer = client.get(address(name, sha256))
        assert answer.getvalue() == (settings.KIT / name).read_bytes()
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert "Vary" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "{key}/constraints.txt",
        "{key}/..%2Fconstraints.txt",
        "{key}/%2E%2E%2F%2E%2E%2Fmanage.py",
        "{key}/" + SDK,
        "0123456789abcdef/" + COMMAND,
        "{key}/" + COMMAND + "%00",
    ],
)
def test_no_other_file_of_the_folder_is_served(
    client: Client, make_kit: Callable[..., dict[str, str]], path: str
) -> None:
    key = make_kit()[COMMAND][:16]
    assert client.get(f"/kit/files/{path.format(key=key)}").status_code in {400, 404}


def test_the_page_has_commands_and_hashes(client: Client, make_kit: Callable[..., dict[str, str]]) -> None:
    hashes = make_kit()
    page = html.unescape(client.get("/kit/").content.decode())
    assert "pip install -r http://testserver/kit/requirements.txt</code>" in page
    assert f"Version {__version__}" in page
    for name, sha256 in hashes.items():
        assert f"{sha256}  {name}" in page
        assert f'href="http://testserver{address(name, sha256)}"' in page
    command = f"http://testserver{address(COMMAND, hashes[COMMAND])}#sha256={hashes[COMMAND]}"
    assert f'pip install "gauntlet-arena @ {command}"' in page


def test_the_docs_prefer_the_kit_to_the_source(
    client: Client, competition: Competition, settings: Settings, make_kit: Callable[..., dict[str, str]]
) -> None:
    settings.SOURCE_ADDRESS = "https://git.example/gauntlet.git"
    assert "git clone https://git.example" in client.get("/docs").content.decode()
    make_kit()
    page = client.get("/docs").content.decode()
    assert "pip install -r http://testserver/kit/requirements.txt" in page
    assert 'href="/kit/"' in page
    assert "git.example" not in page


def test_the_index_has_links_with_hashes(client: Client, make_kit: Callable[..., dict[str, str]]) -> None:
    hashes = make_kit()
    assert re.findall(r'href="(.*?)"', client.get("/kit/simple/").content.decode()) == [
        "gauntlet-arena/",
        "gauntlet-sdk/",
    ]
    page = html.unescape(client.get("/kit/simple/gauntlet-sdk/").content.decode())
    link = f"http://testserver{address(SDK, hashes[SDK])}#sha256={hashes[SDK]}"
    assert f'<a href="{link}" data-requires-python=">=3.8">{SDK}</a>' in page
    assert client.get("/kit/simple/numpy/").status_code == 404


def test_the_index_is_json_for_those_who_ask_for_it(client: Client, make_kit: Callable[..., dict[str, str]]) -> None:
    hashes = make_kit()
    of_pip = f"{JSON}, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01"
    answer = client.get("/kit/simple/gauntlet-arena/", headers={"Accept": of_pip})
    assert answer.headers["Content-Type"] == JSON
    assert "Accept" in answer.headers["Vary"]
    (file,) = answer.json()["files"]
    assert (file["filename"], file["hashes"]) == (COMMAND, {"sha256": hashes[COMMAND]})
    projects = client.get("/kit/simple/", headers={"Accept": of_pip}).json()["projects"]
    assert projects == [{"name": "gauntlet-arena"}, {"name": "gauntlet-sdk"}]
    assert client.get("/kit/simple/", headers={"Accept": "text/html"}).headers["Content-Type"].startswith("text/html")


def test_a_site_that_runs_sees_a_new_kit(
    client: Client, settings: Settings, make_kit: Callable[..., dict[str, str]]
) -> None:
    before = make_kit("0.0.8")
    assert "Version 0.0.8" in client.get("/kit/").content.decode()
    settings.KIT.rename(settings.KIT.with_name("kit-before"))
    make_kit("0.0.9")
    os.utime(settings.KIT, (2_000_000_000, 2_000_000_000))  # of another moment than the one before
    assert "Version 0.0.9" in client.get("/kit/").content.decode()
    (old,) = (name for name in before if "0.0.8" in name)
    assert client.get(address(old, before[old])).status_code == 404


def test_the_api_says_where_the_kit_is(client: Client, make_kit: Callable[..., dict[str, str]]) -> None:
    answer = client.get("/api/v1/")
    assert answer.headers["Gauntlet-Version"] == answer.json()["version"] == __version__
    assert answer.json()["kit"] is None
    make_kit()
    assert client.get("/api/v1/").json()["kit"] == "http://testserver/kit/requirements.txt"


def test_the_check_wants_a_whole_kit_of_the_site_s_version(
    settings: Settings, make_kit: Callable[..., dict[str, str]]
) -> None:
    assert check_kit(None) == [], "a site may have none"
    make_kit("0.0.9")
    (warning,) = check_kit(None)
    assert f"has version 0.0.9, and the site {__version__}" in warning.msg
    (settings.KIT / SDK).write_bytes(b"half a wheel")
    os.utime(settings.KIT, (2_000_000_000, 2_000_000_000))
    assert kit() is None
    (warning,) = check_kit(None)
    assert "is incomplete" in warning.msg
    assert warning.hint == "Run make kit."
