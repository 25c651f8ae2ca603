"""Texts of the pages and their translations: what templates and code say, and the catalogue of a language.

Texts are read as Django reads them, so GNU gettext is not needed. `manage.py translations` writes the catalogues.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polib
from django.template import Context, Template
from django.template.base import Node, NodeList, Token, TokenType
from django.template.defaulttags import IfNode
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.translation import trim_whitespace

BORROWED = "of "
"""Start of the comment of a translation that replaces one of a library: "of django-allauth"."""

_CALLS = {
    **dict.fromkeys(("gettext", "gettext_lazy", "gettext_noop", "_", "Text"), ("message",)),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), ("message", "plural")),
    "pgettext": ("context", "message"),
    "pgettext_lazy": ("context", "message"),
}
_MARKED = re.compile(r"gettext|\bText\(")
_CODE = ("platform", "evaluation/charts", "evaluation/domain", "evaluation/formats")
_CONSTANT = re.compile(r"""\b_\("([^"]*)"\)""")


class Message(NamedTuple):
    """A text: `plural` and `context` are "" for most."""

    message: str
    plural: str = ""
    context: str = ""


def messages(root: Path) -> Mapping[Message, str]:
    """Return every text of the pages, with the file that has it first."""
    found: dict[Message, str] = {}
    for path in sorted((root / "templates").rglob("*")):
        if path.suffix in {".html", ".txt"} and "admin" not in path.relative_to(root / "templates").parts[:1]:
            for message in of_template(path.read_text(encoding="utf-8")):
                found.setdefault(message, path.relative_to(root).as_posix())
    for path in sorted(each for folder in _CODE for each in (root / folder).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for message in of_code(source) if _MARKED.search(source) else ():
            found.setdefault(message, path.relative_to(root).as_posix())
    return found


def of_template(source: str) -> Iterator[Message]:
    """Yield the texts of a template."""
    for node in _nodes(Template(source).nodelist):
        if isinstance(node, BlockTranslateNode):
            yield _of_block(node)
        elif isinstance(node, TranslateNode) and isinstance(text := node.filter_expression.var.literal, str):
            yield Message(text.replace("%", "%%"), context=_context(node))
    for text in _CONSTANT.findall(source):
        yield Message(text.replace("%", "%%"))


def _nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield nodes and the nodes in them, also where a tag of a library does not name the list that it holds."""
    for node in nodes:
        yield node
        for held in vars(node).values():
            if isinstance(held, NodeList):
                yield from _nodes(held)
        if isinstance(node, IfNode):
            yield from (inner for _, branch in node.conditions_nodelists for inner in _nodes(branch))


def _of_block(node: BlockTranslateNode) -> Message:
    texts = ("".join(map(_part, tokens)) for tokens in (node.singular, node.plural or ()))
    message, plural = (trim_whitespace(text) if node.trimmed else text for text in texts)
    return Message(message, plural, _context(node))


def _part(token: Token) -> str:
    if token.token_type == TokenType.TEXT:
        return token.contents.replace("%", "%%")
    return f"%({token.contents})s"


def _context(node: TranslateNode | BlockTranslateNode) -> str:
    return str(node.message_context.resolve(Context())) if node.message_context else ""


def of_code(source: str) -> Iterator[Message]:
    """Yield the texts of Python code. Raise `ValueError` for a text that is put together.

    A variable is a text that is marked where it is defined.
    """
    for node in ast.walk(ast.parse(source)):
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if name in _CALLS and isinstance(node, ast.Call):
            names = _CALLS[name]
            given = dict(zip(names, node.args, strict=False))
            constants = {key: each.value for key, each in given.items() if isinstance(each, ast.Constant)}
            if len(constants) == len(names):
                yield Message(**{key: str(value) for key, value in constants.items()})
            elif any(isinstance(each, ast.JoinedStr | ast.BinOp) for each in given.values()):
                raise ValueError(f"line {node.lineno}: {name}() needs a constant")


def catalogue(file: Path) -> polib.POFile:
    """Return the translations of a language, none if the file is missing."""
    return polib.pofile(str(file), wrapwidth=120) if file.exists() else polib.POFile(wrapwidth=120)


def message_of(entry: polib.POEntry) -> Message:
    """Return the text that an entry translates."""
    return Message(entry.msgid, entry.msgid_plural, entry.msgctxt or "")


def update(file: Path, found: Mapping[Message, str]) -> list[Message]:
    """Write the catalogue with exactly these texts, and its compiled form; return what has no translation yet."""
    old = {message_of(entry): entry for entry in catalogue(file)}
    new = polib.POFile(wrapwidth=120)
    new.metadata = {
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Language": file.parent.parent.name,
        "Plural-Forms": "nplurals=2; plural=(n != 1);",
    }
    borrowed = [message for message, entry in old.items() if entry.tcomment.startswith(BORROWED)]
    for message in [*found, *(each for each in borrowed if each not in found)]:
        entry = old.get(message) or _entry(message)
        entry.occurrences = [(found[message], "")] if message in found else []
        new.append(entry)
    new.save(str(file))
    new.save_as_mofile(str(file.with_suffix(".mo")))
    return [message for message in found if not is_translated(new, message)]


def _entry(message: Message) -> polib.POEntry:
    plural = {"msgid_plural": message.plural, "msgstr_plural": {0: "", 1: ""}} if message.plural else {}
    context = {"msgctxt": message.context} if message.context else {}
    python = ["python-format"] if re.search(r"%[(%]", message.message) else []
    return polib.POEntry(msgid=message.message, flags=python, **plural, **context)


def is_translated(translations: Iterable[polib.POEntry], message: Message) -> bool:
    """Return whether a text has a translation, with all its plural forms, that nobody marked as uncertain."""
    entry = next((each for each in translations if message_of(each) == message), None)
    return entry is not None and entry.translated() and not entry.fuzzy
