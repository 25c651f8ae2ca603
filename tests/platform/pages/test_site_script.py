"""The script of the pages, in a real browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Route

from tests.browser import opened, started_browser

SCRIPT = Path(__file__).parents[3] / "static" / "js" / "site.js"
FORM = '<form method="post" action="/account"><button>Create token</button></form>'
ORIGIN = "http://gauntlet.test"


def test_a_form_whose_button_is_clicked_twice_is_sent_once() -> None:
    sent: list[str] = []

    def answer(route: Route) -> None:
        if route.request.method == "POST":
            sent.append(route.request.url)  # no answer arrives before the second click
        else:
            route.fulfill(body=f"{FORM}<script>{SCRIPT.read_text()}</script>", content_type="text/html")

    with started_browser() as browser, opened(browser, ORIGIN) as page:
        page.route("**/*", answer)
        page.goto("/account")
        page.evaluate(
            "() => { const one = document.querySelector('button'); one.click(); setTimeout(() => one.click(), 100); }"
        )
        while not sent:
            page.wait_for_timeout(50)
        page.wait_for_timeout(300)  # the second click is over, too
    assert sent == [f"{ORIGIN}/account"]
