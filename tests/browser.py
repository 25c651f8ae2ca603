"""A real browser for tests: what a page may not have is a failure."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect, sync_playwright

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

SEEN = ("critical", "serious")
"""The impacts of what axe-core finds that no page may have."""

AXE_OPTIONS = {"resultTypes": ["violations"], "selectors": False, "preload": {"assets": ["media"]}}
"""Without what nobody reads here: all places where a rule is kept, which take two thirds of axe-core's time, CSS
selectors of places, and the style sheets once more, for rules that are off by default.
"""

Scheme: TypeAlias = Literal["light", "dark"]

TIMEOUT_MS = 30_000
"""How long an action or an expectation waits for a page of a busy host."""


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Chromium; where there is one, that without a window, which takes a quarter less of the processor."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert program is not None, "these tests need Chromium: apt-get install chromium-headless-shell"
    with sync_playwright() as playwright:
        # containers give no user namespaces to its own sandbox; the pages are the site's
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def opened(browser: Browser, address: str, *, width: int = 1440) -> Iterator[Page]:
    """A page of the site at an address, on which no script fails and nothing breaks its policies."""
    context = browser.new_context(base_url=address)
    page = context.new_page()
    look(page, width, "light")
    page.set_default_timeout(TIMEOUT_MS)
    expect.set_options(timeout=TIMEOUT_MS)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    assert not problems, problems


def look(page: Page, width: int, scheme: Scheme) -> None:
    """Show the page in a window of another width in pixels, and in a colour scheme."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # or colours would change while they are checked


def problems_of(page: Page) -> list[str]:
    """What axe-core finds on a page, and whether it is wider than the screen."""
    if not page.evaluate("'axe' in window"):  # it is large, and stays until another page is opened
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("async options => (await axe.run(options)).violations", AXE_OPTIONS)
    problems = [f"{each['id']}: {node['html']}" for each in found if each["impact"] in SEEN for node in each["nodes"]]
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        problems.append("it is wider than the screen")
    return problems
