"""Recipes: all inputs that decide the content of an image, and the image name that follows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluation.builder.allowed_dockerfile_images import check_images
from evaluation.builder.build_context_tar import ContextEntry, tree_context
from evaluation.builder.build_pack_detection import DOCKERFILE, LEAN, detect_pack, dockerfile_of, render_pack
from evaluation.builder.docker_build_settings import BuildSettings
from evaluation.builder.dockerfile_parser import MAX_DOCKERFILE_BYTES
from evaluation.builder.lean_build_steps import (
    INSTALL_SCRIPT,
    MET_SCRIPT,
    OPERATOR_DIRECTORY,
    SOURCE_DIRECTORY,
    LeanSteps,
    lean_steps,
)
from evaluation.builder.mirrors import Reach
from evaluation.builder.tree_digest import tree_digest
from evaluation.domain.errors import BuildRefusal

RECIPE_FILE = "gauntlet.Dockerfile"

_VERSION = "3"
"""Increase it when the builder makes a different image of the same inputs."""


@dataclass(frozen=True)
class Installation:
    """The installing steps of a lean recipe whose other steps only copy the repository.

    Their build has no file of the repository but those that they read, so nothing else can decide its result.
    """

    dockerfile: str
    files: tuple[ContextEntry, ...]
    """What the steps read of the repository, as bytes."""
    has_addresses: bool = False
    """Whether a requirement is an address, whose content may change: then the result is not kept."""

    def context(self, settings: BuildSettings) -> Iterator[ContextEntry]:
        """Yield the build context."""
        yield ContextEntry(RECIPE_FILE, self.dockerfile.encode())
        yield from self.files
        yield from operator_files(settings)

    def key(self, settings: BuildSettings, reach: Reach, *, owner: str, base_id: str) -> str:
        """Return the digest of all that decides what is installed: 64 hexadecimal digits, other ones for each `owner`.

        Passwords of mirrors are left out: who has them may change them.
        """
        mirrors = [f"{mirror.origin}{mirror.path}" for mirror in reach.mirrors]
        network = [settings.network, repr(sorted(reach.hosts)), repr(mirrors)]
        entries = [
            repr((entry.name, entry.executable, _content_digest(entry.content))) for entry in self.context(settings)
        ]
        return _digest([_VERSION, LEAN, owner, base_id, *network, *entries]).removeprefix("sha256:")


@dataclass(frozen=True)
class ImageRecipe:
    """How to build one submission. `dockerfile` is its text, `file` the Dockerfile's path in the context."""

    pack: str
    source: Path
    dockerfile: str
    file: str
    digest: str
    arguments: tuple[tuple[str, str], ...] = ()
    files: tuple[ContextEntry, ...] = ()
    is_copied: bool = False
    """The files of the repository are copied, and no step sees them: the site writes their layer itself."""
    installation: Installation | None = None
    """The steps before that, if there are any."""

    def context(self, settings: BuildSettings, sdk: Path) -> Iterator[ContextEntry]:
        """Yield the build context, with the SDK from the directory `sdk` if the recipe needs it."""
        if self.pack == DOCKERFILE:
            yield from tree_context(self.source)
            return
        yield ContextEntry(self.file, self.dockerfile.encode())
        yield from self.files
        yield from tree_context(self.source, SOURCE_DIRECTORY)
        if self.pack == LEAN:
            yield from tree_context(sdk, "sdk")
            yield from operator_files(settings)


def image_name(digest: str) -> str:
    """Return `gauntlet/` and the first sixteen hexadecimal digits of a recipe's digest."""
    return f"gauntlet/{digest.removeprefix('sha256:')[:16]}"


def make_recipe(source: Path, settings: BuildSettings, *, base_id: str, sdk_digest: str) -> ImageRecipe:
    """Return the recipe for `source`, equal for equal tree, base image and SDK. Raise `BuildRefusal`.

    `base_id` is the id of the base image, so that a new base image under the old name gives new images.
    """
    pack = detect_pack(source, settings.base_python)
    file = RECIPE_FILE
    arguments: tuple[tuple[str, str], ...] = ()
    files: tuple[ContextEntry, ...] = ()
    is_copied, installation = False, None
    if pack == LEAN:
        steps = lean_steps(source, settings.base_image)
        dockerfile, is_copied = steps.dockerfile, not steps.further
        if is_copied and steps.installing:
            installation = _installation(source, steps)
    elif pack == DOCKERFILE:
        file = dockerfile_of(source)
        content = dockerfile_content(source, file)
        check_images(content, name=file, allowed=settings.images())
        dockerfile = content.decode()
    else:
        rendered = render_pack(source, pack, settings.base_image)
        dockerfile, arguments, files = rendered.dockerfile, rendered.arguments, rendered.files
        # its text contains parts of the repository's files
        check_images(dockerfile.encode(), name=f"repo2docker's {pack}", allowed=settings.images())
    digest = _digest([_VERSION, pack, dockerfile, repr(arguments), tree_digest(source), base_id, sdk_digest])
    return ImageRecipe(pack, source, dockerfile, file, digest, arguments, files, is_copied, installation)


def _installation(source: Path, steps: LeanSteps) -> Installation:
    read = tuple(ContextEntry(f"{SOURCE_DIRECTORY}/{path}", (source / path).read_bytes()) for path in steps.read)
    return Installation(steps.installing_dockerfile, read, steps.has_addresses)


def dockerfile_content(source: Path, file: str) -> bytes:
    """Return the bytes of the Dockerfile at `file` below `source`. Raise `BuildRefusal` if it is not a plain file."""
    path = source / file
    if not path.is_file() or path.resolve() != source.resolve() / file:
        raise BuildRefusal(f"{file} is not a plain file", fix="replace it by a plain file, or remove it")
    with path.open("rb") as opened:
        return opened.read(MAX_DOCKERFILE_BYTES + 1)


def operator_files(settings: BuildSettings) -> Iterator[ContextEntry]:
    """Yield the operator's settings as files for the installing steps of a lean build."""
    yield ContextEntry(f"{OPERATOR_DIRECTORY}/install", INSTALL_SCRIPT, executable=True)
    yield ContextEntry(f"{OPERATOR_DIRECTORY}/{MET_SCRIPT}", Path(__file__).with_name(MET_SCRIPT).read_bytes())
    certificates = settings.certificates.read_bytes() if settings.certificates else b""
    yield ContextEntry(f"{OPERATOR_DIRECTORY}/certificates.pem", certificates)
    links = settings.find_links
    if links and Path(links).is_dir():
        for wheel in sorted(Path(links).glob("*.whl")):
            yield ContextEntry(f"{OPERATOR_DIRECTORY}/wheels/{wheel.name}", wheel)
        links = f"/run/{OPERATOR_DIRECTORY}/wheels"
    options = {"index-url": settings.index_url, "extra-index-url": settings.extra_index_url, "find-links": links}
    lines = ["[global]", *(f"{name} = {value}" for name, value in options.items() if value)]
    yield ContextEntry(f"{OPERATOR_DIRECTORY}/pip.conf", ("\n".join(lines) + "\n").encode())


def _digest(parts: Iterable[str]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        whole.update(b"%d " % len(encoded) + encoded)
    return f"sha256:{whole.hexdigest()}"


def _content_digest(content: Path | bytes) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
