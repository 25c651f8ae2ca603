"""The modules that a program imports: which of them the repository has, and which the legacy environment."""

from __future__ import annotations

import ast
import itertools
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
        self._changes_path = False

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
                if module.startswith("."):
                    waiting += self._beside(PurePosixPath(path).parent, module)
                    continue
                if module in found:
                    continue
                found.add(module)
                local = self._local(top, module)
                waiting += local
                name = module.partition(".")[0]
                if local or str(top / name) in self._folders:
                    continue
                if self._changes_path and self._is_anywhere(name):
                    continue  # what stands on the changed path is known when the program runs
                self.used.setdefault(name, f"{path}, line {line}")
                if not self._provided(name):
                    raise BuildRefusal(
                        f"{path}, line {line}: imports {name!r}, which is neither in the repository nor in the legacy "
                        "environment",
                        fix="an operator adds TensorFlow: `gauntlet legacy-environment DIR --tensorflow`"
                        if name == "tensorflow"
                        else f"add the code of {name} to the repository",
                    )

    def _imported(self, path: str) -> Iterator[tuple[int, str]]:
        """Yield line and dotted name of the imports that run when `path` is imported; relative ones begin with dots."""
        file = self._source / path
        self._bytes_left -= file.stat().st_size if file.is_file() else 0
        if self._bytes_left < 0 or not file.is_file():
            return
        self.trees[path] = tree = _parsed(file, path)
        self._changes_path |= any(_is_module_path(node) for node in ast.walk(tree))
        for statement in tree.body:
            if isinstance(statement, ast.Import):
                yield from ((statement.lineno, alias.name) for alias in statement.names)
            elif isinstance(statement, ast.ImportFrom):
                dots, own = "." * statement.level, statement.module or ""
                if own:
                    yield statement.lineno, dots + own
                for alias in statement.names:
                    yield statement.lineno, dots + (f"{own}." if own else "") + alias.name

    def _beside(self, package: PurePosixPath, module: str) -> list[str]:
        """Return the files of the repository that a relative import in `package` runs: its dots name the package."""
        name = module.lstrip(".")
        for _ in range(len(module) - len(name) - 1):
            package = package.parent
        return self._local(package, name)

    def _local(self, top: PurePosixPath, module: str) -> list[str]:
        """Return the files of the repository that importing `module` runs."""
        parts = module.split(".")
        found = []
        for end in range(1, len(parts) + 1):
            below = top.joinpath(*parts[:end])
            found += [path for path in (f"{below}.py", f"{below}/__init__.py") if path in self._paths]
        return found

    def _is_anywhere(self, name: str) -> bool:
        """Return True if some folder of the repository has a module of that name."""
        return any(PurePosixPath(path).name in (f"{name}.py", name) for path in (*self._paths, *self._folders))

    def _provided(self, name: str) -> bool:
        return name in self._own or name == "gauntlet" or self._environment.provides(name)


def _is_module_path(node: ast.AST) -> bool:
    """Return True for `sys.path`."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "path"
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
    )


def _parsed(file: Path, path: str) -> ast.Module:
    """Return the syntax tree of a Python file. Raise `BuildRefusal` for what is not Python 3.

    What the compatibility modules repair is allowed: tabs and spaces, and strings before `from __future__ import`.
    """
    try:
        with tokenize.open(file) as opened:
            content = opened.read()
        if _LONG_NAME.search(content):
            raise SyntaxError("an imported name has more than 100 parts")
        return _compiled(content, path)
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise BuildRefusal(
            f"{path}, line {line}: not Python 3: {getattr(error, 'msg', error)}", fix="convert it to Python 3"
        ) from error


def _compiled(content: str, path: str) -> ast.Module:
    """Return the syntax tree of code that compiles: the parser alone takes a late `from __future__ import`."""
    try:
        tree = ast.parse(content)
    except TabError:
        tree = ast.parse(_INDENTATION.sub(lambda found: found.group().expandtabs(8), content))
    strings = len(list(itertools.takewhile(_is_string, tree.body)))
    del tree.body[1:strings]
    compile(tree, path, "exec", dont_inherit=True)
    return tree


def _is_string(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
