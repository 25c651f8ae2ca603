"""No digest of a player leaves the site: publications use pseudonyms."""

from __future__ import annotations

import io
import json
import re
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from django.core.management.utils import get_random_secret_key
from django.test import Client
from pytest_django import Settings

from competitions.models import Competition
from competitions.pseudonyms import public_name
from competitions.sample_store import samples_of
from core import clock, object_store
from evaluation.bundle import body_in_parts
from evaluation.formats.query.bundle.verify import verify
from evaluation.formats.query.results import PieceResult, Trace
from evaluation.formats.query.runner.piece_file import pack
from evaluation.scoring.distances import l2
from formats.query.matches.models import Match
from formats.query.matches.piece_queue import Claim
from formats.query.matches.piece_result import PlayedPiece
from formats.query.rounds.models import RoundWarning
from rounds.models import Release, Round
from rounds.publishing.publication import publish
from rounds.release.released_parts import release
from rounds.release.signing_keys import public_key
from submissions.models import Player, Submission
from tests.platform.rounds.conftest import RoundFixture

NOT_FOLLOWED = ("/static/", "/accounts/", "/git/", "/docs/", "/time-zone?")
"""The manual is made of files of the repository, and the form of the time zone is the same for each page."""

PARTS = (Release.Part.BUNDLE, Release.Part.IMAGES, Release.Part.PERTURBED, Release.Part.CODE)


class ReleaseFixture(RoundFixture):
    """A `RoundFixture` whose pieces keep images that can be released: all are black, and scored as such."""

    def played(self, claim: Claim) -> PlayedPiece:
        played, clean = super().played(claim), samples_of(claim.piece.match.sample_set)
        black = {row.sample: l2(clean[row.sample].image, np.zeros((64, 64, 3), np.uint8)) for row in played.samples}
        rows = (replace(row, distance=min(black[row.sample], row.worst_case)) for row in played.samples)
        played = replace(played, samples=tuple(rows))
        none = np.zeros(0, np.uint16)
        nothing = Trace(none, none, np.zeros(0, np.uint32), np.zeros(0, np.int16), np.zeros(0, np.float32))
        images = np.zeros((len(played.samples), 64, 64, 3), np.uint8)
        content = pack(PieceResult(samples=played.samples, perturbed=images, trace=nothing, seconds=1.0))
        return replace(played, artefact=object_store.put(content))


@pytest.fixture
def finished(env: RoundFixture) -> Round:
    """A published round with all parts released; the code of one model is open source."""
    release_env = ReleaseFixture(env.competition, env.tracks, env.organiser, env.sources, env.clock)
    for kind, players in (("model", 1), ("untargeted", 2), ("targeted", 1)):
        for number in range(players):
            release_env.submission(f"{kind[:2]}-{number}", kind, number, licence="LicenseRef-ours")
    _give_code(release_env.submission("open", "model", 9))
    # of equal content
    release_env.submission("copy", "model", 0, licence="LicenseRef-ours")
    round_ = release_env.scored(release_env.plan("final", samples=8))
    publish(round_=round_, by=env.organiser, reason="looks right")
    model, attack = env.player("model", 0), env.player("untargeted", 1)
    RoundWarning.objects.create(round=round_, model=model, attack=attack, nearer=6, samples=8)
    for part in PARTS:
        release(round_=round_, part=part, by=env.organiser, reason="the end")
    return round_


@pytest.mark.slow(4)
def test_an_anonymous_visitor_finds_no_digest_of_a_player(finished: Round, client: Client) -> None:
    digests = [digest.removeprefix("sha256:") for digest in Player.objects.values_list("digest", flat=True)]
    starts = {digest[:12] for digest in digests}
    seen = dict(_everything(client, finished))
    for part in ("files/bundle", "files/perturbed", "files/images", "pair.json", "pieces/00000.npz", "open/model.git"):
        assert any(address.endswith(part) for address in seen), f"{part} was not looked at"
    submission = f"/submissions/{Submission.objects.earliest('pk').pk}"
    for page in ("/api/v1/competitions/digits/rounds/1", "/competitions/digits/rounds/1", "/teams/open", submission):
        assert page in seen, f"{page} was not looked at"
    for address, content in seen.items():
        for start in starts:
            assert start.encode() not in content, f"{address} holds the digest of a player"


def test_every_file_calls_a_player_the_same(finished: Round, client: Client) -> None:
    competition = finished.competition
    digests = finished.entries.values_list("player__digest", flat=True)
    names = {public_name(competition, digest) for digest in digests}
    seen = dict(_files(client, finished))
    (bundle,) = (content for address, content in seen.items() if address.endswith("files/bundle"))
    entrants = {
        line["player"] for line in body_in_parts.decode(bundle.partition(b"\n")[2]) if line["kind"] == "entrant"
    }
    pairs = [json.loads(content) for address, content in seen.items() if address.endswith("pair.json")]
    reported = json.loads(seen["/api/v1/competitions/digits/rounds/1"])
    assert entrants == names == {pair[side] for pair in pairs for side in ("model", "attack")}
    assert [(warned["model"], warned["attack"]) for warned in reported["warnings"]] == [
        (public_name(competition, warning.model.digest), public_name(competition, warning.attack.digest))
        for warning in finished.warnings.select_related("model", "attack")
    ]


def test_the_released_files_verify(finished: Round, client: Client) -> None:
    files = f"/competitions/digits/rounds/{finished.number}/files"
    bundle = client.get(f"{files}/bundle").getvalue()
    archives = [(address, io.BytesIO(client.get(address).getvalue())) for address in _archives(finished)]
    images = client.get(f"{files}/images").getvalue()
    report = verify(
        bundle,
        public_key(),
        samples=finished.commitment,
        field=finished.field_commitment,
        images=[("images.zip", io.BytesIO(images))],
        perturbed=archives,
    )
    assert archives
    assert report.ok, report.problems
    for name, find, put, expected in (
        ("samples.csv", b"\n1,", b"\n1,1", "images.zip: sample 1 does not have the hash of the bundle"),
        ("samples.csv", b"\n2,", b"", "images.zip: it has 7 samples, and the bundle 8"),
        ("commitment.json", b'"salt"', b'"other"', """images.zip cannot be read: "'salt'\""""),
    ):
        other = _with(images, name, find, put)
        assert expected in [problem.text for problem in verify(bundle, images=[("images.zip", other)]).problems]


def test_pseudonyms_outlive_a_new_secret_key(env: RoundFixture, settings: Settings) -> None:
    before = public_name(env.competition, "sha256:1")
    settings.SECRET_KEY = get_random_secret_key()
    assert public_name(env.competition, "sha256:1") == before


def test_they_are_of_one_competition(env: RoundFixture) -> None:
    other = Competition.objects.create(
        slug="other", title="Other", starts_at=clock.now(), ends_at=clock.now() + timedelta(1), created_at=clock.now()
    )
    assert public_name(other, "sha256:1") != public_name(env.competition, "sha256:1")


def _give_code(submission: Submission) -> None:
    """A real commit behind the submission."""
    path = submission.repository.path
    path.mkdir(parents=True)
    who = ["-c", "user.name=Open", "-c", "user.email=open@example.org"]
    subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
    asked = ["git", *who, "-C", str(path), "commit-tree", "-m", "First", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"]
    subprocess.run(["git", "-C", str(path), "mktree"], input=b"", check=True, capture_output=True)
    done = subprocess.run(asked, check=True, capture_output=True, text=True)
    submission.commit = done.stdout.strip()
    submission.save(update_fields=["commit"])


def _with(content: bytes, name: str, find: bytes, put: bytes) -> io.BytesIO:
    """Return an archive with `find` replaced in one file."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for each in old.namelist():
            new.writestr(each, old.read(each).replace(find, put) if each == name else old.read(each))
    return file


def _archives(round_: Round) -> list[str]:
    files = f"/competitions/digits/rounds/{round_.number}/files"
    return [f"{files}/perturbed-{pair.match_id}" for pair in round_.round_matches.filter(samples__gt=0)]


def _everything(client: Client, round_: Round) -> Iterator[tuple[str, bytes]]:
    """All that can be reached by links, the API's answers, all released files and what is in them, and the code."""
    yield from _files(client, round_)
    waiting, known = ["/time-zone", "/"], {"/"}
    while waiting:
        address = waiting.pop()
        answer = client.get(address)
        content = answer.getvalue()
        yield address, content
        if content.startswith(b"PK"):
            yield from _inside(address, content)
        elif "html" in answer.get("Content-Type", ""):
            links = set(re.findall(r'href="(/[^"#]*)', content.decode())) - known
            known |= links
            waiting += [link for link in sorted(links) if not link.startswith(NOT_FOLLOWED)]
    clone = "/git/public/open/model.git"
    yield clone, client.get(f"{clone}/info/refs?service=git-upload-pack").getvalue()


def _files(client: Client, round_: Round) -> Iterator[tuple[str, bytes]]:
    """The API's answers, the bundle, and the archives with what is in them."""
    bundle = f"/competitions/digits/rounds/{round_.number}/files/bundle"
    for address in (bundle, *_archives(round_), *(f"/api/v1{path}" for path in _api(round_))):
        content = client.get(address).getvalue()
        yield address, content
        if content.startswith(b"PK"):
            yield from _inside(address, content)


def _inside(address: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            yield f"{address}/{name}", archive.read(name)
            if name.endswith(".npz"):
                yield from _inside(f"{address}/{name}", archive.read(name))


def _api(round_: Round) -> Iterator[str]:
    yield from ("/", "/competitions", "/competitions/digits", "/signing-keys", "/submissions")
    yield from (f"/competitions/digits/{name}" for name in ("tracks", "rules", "rounds"))
    of_round = f"/competitions/digits/rounds/{round_.number}"
    yield from (of_round, f"{of_round}/decisions", f"{of_round}/objections")
    yield from (f"/competitions/digits/matches/{number}" for number in Match.objects.values_list("pk", flat=True))
    yield from (f"/competitions/digits/leaderboards/{kind}" for kind in ("model", "untargeted", "targeted"))
    for number in Submission.objects.values_list("pk", flat=True):
        yield from (f"/submissions/{number}{part}" for part in ("", "/evaluations", "/matches", "/log"))
