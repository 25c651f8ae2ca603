"""`gauntlet fetch` from a site that lies: nothing leaves the directory, nothing grows without bound."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import pytest

from evaluation.cli import site_fetch
from evaluation.cli.released_round import ReleasedRound, export, git, holds
from evaluation.domain.errors import Refusal

KEY = "a" * 64
TABLE = b"pair,track\n../../../outside,untargeted\n"
BUNDLE = b'{"kind":"head"}\n'

Gauntlet = Callable[..., tuple[int, str, str]]


class LyingSite(BaseHTTPRequestHandler):
    """Answers with what a test put in `answers`: by path, a status, headers and a body."""

    answers: ClassVar[dict[str, tuple[int, dict[str, str], bytes]]] = {}
    asked: ClassVar[list[tuple[str, str]]] = []
    ranges: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization", "")))
        status, headers, body = self.answers.get(self.path, (404, {}, b"{}"))
        self.ranges.append(self.headers.get("Range", ""))
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Stay quiet."""


class Server(NamedTuple):
    """The site: its address, and what it answers."""

    url: str
    answers: dict[str, tuple[int, dict[str, str], bytes]]
    asked: list[tuple[str, str]]

    def serve(self, part: str, body: bytes, **headers: str) -> None:
        """Answer a request for the file of a part."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[f"/competitions/digits/rounds/1/files/{part}"] = 200, named, body

    def release(self, **digests: str) -> None:
        """List released parts, each with the digest of its file."""
        releases = [{"part": part, "sha256": digest, "key": KEY} for part, digest in digests.items()]
        shown = {"state": "published", "commitment": KEY, "field_commitment": KEY, "releases": releases}
        self.answers["/api/v1/competitions/digits/rounds/1"] = 200, {}, json.dumps(shown).encode()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """A site with a token that nobody else may get, and a released bundle and table."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), LyingSite)
    url = f"http://127.0.0.1:{server.server_port}"
    LyingSite.answers.clear()
    LyingSite.asked.clear()
    LyingSite.ranges.clear()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GAUNTLET_SITE", url)
    monkeypatch.setenv("GAUNTLET_TOKEN", "secret")
    made = Server(url, LyingSite.answers, LyingSite.asked)
    made.answers["/api/v1/signing-keys"] = 200, {}, json.dumps({"results": [{"key": KEY}], "next": None}).encode()
    made.release(bundle=sha(BUNDLE), perturbed=sha(TABLE))
    made.serve("bundle", BUNDLE)
    made.serve("perturbed", TABLE)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_it_rejects_names_that_leave_the_directory(site: Server, gauntlet: Gauntlet, tmp_path: Path) -> None:
    status, _, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round", "--perturbed")
    assert status == 3
    assert "perturbed.csv has a row '../../../outside'" in err
    assert not any("outside" in path for path, _ in site.asked)


@pytest.mark.parametrize(("team", "track"), [("../owls", "model"), ("owls", ".."), ("", "model"), ("-c", "model")])
def test_it_rejects_teams_and_tracks_that_are_paths(team: str, track: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="name no team and track"):
        ReleasedRound(tmp_path).code(team, track)


def test_it_rejects_commits_that_are_options(tmp_path: Path) -> None:
    assert not holds(tmp_path, "--upload-pack=x")
    with pytest.raises(Refusal, match="is not a commit"):
        export(tmp_path, "--force", tmp_path / "copy")


def test_the_token_goes_to_no_file_and_no_other_site(site: Server, gauntlet: Gauntlet, tmp_path: Path) -> None:
    site.answers["/competitions/digits/rounds/1/files/bundle"] = 302, {"Location": f"{site.url}/elsewhere"}, b""
    status, _, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round")
    assert (status, "answers 302" in err) == (3, True)
    assert [path for path, token in site.asked if token] == [
        "/api/v1/competitions/digits/rounds/1", "/api/v1/signing-keys",
    ]  # fmt: skip
    assert "/elsewhere" not in [path for path, _ in site.asked]


def test_the_bundle_alone_is_fetched_where_nothing_else_is_named(
    site: Server, gauntlet: Gauntlet, tmp_path: Path
) -> None:
    gauntlet("fetch", "digits/1", "--into", tmp_path / "round", "--bundle")
    files = [path for path, _ in site.asked if "/files/" in path]
    assert files == ["/competitions/digits/rounds/1/files/bundle"]


def test_a_file_with_another_digest_is_not_kept(site: Server, gauntlet: Gauntlet, tmp_path: Path) -> None:
    site.serve("bundle", b"another")
    status, _, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round")
    assert (status, "bundle is not the file that the site lists" in err) == (3, True)
    assert [path.name for path in (tmp_path / "round").iterdir()] == ["signing-key.txt"]


def test_a_file_that_is_too_large_is_not_read(
    site: Server, gauntlet: Gauntlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(site_fetch.MOST_BYTES, "bundle.gauntlet", 4)
    status, _, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round")
    assert (status, "bundle is larger than" in err) == (3, True)
    site.serve("bundle", BUNDLE, Content_Length="1")
    monkeypatch.setitem(site_fetch.MOST_BYTES, "bundle.gauntlet", 1)
    status, _, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round")
    assert status == 3, "a length that is not true"


def test_a_full_disk_is_noticed_before_the_download(
    site: Server, gauntlet: Gauntlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    status, _, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round")
    assert status == 2
    assert "0 MB are free in" in err


PART = "/competitions/digits/rounds/1/files/bundle"


@pytest.fixture
def broken(site: Server, gauntlet: Gauntlet, tmp_path: Path) -> Path:
    """The directory of a fetch whose connection broke after five bytes of the bundle."""
    site.serve("bundle", BUNDLE[:5], Content_Length=str(len(BUNDLE)))
    into = tmp_path / "round"
    status, _, err = gauntlet("fetch", "digits/1", "--into", into, "--bundle")
    assert (status, "run the command again" in err) == (6, True)
    names = sorted(path.name for path in into.iterdir())
    assert names == [f".unfinished-{sha(BUNDLE)[:16]}-bundle.gauntlet", "signing-key.txt"]
    return into


def test_an_answer_in_chunks_may_break_off(site: Server, gauntlet: Gauntlet, tmp_path: Path) -> None:
    site.answers[PART] = 200, {"Transfer-Encoding": "chunked"}, b"5\r\n" + BUNDLE[:5] + b"\r\n5\r\n"
    status, _, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round", "--bundle")
    assert (status, "run the command again" in err) == (6, True), err


def test_a_download_goes_on_after_a_broken_connection(site: Server, gauntlet: Gauntlet, broken: Path) -> None:
    site.answers[PART] = 206, {"Content-Range": f"bytes 5-{len(BUNDLE) - 1}/{len(BUNDLE)}"}, BUNDLE[5:]
    gauntlet("fetch", "digits/1", "--into", broken, "--bundle")
    assert site_ranges() == ["bytes=5-"]
    assert (broken / "bundle.gauntlet").read_bytes() == BUNDLE
    assert not list(broken.glob(".unfinished-*"))


@pytest.mark.parametrize("headers", [{}, {"Content-Range": "bytes 9-20/21"}])
def test_it_begins_again_where_the_site_sends_another_part(
    site: Server, gauntlet: Gauntlet, broken: Path, headers: dict[str, str]
) -> None:
    site.answers[PART] = 200, headers, BUNDLE
    gauntlet("fetch", "digits/1", "--into", broken, "--bundle")
    assert (broken / "bundle.gauntlet").read_bytes() == BUNDLE


def test_what_was_completed_from_another_file_is_not_kept(site: Server, gauntlet: Gauntlet, broken: Path) -> None:
    site.answers[PART] = 206, {"Content-Range": "bytes 5-10/11"}, b"other!"
    status, _, err = gauntlet("fetch", "digits/1", "--into", broken, "--bundle")
    assert (status, "bundle is not the file that the site lists" in err) == (3, True)
    assert [path.name for path in broken.iterdir()] == ["signing-key.txt"]


def test_a_part_that_nobody_asked_for_is_not_kept(site: Server, gauntlet: Gauntlet, tmp_path: Path) -> None:
    site.answers[PART] = 206, {"Content-Range": "bytes 5-10/11"}, b"other!"
    status, _, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round", "--bundle")
    assert (status, "which nobody asked for" in err) == (6, True)


def test_it_begins_again_where_nothing_follows(site: Server, gauntlet: Gauntlet, broken: Path) -> None:
    """The site has another file than before, which is shorter."""
    site.answers[PART] = 416, {}, b""
    status, _, err = gauntlet("fetch", "digits/1", "--into", broken, "--bundle")
    assert (status, "answers 416" in err) == (3, True)
    assert site_ranges() == ["bytes=5-"]
    assert LyingSite.ranges[-1] == "", "asked once more, for all of it"


def site_ranges() -> list[str]:
    return [each for each in LyingSite.ranges if each]


def test_what_does_not_verify_is_said(site: Server, gauntlet: Gauntlet, tmp_path: Path) -> None:
    status, out, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round", "--json")
    assert status == 3
    assert json.loads(out)["verified"] is False
    assert "the last line is not a signature" in err


def test_perturbed_images_of_a_hidden_attack_are_left_out(site: Server, gauntlet: Gauntlet, tmp_path: Path) -> None:
    table = b"pair,track\n17,untargeted\n18,untargeted\n"
    site.release(bundle=sha(BUNDLE), perturbed=sha(table))
    site.serve("perturbed", table)
    site.serve("perturbed-18", b"an archive")
    _, out, _ = gauntlet("fetch", "digits/1", "--into", tmp_path / "round", "--perturbed", "--json")
    assert json.loads(out)["not_released"] == ["perturbed-17"]
    assert [path.name for path in (tmp_path / "round/perturbed").iterdir()] == ["18.zip"]


@pytest.mark.parametrize("text", ["digits", "digits/0", "digits/1/2", "https://site/competitions/digits", "../x/1"])
def test_it_rejects_what_is_no_round(text: str, gauntlet: Gauntlet) -> None:
    status, _, err = gauntlet("fetch", text)
    assert (status, "is no round" in err) == (2, True)


def test_of_two_entries_of_a_team_one_may_not_be_released(
    site: Server, gauntlet: Gauntlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code of the one is there, the other is named, and comes once it is released."""
    bare = tmp_path / "released.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", bare], check=True)

    def commit(text: str, *parents: str) -> str:
        tree = git(bare, "mktree")
        author = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return git(bare, "commit-tree", tree, "-m", text, *(f"-p{parent}" for parent in parents), variables=author)

    def release(made: str) -> None:
        git(bare, "update-ref", "--no-deref", "HEAD", made)
        git(bare, "update-ref", f"refs/tags/{made[:12]}", made)
        git(bare, "update-server-info")
        files = (path for path in bare.rglob("*") if path.is_file())
        site.answers.update(
            (f"/git/public/calm/model.git/{path.relative_to(bare)}", (200, {}, path.read_bytes())) for path in files
        )
        site.answers["/git/public/calm/model.git/info/refs?service=git-upload-pack"] = (
            200, {}, (bare / "info" / "refs").read_bytes(),
        )  # fmt: skip

    one = commit("one")
    two = commit("two", one)
    entries = [SimpleNamespace(team="calm", commit=made) for made in (two, one)]
    players = [SimpleNamespace(name=entry.commit, track="model", submissions=[entry]) for entry in entries]
    round_ = SimpleNamespace(matches=[SimpleNamespace(players=dict(enumerate(players)))])
    monkeypatch.setattr(site_fetch, "opened", lambda *_: round_)
    site.release(bundle=sha(BUNDLE), code=KEY)
    release(one)

    def fetch() -> tuple[list[bool], str]:
        _, out, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round", "--code", "--json")
        return [each["new"] for each in json.loads(out)["files"] if each["part"] == "code"], err

    missing = f"The code of calm/model is not here: commit {two[:12]} is not released."
    for new in (True, False):
        found, err = fetch()
        assert (found, missing in err) == ([new], True)
        assert holds(tmp_path / "round" / "code" / "calm--model", one)
    release(two)
    found, err = fetch()
    assert (found, missing in err) == ([True], False)
    assert fetch()[0] == [False]

    shutil.rmtree(tmp_path / "round" / "code" / "calm--model")
    (tmp_path / "round" / "code" / "calm--model").mkdir()
    status, _, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round", "--code")
    assert (status, "is not a copy of" in err) == (2, True)


def test_the_key_may_be_that_of_the_site_on_which_an_imported_competition_was_played(
    site: Server, gauntlet: Gauntlet, tmp_path: Path
) -> None:
    site.answers["/api/v1/signing-keys"] = 200, {}, json.dumps({"results": [], "next": None}).encode()
    for origin, kept in ((None, False), ({"signing_keys": ["1" * 64]}, False), ({"signing_keys": [KEY]}, True)):
        site.answers["/api/v1/competitions/digits"] = 200, {}, json.dumps({"origin": origin}).encode()
        _, _, err = gauntlet("fetch", "digits/1", "--into", tmp_path / "round", "--bundle")
        assert ("the bundle's key is none that the site publishes" in err) is not kept
        assert (tmp_path / "round" / "signing-key.txt").exists() is kept
