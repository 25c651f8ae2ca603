"""The modules that a program imports: which of them the repository has, and which the legacy environment."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from evaluation.domain.errors import BuildRefusal
from evaluation.legacy.environment import LegacyEnvironment

_LONG_NAME = re.compile(
    r"(?:\bimport\b|\bfrom\b|,)(?:[ \t\f.]|\\\r?\n)*+(?:(?:[ \t\f]|\\\r?\n)*+[^\s.\\,]++(?:[ \t\f]|\\\r?\n)*+\.){100}"
)
"""An imported name of more than 100 parts: for a very long one, Python's parser takes all memory of the host."""

_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)

_MOST_CODE_BYTES = 2 << 20
"""The most Python code that is followed; imports beyond it are found when the program runs."""


class Imports:
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
        self.used: dict[str, str] = {}
        """The modules that the environment or `own` provides, by name, each with the place of its first import."""
        self.trees: dict[str, ast.Module] = {}
        """The syntax trees of the files that were followed, by path."""
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
            for line, module in self._imported(path, started=path == script):
                if module in found:
                    continue
                found.add(module)
                local = self._local(top, module)
                waiting += local
                name = module.partition(".")[0]
                if local or str(top / name) in self._folders:
                    continue
                self.used.setdefault(name, f"{path}, line {line}")
                if not self._provided(name):
                    raise BuildRefusal(
                        f"{path}, line {line}: imports {name!r}, which is neither in the repository nor in the legacy "
                        "environment",
                        fix="an operator adds TensorFlow: `gauntlet legacy-environment DIR --tensorflow`"
                        if name == "tensorflow"
                        else f"add the code of {name} to the repository",
                    )

    def _imported(self, path: str, *, started: bool) -> Iterator[tuple[int, str]]:
        """Yield line and dotted name of the absolute imports that run when `path` is imported."""
        file = self._source / path
        self._bytes_left -= file.stat().st_size if file.is_file() else 0
        if self._bytes_left < 0 or not file.is_file():
            return
        self.trees[path] = tree = _parsed(file, path, started=started)
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


def _parsed(file: Path, path: str, *, started: bool) -> ast.Module:
    """Return the syntax tree of a Python file. Raise `BuildRefusal` for what is not Python 3.

    Only in the `started` script are tabs and spaces not mixed: the compatibility modules read all others as Python 2.
    """
    try:
        with tokenize.open(file) as opened:
            content = opened.read()
        if _LONG_NAME.search(content):
            raise SyntaxError("an imported name has more than 100 parts")
        try:
            return ast.parse(content)
        except TabError:
            if started:
                raise
            return ast.parse(_INDENTATION.sub(lambda found: found.group().expandtabs(8), content))
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise BuildRefusal(
            f"{path}, line {line}: not Python 3: {getattr(error, 'msg', error)}", fix="convert it to Python 3"
        ) from error
