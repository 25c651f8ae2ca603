"""The public pages in a real browser: a reader's ways through a finished season, and what axe-core says of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from tests.browser import Scheme, look, opened, problems_of, started_browser
from tests.journeys.sites import MakeSite, PlayedSeason, Site, networks_of_host
from tests.slots import Slot

pytestmark = pytest.mark.timeout(2400)  # the first one waits until the season is played

LOOKS: tuple[tuple[int, Scheme], ...] = ((1440, "light"), (360, "dark"))
"""Widths in pixels and colour schemes that pages are checked in."""

HOME, BOARD = "/", "/competitions/small/leaderboards/untargeted"
DOCUMENTS = ("/docs/first-model", "/docs/seasons", "/docs/decisions/0001-only-queried-images-count")
"""One with code, one with tables wider than any screen, and a decision: one renderer makes all of them."""


@pytest.fixture(scope="module")
def site(season: PlayedSeason, root: Path, slot: Slot, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A copy of the finished season, with its web server alone. Nothing here changes it."""
    with closing(MakeSite(root, tmp_path_factory.mktemp("browser"), slot)) as make_site:
        copy = make_site(like=season.site)
        options = ["--bind", f"127.0.0.1:{copy.port}", "--workers", "1", "--no-control-socket"]
        command = [sys.executable, "-m", "gunicorn", "--config", "python:config.web_server", *options]
        with subprocess.Popen(
            command, cwd=root, env=copy.environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        ) as server:
            try:
                _wait_for(f"{copy.url}/healthz", server)
                yield copy
            finally:
                server.terminate()


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert server.poll() is None, "the web server has ended"
        try:
            if requests.get(address, timeout=5).ok:
                return
        except requests.RequestException:
            time.sleep(0.1)
    raise AssertionError("the web server did not answer within a minute")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started


@pytest.fixture(autouse=True)
def _networks_stay(site: Site, shared_folder: Path) -> Iterator[None]:
    with networks_of_host(shared_folder):
        yield


def test_a_reader_compares_attacks_opens_a_match_and_follows_the_final_to_its_images(
    site: Site, browser: Browser
) -> None:
    """Read a board, compare two attacks, open the matrix and a match, follow the final to its winners and images."""
    with opened(browser, site.url) as page:
        page.goto(HOME)
        page.get_by_role("link", name="Leaderboards").first.click()
        page.get_by_role("link", name="Untargeted attacks").first.click()
        rows = page.locator("table.board tbody tr:has(th[scope=row])")
        for number in (0, 1):
            rows.nth(number).get_by_role("checkbox").check()
        page.get_by_role("button", name="Compare selected").click()
        expect(page.get_by_role("heading", name="Scores side by side")).to_be_visible()
        expect(page.locator(".compared thead th")).to_have_count(2)
        expect(page.locator("svg[role=img]").first).to_be_visible()

        page.goto(BOARD)
        page.get_by_role("link", name="Matrix", exact=True).click()
        page.locator("table.heat td a").first.click()
        expect(page.get_by_role("heading", name="Result")).to_be_visible()
        expect(page).to_have_url(re.compile("/matches/"))

        page.goto(HOME)
        page.get_by_role("link", name="A small competition").first.click()
        page.get_by_role("link", name="The final").first.click()
        expect(page.get_by_role("heading", name="Top five")).to_be_visible()
        expect(page.locator("#bracket")).to_be_visible()
        page.get_by_role("link", name="Images", exact=True).click()
        page.get_by_role("link", name="By attack").click()
        page.locator("a[href*='amplify=25']").click()
        page.wait_for_url("**amplify=25**")
        shown = page.locator(".side-by-side img")
        expect(shown.nth(1)).to_be_attached()
        shown.first.scroll_into_view_if_needed()
        page.wait_for_function("document.querySelector('.side-by-side img').naturalWidth > 0")


def test_the_keyboard_is_enough(site: Site, browser: Browser) -> None:
    with opened(browser, site.url) as page:
        page.goto(HOME)
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        page.goto(BOARD)
        for _ in range(2):
            tab_to(page, "input[type=checkbox]")
            page.keyboard.press("Space")
        assert page.locator("table.board input:checked").count() == 2
        tab_to(page, "form.compare button")
        page.keyboard.press("Enter")
        page.wait_for_url("**/curves/**")
        page.goto("/competitions/small")
        tab_to(page, "a[href$='/leaderboards/model']")
        page.keyboard.press("Enter")
        page.wait_for_url("**/leaderboards/model")


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus that fits, and see that a focus is visible on the way."""
    for _ in range(80):
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the Tab key does not reach {selector}")


def addresses(page: Page) -> list[str]:
    """One address of each kind of public page, from the sitemap and from links, and three of the documentation."""
    found = ["/search?q=small", "/accounts/login/", "/docs/search?q=attack", *DOCUMENTS]
    found += ["/competitions/small/matrix/untargeted", "/competitions/small/history/model"]
    found += [f"{BOARD}?at=2026-01-02", "/competitions/small/rounds/2/gallery/untargeted"]
    found += ["/competitions/small/rounds/2/matrix/untargeted"]
    sitemap = page.request.get("/sitemap.xml").text()
    kinds = set()
    for address in re.findall(r"<loc>https?://[^/]+([^<]*)</loc>", sitemap):
        kind = re.sub(r"^/teams/.+", "/teams/TEAM", address)
        if kind not in kinds and not kind.startswith("/docs/"):
            kinds.add(kind)
            found.append(address)
    for name, start in (("submissions", BOARD), ("matches", "/competitions/small/rounds/2/matrix/untargeted")):
        page.goto(start)
        link = page.locator(f"main a[href^='/{name}/']").first.get_attribute("href")
        assert link
        found.append(link)
    return found


def test_axe_finds_nothing_serious_and_no_page_is_wider_than_the_screen(site: Site, browser: Browser) -> None:
    found: dict[str, list[str]] = {}
    with opened(browser, site.url) as page:
        pages = addresses(page)
        assert len(pages) > 15
        for address in pages:
            page.goto(address)
            for width, scheme in LOOKS:
                look(page, width, scheme)
                if problems := problems_of(page):
                    found[f"{address} at {width}, {scheme}"] = problems
    assert not found


def test_names_without_a_space_wrap_on_a_phone(site: Site, browser: Browser) -> None:
    """A team has a name of up to 80 characters, a person one of 150, both on pages of everybody."""
    with opened(browser, site.url, width=360) as page:
        page.goto(BOARD)
        team = page.locator("a[href^='/teams/']").first.get_attribute("href")
        assert team is not None
        named = {
            HOME: ["main .row-apart .button"],
            "/competitions/small": [".headline h1", ".headline p", ".headline .button"],
            team: [".people a"],
        }
        for address, selectors in named.items():
            page.goto(address)
            for selector in selectors:
                page.locator(selector).first.evaluate("each => { each.textContent = 'W'.repeat(80); }")
            assert page.evaluate("document.documentElement.scrollWidth") == 360, address


def sign_in(page: Page, site: Site, name: str) -> None:
    """Sign in as somebody of the demo."""
    password = json.loads((site.state / "demo.json").read_text())[name]["password"]
    page.goto("/accounts/login/")
    page.fill("input[name=login]", name)
    page.fill("input[name=password]", password)
    page.press("input[name=password]", "Enter")
    page.wait_for_url(lambda address: "/login" not in address)
    assert problems_of(page) == []  # with a message: "Signed in."


def test_a_team_replays_the_path_of_its_attack(site: Site, browser: Browser) -> None:
    """On the pictures of its smoke test, under the site's own policies: the page runs no inline script or style."""
    with opened(browser, site.url) as page:
        sign_in(page, site, "olga")
        page.goto(BOARD)
        links = page.locator("table.board a[href^='/submissions/']").evaluate_all("all => all.map(each => each.href)")
        for link in dict.fromkeys(links):
            page.goto(link)
            if page.locator("[data-replay]").count():
                break
        page.get_by_role("heading", name="Pictures of the smoke test").scroll_into_view_if_needed()
        sample = page.locator("[data-sample]:has([data-replay])").first
        output, slider = sample.locator("[data-replay] output"), sample.locator("[data-replay] input")
        page.locator("details").evaluate_all(
            "all => all.forEach(each => { each.open = true; })"
        )  # it may be folded away
        last = output.inner_text()
        slider.focus()
        slider.press("Home")
        assert output.inner_text() != last
        assert output.inner_text().startswith("Query ")
        assert sample.locator("[data-perturbed]").get_attribute("src") != sample.locator("[data-clean]").get_attribute(
            "src"
        )
        page.wait_for_function("document.querySelector('#pictures canvas').width > 0")
        sample.get_by_role("button", name="Replay").click()
        page.wait_for_function("text => document.querySelector('[data-replay] output').textContent === text", arg=last)
        assert problems_of(page) == []
