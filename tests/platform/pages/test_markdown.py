"""Markdown of organisers and teams is rendered without danger."""

from __future__ import annotations

import pytest

from pages.markdown import render


def test_headings_emphasis_links_and_tables_are_rendered() -> None:
    html = render("# Title\n\n**bold**, [a link](/rules) and `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    assert html.startswith('<h2>Title</h2>\n<p><strong>bold</strong>, <a href="/rules">a link</a>')
    assert "<td>1</td>" in html


def test_headings_follow_the_one_above_the_text() -> None:
    assert render("## A\n\n### B") == "<h2>A</h2>\n<h3>B</h3>\n"
    assert render("# A\n\n###### B", 2) == "<h3>A</h3>\n<h6>B</h6>\n"


def test_tables_and_code_are_reached_by_the_keyboard_where_they_scroll() -> None:
    assert render("```python\na < b\n```") == '<pre tabindex="0"><code>a &lt; b\n</code></pre>\n'
    assert render("    a < b") == '<pre tabindex="0"><code>a &lt; b\n</code></pre>\n'
    html = render("| a |\n|---|\n| 1 |")
    assert html.startswith('<div class="scroll" role="group" tabindex="0" aria-label="Table"><table>')
    assert html.endswith("</table></div>\n")


def test_cells_are_aligned_without_inline_styles_which_pages_forbid() -> None:
    html = render("| a | b | c |\n|---|--:|:-:|\n| 1 | 2 | 3 |")
    assert '<th class="end">b</th>' in html
    assert '<td class="end">2</td>' in html
    assert "<td>3</td>" in html
    assert "style" not in html


def test_links_to_other_sites_pass_no_reputation_on() -> None:
    assert render("[a](https://x.example)") == '<p><a href="https://x.example" rel="nofollow ugc">a</a></p>\n'
    assert 'rel="nofollow ugc"' in render("<https://x.example>")
    for address in ("///x.example", "/\\x.example", "\\\\x.example"):  # browsers read them as //x.example
        assert 'rel="nofollow ugc"' in render(f"[a](<{address}>)"), address
    for address in ("/rules", "other", "#part", "?page=2"):
        assert "rel=" not in render(f"[a]({address})"), address


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:x",
        "&#106;avascript:x",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc",
        "//x.example",
    ],
)
def test_a_link_of_another_scheme_is_text(address: str) -> None:
    assert "<a" not in render(f"[a]({address})")


def test_images_are_those_of_the_site() -> None:
    assert render("![a digit](/competitions/digits/images/1.png)") == (
        '<p><img src="/competitions/digits/images/1.png" alt="a digit" /></p>\n'
    )
    for address in (
        "https://x.example/i.png",
        "//x.example/i.png",
        "/\\x.example/i.png",
        "data:image/png;base64,AA",
        "i.png",
    ):
        assert "<img" not in render(f"![its *text*]({address})")
    assert render("![its *text*](https://x.example/i.png)") == "<p>its text</p>\n"


def test_raw_html_is_text() -> None:
    assert render("<script>alert(1)</script>") == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "&lt;script&gt;", "`<b>`", "![<i>](https://x.example)"])
def test_the_text_in_place_of_an_image_is_text(text: str) -> None:
    html = render(f"![{text}](https://x.example/i.png)")
    assert html.count("<") == 2, html  # the paragraph
