"""Images that a Dockerfile may name: its own stages, `scratch`, the base image, and the operator's list. Pure.

The engine holds the images of all teams, so a name decides what a build can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluation.builder.dockerfile_parser import Instruction, read_dockerfile, refusal
from evaluation.domain.errors import BuildRefusal

PLAYER_IMAGES = "gauntlet"
"""The names of players' images start with `gauntlet/`."""

SCRATCH = "scratch"

_REFERENCE = re.compile(
    r"(?:(?P<registry>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?|[A-Za-z0-9-]+:\d+|localhost)/)?"
    r"(?P<path>[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?P<digest>@sha256:[0-9a-f]{64})?"
)
_IMAGE_ID = re.compile(r"docker\.io/library/(?:[0-9a-f]+|sha256)")
"""An engine may read such a name as (the start of) an image's id."""
_MAX_REFERENCE = 1024
_NUMBER = re.compile(r"[0-9]{1,4}")
_STAGE = re.compile(r"[a-z][a-z0-9._-]*")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_ARGUMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:=([\"']?)([^\"'\\$\s]{0,255})\2)?")
_SET_BY_ENGINES = re.compile(
    r"(?:BUILD|TARGET)(?:PLATFORM|OS|OSVERSION|ARCH|VARIANT|STAGE)|BUILDKIT_.*|SOURCE_DATE_EPOCH|PIP_.*"
    r"|(?:https?|ftp|no|all)_proxy",
    re.IGNORECASE,
)
"""Arguments to which engines give another value than the file says."""

_FLAGS = {
    "FROM": {"platform"},
    "COPY": {"from", "chown", "chmod"},
    "ADD": {"chown", "chmod"},
    "RUN": {"mount", "network"},
}
_MOUNTS = ("bind", "tmpfs")
_MOUNT_OPTIONS = (
    "type", "source", "src", "target", "dst", "destination", "from", "readonly", "ro", "readwrite", "rw", "size",
)  # fmt: skip


@dataclass(frozen=True)
class ImageName:
    """An image's name as engines complete it: `python` is `docker.io/library/python:latest`."""

    repository: str
    tag: str
    digest: str


class AllowedImages:
    """The base image and the operator's list: `registry/folder/`, `repository` (any tag) or `repository:tag`."""

    def __init__(self, base_image: str, listed: Iterable[str] = ()) -> None:
        self._base_image = base_image
        self._listed = tuple(listed)
        self._entries = [image_entry(entry) for entry in self._listed]
        self._base = _name_of(base_image)

    def allow(self, reference: str) -> bool:
        """Return True if a Dockerfile may name `reference`: never a player's image, nor a possible image id."""
        if reference == SCRATCH:
            return True
        name = _name_of(reference)
        if name is None:
            return False
        if name == self._base:
            return True
        if name.repository.startswith(f"docker.io/{PLAYER_IMAGES}/") or _IMAGE_ID.fullmatch(name.repository):
            return False
        return any(_covers(entry, name) for entry in self._entries)

    def __str__(self) -> str:
        return ", ".join([self._base_image, SCRATCH, *self._listed])


def image_entry(text: str) -> ImageName:
    """Parse an entry of the operator's list; an empty tag means any tag, a final slash all images below.

    Raise `ValueError` for an invalid image name.
    """
    below = text.endswith("/")
    last = text.rstrip("/").rpartition("/")[2]
    # a registry alone is not an image name, so a name below it is parsed instead
    name = _name_of(f"{text}x" if below else text)
    if name is None:
        raise ValueError(f"{text!r} is not an image name such as python:3.11 or ghcr.io/team/")
    if below:
        return ImageName(name.repository.removesuffix("x"), "", "")
    return name if ":" in last or name.digest else ImageName(name.repository, "", "")


def check_images(content: bytes, *, name: str, allowed: AllowedImages) -> None:
    """Raise `BuildRefusal` for the first image that the Dockerfile `name` may not use, or for an unreadable line."""
    _Check(name, allowed).run(read_dockerfile(content, name=name))


class _Check:
    def __init__(self, name: str, allowed: AllowedImages) -> None:
        self._name = name
        self._allowed = allowed
        self._arguments: dict[str, str | None] = {}
        self._stages: list[str] = []

    def run(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            self._check_flags(instruction)
            if instruction.name == "FROM":
                self._begin_stage(instruction)
            elif not self._stages:
                self._declare(instruction)
            elif instruction.name == "COPY":
                self._check_copy(instruction)
            elif instruction.name == "RUN":
                self._check_run(instruction)
        if not self._stages:
            raise BuildRefusal(f"{self._name} has no FROM", fix="start it with FROM and the name of an image")

    def _check_flags(self, instruction: Instruction) -> None:
        for flag, _ in instruction.flags:
            if flag not in _FLAGS[instruction.name]:
                raise self._refusal(instruction, f"{instruction.name} --{flag} is not allowed", "remove the flag")

    def _declare(self, instruction: Instruction) -> None:
        if instruction.name != "ARG":
            raise self._refusal(
                instruction,
                f"{instruction.name} comes before the first FROM",
                "move it below FROM; only ARG may come first",
            )
        for word in instruction.rest.split():
            found = _ARGUMENT.fullmatch(word)
            if found is None:
                raise self._refusal(
                    instruction, f"ARG {word[:80]} is not readable", "before the first FROM, write ARG name=value"
                )
            # engines differ in which of two declarations counts
            known = found[1] not in self._arguments and not _SET_BY_ENGINES.fullmatch(found[1])
            self._arguments[found[1]] = found[3] if known else None

    def _begin_stage(self, instruction: Instruction) -> None:
        words = instruction.rest.split()
        aliased = len(words) == 3 and words[1].upper() == "AS"
        if not (aliased or len(words) == 1) or len(words[0]) > _MAX_REFERENCE:
            raise self._refusal(instruction, "FROM is not readable", "write FROM image, or FROM image AS stage")
        image = self._substituted(instruction, words[0])
        self._require(instruction, image, stages=self._stages)
        stage = words[2].lower() if aliased else ""
        if stage and not _STAGE.fullmatch(stage):
            raise self._refusal(
                instruction, f"{words[2]!r} is not a stage name", "use letters, digits, dots, dashes, underscores"
            )
        self._stages.append(stage)

    def _substituted(self, instruction: Instruction, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            key = found[1] or found[2]
            if (given := self._arguments.get(key)) is None:
                raise self._refusal(
                    instruction,
                    f"the value of {found[0]} is unknown",
                    f"declare it once, before the first FROM, as ARG {key}=value, or write the image out",
                )
            return given

        return _VARIABLE.sub(value, text)

    def _check_copy(self, instruction: Instruction) -> None:
        for flag, value in instruction.flags:
            if flag == "from":
                numbered = _NUMBER.fullmatch(value) is not None and int(value) < len(self._stages) - 1
                if not numbered:
                    self._require(instruction, value, stages=self._stages[:-1])

    def _check_run(self, instruction: Instruction) -> None:
        for flag, value in instruction.flags:
            if flag == "network" and value not in ("none", "default"):
                raise self._refusal(instruction, f"--network={value} is not allowed", "remove the flag, or use none")
            if flag == "mount":
                self._check_mount(instruction, value)

    def _check_mount(self, instruction: Instruction, text: str) -> None:
        options = [(key.lower(), value) for key, _, value in (part.partition("=") for part in text.split(","))]
        kinds = [value.lower() for key, value in options if key == "type"] or ["bind"]
        if unfit := [kind for kind in kinds if kind not in _MOUNTS]:
            reason = "caches are shared by all teams" if unfit[0] == "cache" else "builds here have no such mounts"
            raise self._refusal(
                instruction,
                f"--mount=type={unfit[0][:40]} is not allowed: {reason}",
                f"remove the mount, or use type={' or type='.join(_MOUNTS)}",
            )
        if "$" in text or any(key not in _MOUNT_OPTIONS for key, _ in options):
            raise self._refusal(
                instruction, f"--mount={text[:80]} is not readable", "write options as key=value, without variables"
            )
        for key, value in options:
            if key == "from":
                self._require(instruction, value, stages=self._stages[:-1])

    def _require(self, instruction: Instruction, image: str, *, stages: Sequence[str]) -> None:
        if (image and image.lower() in stages) or self._allowed.allow(image):
            return
        raise self._refusal(
            instruction,
            f"{instruction.name} names the image {image[:120]!r}, which is not allowed",
            f"use an earlier stage of this file, or one of: {self._allowed}; ask the organisers to allow others",
        )

    def _refusal(self, instruction: Instruction, problem: str, fix: str) -> BuildRefusal:
        return refusal(self._name, instruction.line, problem, fix)


def _name_of(reference: str) -> ImageName | None:
    found = _REFERENCE.fullmatch(reference) if len(reference) <= _MAX_REFERENCE else None
    if found is None:
        return None
    registry, path = (found["registry"] or "docker.io").lower(), found["path"]
    if registry == "index.docker.io":
        registry = "docker.io"
    if registry == "docker.io" and "/" not in path:
        path = f"library/{path}"
    return ImageName(f"{registry}/{path}", found["tag"] or "latest", found["digest"] or "")


def _covers(entry: ImageName, name: ImageName) -> bool:
    if entry.repository.endswith("/"):
        return name.repository.startswith(entry.repository)
    if entry.repository != name.repository:
        return False
    return entry.tag == "" or (entry.tag, entry.digest) == (name.tag, name.digest)
