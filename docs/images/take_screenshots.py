"""Take the pictures of the documentation from a running demo with a finished season (`make demo ARGS=--full`).

.venv/bin/python docs/images/take_screenshots.py http://127.0.0.1:8000 --organiser PASSWORD

With `--seasons`, those of docs/seasons.md and docs/decision-1000.md, by their names, from the sites of the seasons.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, FloatRect, sync_playwright

HERE = Path(__file__).resolve().parent
COMPETITION = "/competitions/digits"
MARGIN = 24


@dataclass(frozen=True)
class Picture:
    """A page, and the part of it that the picture shows: from an element on."""

    name: str
    address: str
    width: int = 1280
    height: int = 800
    scheme: Literal["light", "dark"] = "light"
    start: str = "body"
    signed_in: bool = False


PICTURES = (
    Picture("home", "/", height=1060, start="h1"),
    Picture("leaderboard", f"{COMPETITION}/leaderboards/model", height=760, start="h1"),
    Picture("matrix", f"{COMPETITION}/rounds/2/matrix/untargeted", height=690, scheme="dark", start="h1"),
    Picture("round", f"{COMPETITION}/rounds/2", height=900, start="#first"),
    Picture("gallery", f"{COMPETITION}/rounds/2/gallery/untargeted", height=860, start="#gallery"),
    Picture("history", f"{COMPETITION}/history/model", height=830, scheme="dark", start="h1"),
    Picture("phone", f"{COMPETITION}/leaderboards/untargeted", width=390, height=844, start=".board-frame"),
    Picture("organiser-round", "/admin/rounds/round/1/change/", height=900, signed_in=True),
    # the demo's eighth push, a targeted attack
    Picture("smoke-test", "/submissions/8", height=720, start="#pictures", signed_in=True),
)

# Of Tiny ImageNet only pages without its images, which nobody may publish. Those of 2017 are CC BY: see the credits in
# docs/seasons.md.
SEASONS = (
    Picture(
        "season-2018-board",
        "/competitions/avc-2018/leaderboards/untargeted?at=2026-11-27T16:45",
        height=430,
        start="#board-caption",
    ),
    Picture("season-2018-final", "/competitions/avc-2018/rounds/5", height=860, start="#first"),
    Picture("season-2018-match", "/matches/12", height=1060, start="h1"),
    Picture("season-2017-final", "/competitions/nips-2017/rounds/6", height=900, start="#track-title"),
    Picture("season-2017-submission", "/submissions/18", height=430, start="#pictures", signed_in=True),
    # of a site of its own: docs/decision-1000.md
    Picture(
        "season-1000-curves",
        "/competitions/decision-1000/curves/untargeted?submission=8&submission=9&submission=10&submission=14&submission=5",
        height=700,
        start=".with-choice",
    ),
    Picture("season-1000-final", "/competitions/decision-1000/rounds/4", height=900, start="#first"),
)


def main() -> int:
    """Take all pictures, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", help="address of the demo")
    parser.add_argument("names", nargs="*", help="which pictures; their names are those of the files in this folder")
    parser.add_argument("--seasons", action="store_true", help="take those of the seasons on real images")
    parser.add_argument("--organiser", metavar="PASSWORD", default="", help="password of the demo's organiser, olga")
    given = parser.parse_args()
    program = shutil.which("chromium")
    if program is None:
        parser.error("it needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for each in SEASONS if given.seasons else PICTURES:
            if not given.names or each.name in given.names:
                print(f"{each.name}.webp: {_take(browser, given.site, each, given.organiser):,} bytes")
        browser.close()
    return 0


def _take(browser: Browser, site: str, picture: Picture, password: str) -> int:
    context = browser.new_context(
        base_url=site,
        viewport={"width": picture.width, "height": picture.height},
        color_scheme=picture.scheme,
        device_scale_factor=1.5 if picture.width < 600 else 1.0,
    )
    page = context.new_page()
    if picture.signed_in:
        page.goto("/accounts/login/")
        page.fill("input[name=login]", "olga")
        page.fill("input[name=password]", password)
        page.press("input[name=password]", "Enter")
        page.wait_for_load_state("networkidle")
    page.goto(picture.address)
    page.evaluate("document.querySelectorAll('img').forEach(each => { each.loading = 'eager' })")
    page.wait_for_load_state("networkidle")
    box = page.locator(picture.start).first.bounding_box()
    top = max(0.0, box["y"] - MARGIN) if box else 0.0
    part: FloatRect = {"x": 0, "y": top, "width": picture.width, "height": picture.height}
    taken = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=part)))
    context.close()
    file = HERE / f"{picture.name}.webp"
    taken.save(file, "webp", quality=82, method=6)
    return file.stat().st_size


if __name__ == "__main__":
    sys.exit(main())
