"""`gauntlet fetch`: the released parts of a round, verified, in a directory."""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import quote

from evaluation import __version__
from evaluation.cli.output import as_it_is, print_error, print_json, print_table, progress_bar, say, working
from evaluation.cli.public_key_value import given_key
from evaluation.cli.released_round import (
    BUNDLE,
    IMAGES,
    KEY,
    OBJECTIONS,
    PERTURBED,
    ReleasedRound,
    git,
    holds,
    open_images,
    require_commit,
)
from evaluation.cli.replay import add_key, opened
from evaluation.cli.site_client import NoRedirects, SiteClient, SiteRefusal, UnavailableSiteError
from evaluation.cli.site_login import add_json, add_site, public_client
from evaluation.domain.errors import Refusal, ReplayRefusal

DONE, REFUSED = 0, 3

_ADDRESS = re.compile(r"(https?://[^\s?#]+)/competitions/([a-z0-9-]+)/rounds/([1-9][0-9]{0,8})/?")
_NAMED = re.compile(r"([a-z0-9-]+)/([1-9][0-9]{0,8})")
_ROW = re.compile(r"[1-9][0-9]{0,17}")
_DIGEST = re.compile(r"[0-9a-f]{64}")

_FILES = {"bundle": BUNDLE, "images": IMAGES, "perturbed": PERTURBED, "objections": OBJECTIONS}
"""The parts of a release that are files, with their names here."""

MOST_BYTES = {BUNDLE: 16 << 30, IMAGES: 16 << 30, PERTURBED: 64 << 20, OBJECTIONS: 64 << 20}
"""The largest file of each part that is read."""
_MOST_ARCHIVE_BYTES = 4 << 30
_MOST_CODE_BYTES = 4 << 30
_SPARE_BYTES = 64 << 20
"""What stays free on the disk."""

_CLONE = ("clone", "--quiet", "--no-checkout", "--template=", "--no-recurse-submodules")
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules")
_TAGS = "+refs/tags/*:refs/tags/*"
_BEGUN = ".unfinished-"
_ABSENT = "absent"
"""The code of the refusal of a file that the site does not have, or does not show any more."""
_DIGEST_SHOWN = 16
"""Characters of the digest in the name of a file that is begun: the rest of another file does not fit."""
_SECONDS = 60
_CHUNK = 1 << 20


@dataclass(frozen=True)
class _Release:
    """A released part as the site lists it; without a digest it is no file, without a key not signed."""

    part: str
    sha256: str | None = None
    key: str | None = None


@dataclass(frozen=True)
class _ShownRound:
    """What the site says about a round."""

    state: str
    commitment: str
    field_commitment: str
    releases: list[_Release]


@dataclass(frozen=True)
class _PublishedKey:
    """A key that the site signs with, or did."""

    key: str


@dataclass(frozen=True)
class _Origin:
    """The site on which an imported competition was played."""

    signing_keys: list[str]


@dataclass(frozen=True)
class _Imported:
    """A competition; older sites say nothing of an origin."""

    origin: _Origin | None = None


@dataclass(frozen=True)
class _Fetched:
    """A part of a round in the directory; `new` says whether it was fetched now."""

    part: str
    path: Path
    new: bool


def add_parser(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "fetch",
        help="download the released parts of a round, and verify them",
        description="Downloads what the organisers released of a round, and verifies it. Without an option that names "
        "a part: bundle, images, objections, code, and the table of perturbed images, as far as they are released.",
        epilog=f"exit status: {DONE} fetched and verified, {REFUSED} a named part is not released, or a file is not "
        "the one that was signed",
    )
    command.add_argument("round", metavar="ROUND", help="SLUG/NUMBER, or the address of the round's page")
    command.add_argument("--into", type=Path, metavar="DIR", help="the directory (default: SLUG-round-NUMBER)")
    command.add_argument("--bundle", action="store_true", help="the signed bundle, which every other part brings along")
    command.add_argument("--images", action="store_true", help="the images of the samples")
    command.add_argument("--perturbed", action="store_true", help="all perturbed images, which may be large")
    command.add_argument("--code", action="store_true", help="the code of the submissions; needs git")
    add_key(command)
    add_site(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    site, slug, number = round_of(given.round)
    client = public_client(given, site)
    shown = client.read(_ShownRound, client.get(f"competitions/{quote(slug)}/rounds/{number}"))
    directory: Path = given.into or Path(f"{slug}-round-{number}")
    fetching = _Fetching(client, slug, number, shown, ReleasedRound(directory))
    wanted = [part for part in ("bundle", "images", "perturbed", "code") if getattr(given, part)]
    fetched, missing = fetching.fetch(wanted, given.key)
    problems = fetching.problems()
    if given.json:
        files = [{"part": each.part, "path": str(each.path), "new": each.new} for each in fetched]
        print_json(
            {"directory": str(directory), "files": files, "not_released": missing, "verified": not problems}
            | {"problems": problems}
        )
    else:
        rows = [(each.part, as_it_is(str(each.path)), "fetched" if each.new else "was there") for each in fetched]
        print_table(f"{slug}, round {number}", ("part", "file", ""), rows, text=(0, 1))
        if missing:
            say(f"Not released, so not here: {', '.join(missing)}.")
    for problem in problems:
        print_error(problem)
    if problems:
        return REFUSED
    say(f"{BUNDLE} is signed by the key in {KEY}, which {client.site} publishes, and its results follow from its rows.")
    return DONE


class _Fetching:
    """The download of one round."""

    def __init__(self, client: SiteClient, slug: str, number: str, shown: _ShownRound, of: ReleasedRound) -> None:
        self._client = client
        self._files = f"{client.site}/competitions/{quote(slug)}/rounds/{number}/files"
        self._name, self._slug = f"round {number} of {slug}", slug
        self._of, self._state = of, shown.state
        self._released = {each.part: each for each in shown.releases}
        self._commitments = {"samples": shown.commitment, "field": shown.field_commitment}

    def fetch(self, wanted: Sequence[str], key: str | None) -> tuple[list[_Fetched], list[str]]:
        """Download the wanted parts, without one all but the archives of perturbed images; say which are missing."""
        named = list(dict.fromkeys(["bundle", *wanted]))
        self._require(named)
        try:
            self._of.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Refusal(
                f"cannot write to {self._of.directory}: {error.strerror}", fix="name another directory with --into"
            ) from None
        self._keep_key(key)
        chosen = named if wanted else [*_FILES, "code"]
        parts = [part for part in chosen if part in self._released]
        fetched = [self._file(part) for part in parts if part in _FILES]
        missing = [part for part in chosen if part not in parts]
        if "perturbed" in wanted:
            fetched += self._archives(missing)
        if "code" in parts:
            fetched += self._code()
        return fetched, missing

    def problems(self) -> list[str]:
        """Return what the verification finds, as `gauntlet verify` does."""
        from evaluation.cli.bundle_verifier import verifier_of
        from evaluation.formats.registry import format_of_bundle

        with ExitStack() as files:
            bundle = files.enter_context(self._of.open_bundle())
            images, archives = open_images(self._of, files), _opened(self._of.archives())
            verify = verifier_of(format_of_bundle(bundle))
            report = verify(bundle, self._of.key(None), **self._commitments, images=images, perturbed=archives)
        found = [f"line {each.line}: {each.text}" if each.line else each.text for each in report.problems]
        return [*found, *([f"and {report.more:,} more problems"] if report.more else [])]

    def _require(self, parts: Sequence[str]) -> None:
        missing = [part for part in parts if part not in self._released]
        if missing:
            are = "are" if len(missing) > 1 else "is"
            why = "" if self._state == "published" else f": it is {self._state}"
            raise SiteRefusal(
                "not_released",
                f"{' and '.join(missing)} of {self._name} {are} not released{why}",
                fix=f"released so far: {', '.join(self._released) or 'nothing'}",
            )

    def _keep_key(self, given: str | None) -> None:
        """Write the key of the bundle. Raise `Refusal` if it is not one of the site's, or not the one known here."""
        key = str(self._released["bundle"].key)
        if not self._is_published(key) or not _DIGEST.fullmatch(key):
            raise SiteRefusal("unknown", "the bundle's key is none that the site publishes", fix="tell the organisers")
        path = self._of.directory / KEY
        known = given_key(given) if given else self._of.key(None)
        if known not in (None, key):
            raise SiteRefusal(
                "unknown",
                f"the bundle is signed by another key than the one {'given' if given else f'in {path}'}",
                fix=f"compare {key} with the key that the organisers publish; if it is theirs, remove {path}",
            )
        path.write_text(f"{key}\n", encoding="ascii")

    def _is_published(self, key: str) -> bool:
        """Return whether a key is one of the site's, or of the site on which an imported competition was played."""
        if key in {self._client.read(_PublishedKey, row).key for row in self._client.rows("signing-keys")}:
            return True
        origin = self._client.read(_Imported, self._client.get(f"competitions/{quote(self._slug)}")).origin
        return origin is not None and key in origin.signing_keys

    def _file(self, part: str) -> _Fetched:
        path, digest = self._of.directory / _FILES[part], str(self._released[part].sha256)
        if path.is_file() and _digest_of(path) == digest:
            return _Fetched(part, path, new=False)
        self._download(part, path, MOST_BYTES[path.name], digest)
        return _Fetched(part, path, new=True)

    def _archives(self, missing: list[str]) -> Iterator[_Fetched]:
        """Fetch the archive of each row of the table of perturbed images; the verification checks them all.

        Those of a hidden attack are not public, though the table has them: they are added to `missing`.
        """
        table = (self._of.directory / PERTURBED).read_text("utf-8").splitlines()
        numbers = [row[0] for row in csv.reader(table[1:]) if row]
        for number in numbers:
            if not _ROW.fullmatch(number):
                raise SiteRefusal("unknown", f"{PERTURBED} has a row {number[:100]!r}", fix="tell the organisers")
            part, path = f"perturbed-{number}", self._of.perturbed(number)
            new = not path.is_file()
            if new:
                path.parent.mkdir(exist_ok=True)
                try:
                    self._download(part, path, _MOST_ARCHIVE_BYTES)
                except SiteRefusal as refusal:
                    if refusal.code != _ABSENT:
                        raise
                    missing.append(part)
                    continue
            yield _Fetched(part, path, new)

    def _code(self) -> Iterator[_Fetched]:
        """Clone the released commits. Those that are not released are left out: the licence of some is not open."""
        try:
            matches = opened(self._of.directory, None).matches
        except ReplayRefusal as refusal:
            say(f"The code is not fetched: {refusal.problem}")
            return
        players = {player.name: player for match in matches for player in match.players.values()}
        wanted: dict[tuple[str, str], list[str]] = {}
        for player in players.values():
            for each in player.submissions:
                commits = wanted.setdefault((each.team, player.track), [])
                if require_commit(each.commit) not in commits:
                    commits.append(each.commit)
        for (team, track), commits in wanted.items():
            path = self._of.code(team, track)
            missing = [commit for commit in commits if not holds(path, commit)]
            if path.exists() and missing == commits:
                raise Refusal(f"{path} is not a copy of {commits[0][:12]}", fix="remove it, and fetch again")
            new = bool(missing) and self._clone(team, track, commits, path)
            if path.exists():
                yield _Fetched("code", path, new)

    def _clone(self, team: str, track: str, commits: Sequence[str], path: Path) -> bool:
        """Clone a repository, or fetch into its copy what was released since. Say which commits are not here.

        Return whether a commit came that was not here.
        """
        path.parent.mkdir(exist_ok=True)
        address = f"{self._client.site}/git/public/{quote(team)}/{quote(track)}.git"
        most = min(_MOST_CODE_BYTES, self._free())
        before = [commit for commit in commits if holds(path, commit)]
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=_BEGUN) as folder:
            copy = path if before else Path(folder) / path.name
            try:
                with working(f"cloning {team}/{track} ..."):
                    if before:
                        git(copy, *_FETCH, address, _TAGS, most_bytes=most)
                    else:
                        git(path.parent, *_CLONE, address, str(copy.absolute()), most_bytes=most)
            except Refusal as refusal:
                say(f"The code of {team}/{track} is not here: {refusal.problem}")
                return False
            after = [commit for commit in commits if holds(copy, commit)]
            for commit in commits:
                if commit not in after:
                    say(f"The code of {team}/{track} is not here: commit {commit[:12]} is not released.")
            if after and not before:
                listed = git(copy, "ls-tree", "-r", "-l", "-z", after[0]).split("\0")
                # mode, kind, object and size before the tab; a submodule has no size
                size = sum(int(line.split("\t")[0].split()[3].replace("-", "0")) for line in listed if line)
                if size > most:
                    raise Refusal(f"the code of {team}/{track} has {size >> 20:,} MB", fix="free space on the disk")
                git(copy, "checkout", "--quiet", "--detach", after[0])
                copy.rename(path)
        return after != before

    def _free(self) -> int:
        return max(0, shutil.disk_usage(self._of.directory).free - _SPARE_BYTES)

    def _download(self, part: str, path: Path, most: int, digest: str = "") -> None:
        """Write a part of the round to `path`, complete or not at all.

        With a digest, what came before a connection broke is kept beside it, and the next call goes on after it.
        """
        begun = path.with_name(f"{_BEGUN}{digest[:_DIGEST_SHOWN]}-{path.name}") if _DIGEST.fullmatch(digest) else None
        try:
            with ExitStack() as files:
                answer = files.enter_context(
                    self._answer(part, begun.stat().st_size if begun and begun.exists() else 0)
                )
                mode: Literal["ab", "wb"] = "ab" if answer.status == HTTPStatus.PARTIAL_CONTENT else "wb"
                copy: IO[bytes] = (
                    files.enter_context(begun.open(mode))
                    if begun
                    else files.enter_context(tempfile.NamedTemporaryFile(dir=path.parent, prefix=_BEGUN, delete=False))
                )
                name, had = Path(copy.name), copy.tell()
                length = int(answer.headers.get("Content-Length") or 0)
                self._require_room(part, length, most - had)
                forget = files.enter_context(ExitStack())  # left out only where the rest can follow
                forget.callback(name.unlink, missing_ok=True)
                try:
                    _copy(answer, copy, part, length, min(most - had, self._free()))
                except (OSError, HTTPException, _BrokenConnectionError, KeyboardInterrupt):
                    if begun:
                        forget.pop_all()
                    raise
                copy.flush()
                if digest and _digest_of(name) != digest:
                    raise SiteRefusal("unknown", f"{part} is not the file that the site lists", fix="fetch it again")
                name.replace(path)
        except urllib.error.HTTPError as error:
            text = f"{error.url} answers {error.code}"
            with error:
                if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise UnavailableSiteError(f"{text}\n  fix: try again later") from None
                code = _ABSENT if error.code == HTTPStatus.NOT_FOUND else "unknown"
                raise SiteRefusal(code, text, fix="try again later: it may have been withdrawn") from None
        except (OSError, ValueError, HTTPException) as error:
            raise UnavailableSiteError(f"{part} cannot be fetched: {error}\n  fix: run the command again") from None

    def _answer(self, part: str, had: int) -> HTTPResponse:
        """Ask for a file from byte `had` on; a site may send all of it. The token goes along to no file."""
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked by `site_login.site_address`
            f"{self._files}/{part}", headers={"User-Agent": f"gauntlet/{__version__}"}
        )
        if had:
            request.add_header("Range", f"bytes={had}-")
        opener = urllib.request.build_opener(NoRedirects())
        try:
            answer: HTTPResponse = opener.open(request, timeout=_SECONDS)
        except urllib.error.HTTPError as error:
            if not had or error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise
            error.close()
            return self._answer(part, 0)
        range_sent = answer.headers.get("Content-Range", "")
        if answer.status == HTTPStatus.PARTIAL_CONTENT and not (had and range_sent.startswith(f"bytes {had}-")):
            answer.close()
            if not had:
                raise ValueError("the site sends a part of it, which nobody asked for")
            return self._answer(part, 0)
        return answer

    def _require_room(self, part: str, length: int, most: int) -> None:
        if length > most:
            raise SiteRefusal("unknown", f"{part} is larger than {most >> 20:,} MB", fix="tell the organisers")
        if length > self._free():
            raise Refusal(
                f"{part} has {length >> 20:,} MB, and {self._free() >> 20:,} MB are free in {self._of.directory}",
                fix="free space, or name another --into",
            )


def round_of(text: str) -> tuple[str, str, str]:
    """Return site ("" for the usual one), competition and number of a round."""
    if found := _ADDRESS.fullmatch(text):
        return found[1], found[2], found[3]
    if named := _NAMED.fullmatch(text):
        return "", named[1], named[2]
    raise Refusal(
        f"{text} is no round", fix="write SLUG/NUMBER, such as digits/2, or SITE/competitions/SLUG/rounds/NUMBER"
    )


class _BrokenConnectionError(ValueError):
    """Fewer bytes came than were announced."""


def _copy(answer: IO[bytes], copy: IO[bytes], part: str, length: int, most: int) -> None:
    """Copy at most `most` bytes. Raise `ValueError` for more, and for fewer than announced."""
    size = 0
    with progress_bar(length >> 20, f"{part} (MB)") as bar:
        while content := answer.read(_CHUNK):
            size += len(content)
            if size > most:
                raise ValueError(f"it is larger than {most >> 20:,} MB")
            copy.write(content)
            bar.step()
    if size < length:
        raise _BrokenConnectionError(f"the connection broke after {size:,} of {length:,} bytes")


def _digest_of(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while content := file.read(_CHUNK):
            digest.update(content)
    return digest.hexdigest()


def _opened(paths: Sequence[Path]) -> Iterator[tuple[str, IO[bytes]]]:
    for path in paths:
        with path.open("rb") as file:
            yield str(path), file
