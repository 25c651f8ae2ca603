"""Name, logo and colour of the site."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.test import Client
from PIL import Image
from pytest_django import Settings

from pages.site.brand import DARK_GROUNDS, LIGHT_GROUNDS
from pages.site.brand_checks import check_brand
from pages.site.contrast import contrast

MARK = Path(configured.ROOT) / "static/img/mark.svg"


def test_every_page_has_the_name_logo_and_colours_of_the_site(client: Client, db: None, settings: Settings) -> None:
    settings.SITE_NAME, settings.SITE_LOGO, settings.SITE_ACCENT = "Arena <1>", MARK, ("#0b5c8a", "#7cc4ef")
    assert check_brand(None) == []
    page = client.get("/competitions").content.decode()
    assert '<meta property="og:site_name" content="Arena &lt;1&gt;">' in page
    logo = re.findall(r'<img src="(/brand/logo\?\w+)" alt="" height="28">', page)
    style = re.findall(r'<link rel="stylesheet" href="(/brand/style.css\?\w+)">', page)
    assert f'<link rel="icon" href="{logo[0]}">' in page
    assert client.get(logo[0]).content == MARK.read_bytes()
    assert client.get(logo[0]).headers["Content-Type"] == "image/svg+xml"
    assert "light-dark(#0b5c8a, #7cc4ef)" in client.get(style[0]).content.decode()
    assert "http://testserver/share.png" in page
    assert Image.open(io.BytesIO(client.get("/share.png").content)).size == (1200, 630)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == 21
    assert contrast("#777777", "#777777") == 1
    assert round(contrast("#767676", "#ffffff"), 2) == 4.54


def test_it_rejects_colours_that_are_hard_to_read(settings: Settings) -> None:
    settings.SITE_ACCENT = ("#7cc4ef", "#0b5c8a")
    found = check_brand(None)
    assert [each.id for each in found] == ["pages.E002", "pages.E002"]
    assert "on the light background, below 4.5" in found[0].msg
    assert "lighter" in str(found[1].hint)


@pytest.mark.parametrize("name", ["logo.gif", "missing.png", "large.png"])
def test_it_rejects_a_logo_that_is_no_small_picture(settings: Settings, tmp_path: Path, name: str) -> None:
    (tmp_path / "logo.gif").write_bytes(b"GIF89a")
    (tmp_path / "large.png").write_bytes(bytes(300_000))
    settings.SITE_LOGO = tmp_path / name
    assert [each.id for each in check_brand(None)] == ["pages.E001"]


def as_hex(lightness: float, chroma: float, hue: float) -> str:
    """Return a colour of OKLCH in sRGB (Ottosson 2020)."""
    a, b = (chroma * turn(math.radians(hue)) for turn in (math.cos, math.sin))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
    )
    curved = (12.92 * each if each <= 0.0031308 else 1.055 * each ** (1 / 2.4) - 0.055 for each in linear)
    return "#" + "".join(f"{round(255 * min(max(each, 0), 1)):02x}" for each in curved)


def test_the_checked_grounds_are_those_of_the_style_sheet() -> None:
    css = (Path(configured.ROOT) / "static/css/site.css").read_text()
    for place, name in enumerate(("card", "paper", "sunken")):
        one = r"oklch\(([\d.]+)% ([\d.]+) ([\d.]+)\)"
        found = re.search(rf"--{name}: light-dark\({one}, {one}\)", css)
        assert found
        values = [float(each) for each in found.groups()]
        assert as_hex(values[0] / 100, *values[1:3]) == LIGHT_GROUNDS[place]
        assert as_hex(values[3] / 100, *values[4:]) == DARK_GROUNDS[place]
