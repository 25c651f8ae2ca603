"""Markdown of organisers and teams as safe HTML: no raw HTML, links of safe schemes, images of this site only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.utils.html import format_html
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_DEEPEST_HEADING = 6
_SCHEMES = frozenset({"http", "https", "mailto"})


def render(text: str, below: int = 1) -> SafeString:
    """Render Markdown as HTML, to stand below a heading of level `below`: its highest headings are one level lower.

    Raw HTML is escaped. A link with another scheme than http, https and mailto stays text, and links to other sites
    carry `rel="nofollow ugc"`. An image of another site is replaced by its text. Tables and code scroll by themselves.
    """
    tokens = parse(text)
    headings = [token for token in tokens if token.type in {"heading_open", "heading_close"}]
    lower = below + 1 - min((int(token.tag[1]) for token in headings), default=0)
    for token in headings:
        token.tag = f"h{min(int(token.tag[1]) + lower, _DEEPEST_HEADING)}"
    return render_tokens(tokens)


def parse(text: str) -> list[Token]:
    """Return the parts of a text in Markdown, which a caller may change before they are rendered."""
    return _MARKDOWN.parse(text)


def render_tokens(tokens: Sequence[Token]) -> SafeString:
    """Render parts of Markdown as HTML, with what `render` promises. Code whose part has a mark can be copied."""
    return SafeString(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))  # the renderer escapes raw HTML


def _is_safe(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in _SCHEMES or (not parts.scheme and not parts.netloc)


def _is_own(address: str) -> bool:
    """Return whether the address is a path of this site; browsers read a backslash as a slash."""
    return address.startswith("/") and not address.startswith(("//", "/\\", "/%5C"))


def _stays_here(address: str) -> bool:
    """Return whether a browser that follows the address stays on this site: a path, also a relative one, or a mark."""
    return _is_own(address) or not (urlsplit(address).scheme or address.startswith(("/", "\\", "%5C")))


def _image(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    if _is_own(str(token.attrGet("src") or "")):
        return renderer.image(tokens, index, options, env)
    return escapeHtml(renderer.renderInlineAsText(token.children or [], options, env))


def _link(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    if not _stays_here(str(token.attrGet("href") or "")):
        token.attrSet("rel", "nofollow ugc")
    return renderer.renderToken(tokens, index, options, env)


def _table(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return format_html('<div class="scroll" role="group" tabindex="0" aria-label="{}"><table>\n', "Table")


def _table_end(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return "</table></div>\n"


def _cell(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Render the start of a cell, aligned by a class: the pages allow no inline styles."""
    token = tokens[index]
    if token.attrs.pop("style", None) == "text-align:right":
        token.attrSet("class", "end")
    return renderer.renderToken(tokens, index, options, env)


def _code(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    mark = token.attrGet("id")
    if mark is None:
        return format_html('<pre tabindex="0"><code>{}</code></pre>\n', token.content)
    return format_html(
        '<div class="copy-box"><pre tabindex="0"><code id="{0}">{1}</code></pre>'
        '<button class="button button-small" type="button" data-copy="{0}" hidden>Copy</button></div>\n',
        mark,
        token.content,
    )


class _SafeMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the name of markdown-it
        return _is_safe(url)


_MARKDOWN = _SafeMarkdown("commonmark", {"html": False}).enable("table")
_MARKDOWN.add_render_rule("image", _image)
_MARKDOWN.add_render_rule("link_open", _link)
_MARKDOWN.add_render_rule("table_open", _table)
_MARKDOWN.add_render_rule("table_close", _table_end)
_MARKDOWN.add_render_rule("th_open", _cell)
_MARKDOWN.add_render_rule("td_open", _cell)
_MARKDOWN.add_render_rule("fence", _code)
_MARKDOWN.add_render_rule("code_block", _code)
