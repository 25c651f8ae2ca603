"""What a repository of 2018 lacks to run: found in its files, before anything is started."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from evaluation.builder.source_tree import TreeEntry
from evaluation.domain.errors import BuildRefusal
from evaluation.legacy.environment import LegacyEnvironment

START = "run.sh"

_POINTER = b"version https://git-lfs.github.com/spec/v1"
_STARTED = re.compile(
    r"^[ \t]*(?:exec )?python3?(?:\.\d)?(?: -[a-zA-Z]+)* (?:\./)?([\w./-]{1,250}\.py)\b", re.MULTILINE
)
_FOLDER = re.compile(r"^[ \t]*cd (?:\./)?([\w.][\w./-]{0,250})[ \t]*(?:$|[;&])", re.MULTILINE)
_LONG_NAME = re.compile(
    r"(?:\bimport\b|\bfrom\b|,)(?:[ \t\f.]|\\\r?\n)*+(?:(?:[ \t\f]|\\\r?\n)*+[^\s.\\,]++(?:[ \t\f]|\\\r?\n)*+\.){100}"
)
"""An imported name of more than 100 parts: for a very long one, Python's parser takes all memory of the host."""

_MOST_SCRIPT_BYTES = 64 << 10
_MOST_CODE_BYTES = 2 << 20
"""The most Python code that is followed; imports beyond it are found when the program runs."""


def check_program(source: Path, entries: Collection[TreeEntry], environment: LegacyEnvironment, own: Path) -> None:
    """Raise `BuildRefusal` for what keeps the program in `source` from running, in one sentence.

    1. `run.sh` is there, and bash can read it.
    2. No weights are a Git LFS pointer, or missing.
    3. The folders and scripts that `run.sh` names are there.
    4. The modules that those scripts import at their start are in the repository, in the legacy environment, or in
       `own`, the arena's modules.
    """
    paths = {str(entry.path) for entry in entries}
    text = _start_script(source, paths)
    _require_weights(source, entries, paths)
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    for folder in _FOLDER.findall(text):
        if not folder.startswith("..") and folder.rstrip("/") not in folders:
            raise BuildRefusal(
                f"{START}: goes to the folder {folder!r}, which is not in the repository", fix=f"correct {START}"
            )
    if _FOLDER.search(text):
        return  # names after it are relative to another folder
    imports = _Imports(source, paths, folders, environment, own)
    for script in dict.fromkeys(_STARTED.findall(text)):
        if script not in paths:
            raise BuildRefusal(
                f"{START}: starts {script!r}, which is not in the repository", fix=f"add {script}, or correct {START}"
            )
        imports.check(script)


def _require_weights(source: Path, entries: Collection[TreeEntry], paths: Collection[str]) -> None:
    for entry in entries:
        if entry.link is None and _is_pointer(source / entry.path):
            raise BuildRefusal(
                f"{entry.path}: a Git LFS pointer, without the file that it stands for",
                fix="run `git lfs pull` in the repository; weights that their host no longer has cannot be run",
            )
    with_data = {path.rpartition(".data-")[0] for path in paths}
    for path in sorted(paths):
        stem = path.removesuffix(".index")
        if stem != path and ".ckpt" in stem and stem not in with_data:
            raise BuildRefusal(
                f"{path}: the weights beside it, {PurePosixPath(stem).name}.data-..., are not in the repository",
                fix="add them; weights that nobody has any more cannot be run",
            )


def _start_script(source: Path, paths: Collection[str]) -> str:
    if START not in paths:
        raise BuildRefusal(f"{START} is missing", fix=f"add {START}, which starts the program: python3 -u ./main.py")
    with (source / START).open("rb") as file:
        content = file.read(_MOST_SCRIPT_BYTES)
    if b"\r" in content:
        raise BuildRefusal(
            f"{START} has the line ends of Windows (CRLF), which bash cannot read",
            fix=f"convert it: sed -i 's/\\r$//' {START}",
        )
    return content.decode("utf-8", "replace")


def _is_pointer(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_POINTER)) == _POINTER


class _Imports:
    """Follows the imports of a script through the repository."""

    def __init__(
        self,
        source: Path,
        paths: Collection[str],
        folders: Collection[str],
        environment: LegacyEnvironment,
        own: Path,
    ) -> None:
        self._source = source
        self._paths = paths
        self._folders = folders
        self._environment = environment
        self._own = {path.stem for path in own.iterdir()}
        self._seen: set[str] = set()
        self._bytes_left = _MOST_CODE_BYTES

    def check(self, script: str) -> None:
        """Raise `BuildRefusal` for the first import that nothing provides, and for code that is not Python 3."""
        top = PurePosixPath(script).parent
        found: set[str] = set()
        waiting = [script]
        while waiting:
            path = waiting.pop()
            if path in self._seen:
                continue
            self._seen.add(path)
            for line, module in self._imported(path):
                if module in found:
                    continue
                found.add(module)
                local = self._local(top, module)
                waiting += local
                name = module.partition(".")[0]
                if not local and str(top / name) not in self._folders and not self._provided(name):
                    raise BuildRefusal(
                        f"{path}, line {line}: imports {name!r}, which is neither in the repository nor in the legacy "
                        "environment",
                        fix="an operator adds TensorFlow: `gauntlet legacy-environment DIR --tensorflow`"
                        if name == "tensorflow"
                        else f"add the code of {name} to the repository",
                    )

    def _imported(self, path: str) -> Iterator[tuple[int, str]]:
        """Yield line and dotted name of the absolute imports that run when `path` is imported."""
        file = self._source / path
        self._bytes_left -= file.stat().st_size if file.is_file() else 0
        if self._bytes_left < 0 or not file.is_file():
            return
        try:
            with tokenize.open(file) as opened:
                content = opened.read()
            if _LONG_NAME.search(content):
                raise SyntaxError("an imported name has more than 100 parts")
            tree = ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or 1
            raise BuildRefusal(
                f"{path}, line {line}: not Python 3: {getattr(error, 'msg', error)}", fix="convert it to Python 3"
            ) from error
        for statement in tree.body:
            if isinstance(statement, ast.Import):
                yield from ((statement.lineno, alias.name) for alias in statement.names)
            elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
                yield statement.lineno, statement.module
                for alias in statement.names:
                    yield statement.lineno, f"{statement.module}.{alias.name}"

    def _local(self, top: PurePosixPath, module: str) -> list[str]:
        """Return the files of the repository that importing `module` runs."""
        parts = module.split(".")
        found = []
        for end in range(1, len(parts) + 1):
            below = top.joinpath(*parts[:end])
            found += [path for path in (f"{below}.py", f"{below}/__init__.py") if path in self._paths]
        return found

    def _provided(self, name: str) -> bool:
        return name in self._own or name == "gauntlet" or self._environment.provides(name)
