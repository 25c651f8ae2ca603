"""Weights that a submission of 2017 names and its repository does not hold: most were never public."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from evaluation.domain.errors import BuildRefusal

_OPTION = re.compile(
    r"--([\w-]{1,80})[= ][\"']?(?:\./)?([\w./-]{1,200}\.(?:ckpt|pth|pt|npy|npz|h5|hdf5|pkl|pb|t7|tar)[\w.-]{0,80})"
)
_MAKES_FILES = re.compile(r"^[^#\n]*\b(?:cp|mv|ln|tar|unzip|gunzip|cat|split|wget|curl|mkdir)\b", re.MULTILINE)
_FIX = "add them to the repository; weights that nobody has any more cannot be run"


def require_named_weights(texts: Mapping[str, str], paths: Collection[str], trees: Iterable[ast.Module]) -> None:
    """Raise `BuildRefusal` for weights that a shell script passes as an option, and that are in no `paths`.

    An option counts only if the code in `trees` reads it, and the scripts, `texts` by name, must make no files.
    """
    if any(_MAKES_FILES.search(text) for text in texts.values()):
        return
    read = {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for name, text in texts.items():
        code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        for option, path in _OPTION.findall(code):
            if option.replace("-", "_") in read and not _is_there(path, paths):
                raise BuildRefusal(f"{name}: names the weights {path!r}, which are not in the repository", fix=_FIX)


def require_loaded_weights(tree: ast.Module, script: str, paths: Collection[str]) -> None:
    """Raise `BuildRefusal` for a file that `script` certainly loads as weights, and that is in no `paths`.

    Only what stands outside of conditions, loops and `try`, at the top or in `main`, is certain.
    """
    constants = {
        target.id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name) and isinstance(statement.value.value, str)
    }
    main = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "main"]
    for statement in _certain([*tree.body, *(inner for each in main for inner in each.body)]):
        for path in _loaded(statement, constants):
            if not path.startswith(("/", "..")) and not _is_there(path.removeprefix("./"), paths):
                raise BuildRefusal(
                    f"{script}, line {statement.lineno}: loads {path!r}, which is not in the repository", fix=_FIX
                )


def _certain(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the simple statements that run in any case."""
    for statement in statements:
        if isinstance(statement, ast.With):
            yield from _certain(statement.body)
        elif isinstance(statement, (ast.Assign, ast.Expr)):
            yield statement


def _loaded(statement: ast.stmt, constants: Mapping[str, str]) -> Iterator[str]:
    for node in ast.walk(statement):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        module = node.func.value
        if node.func.attr == "load" and isinstance(module, ast.Name) and module.id in ("torch", "np", "numpy"):
            argument = node.args[:1]
        elif node.func.attr == "restore":  # of a tf.train.Saver: the session, and the checkpoint
            argument = node.args[1:2]
        else:
            continue
        for named in argument:
            if isinstance(named, ast.Constant) and isinstance(named.value, str):
                yield named.value
            elif isinstance(named, ast.Name) and named.id in constants:
                yield constants[named.id]


def _is_there(path: str, paths: Collection[str]) -> bool:
    """Return True for a file, or a checkpoint of TensorFlow: `path` with .index and .data beside it."""
    return path in paths or any(each.startswith(f"{path}.") for each in paths)
