"""Names and short names of teams: no look-alikes, no hidden characters."""

from __future__ import annotations

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.models import RESERVED_SLUGS, Team, User
from accounts.services import create_team
from core.errors import Refusal

GREEK_OWLS = "\u039fwls"
"""Owls with a Greek Omicron."""


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("The \u00a0 Owls", "The Owls"),
        ("\uff2f\uff57\uff4c\uff53", "Owls"),
        ("o\u0308wls", "\u00f6wls"),
        ("\u30c1\u30fc\u30e0A", "\u30c1\u30fc\u30e0A"),
        ("\u65e5\u672c\u30ed\u30dc\u30c3\u30c8", "\u65e5\u672c\u30ed\u30dc\u30c3\u30c8"),
        ("AI \u4e00\u756a", "AI \u4e00\u756a"),
        ("\u041e\u0448\u0438\u0431\u043a\u0430 7", "\u041e\u0448\u0438\u0431\u043a\u0430 7"),
        ("\u03bb-calculus", "\u03bb-calculus"),
        ("\u0e17\u0e35\u0e21\u0e17\u0e35\u0e48 1", "\u0e17\u0e35\u0e21\u0e17\u0e35\u0e48 1"),
        ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        ("\U0001f989 Owls", "\U0001f989 Owls"),
    ],
    ids=[
        "spaces",
        "full width",
        "composed",
        "kana",
        "kanji",
        "han and latin",
        "cyrillic",
        "lambda",
        "thai",
        "hindi",
        "emoji",
    ],
)
def test_a_name_in_any_script_is_normalised_and_kept(alice: User, name: str, kept: str) -> None:
    assert create_team(slug="owls", name=name, captain=alice).name == kept


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (GREEK_OWLS, "OMICRON looks like a Latin letter"),
        ("p\u0430ypal", "CYRILLIC SMALL LETTER A looks like a Latin letter"),
        ("Ow\u0627s", "ARABIC LETTER ALEF looks like a Latin letter"),
        ("\u03a6\u043e", "looks like a Cyrillic letter|looks like a Greek letter"),
        ("\u3164", "invisible character"),
        ("Owls\u200b", "invisible character"),
        ("Owls\u2800", "invisible character"),
        ("Owls\ufe0f", "invisible character"),
        ("\u202eslwO", "invisible character"),
        ("Z" + "\u0351\u036b\u0343" * 26, "stacks marks"),
        ("o\u0323\u0323", "stacks marks"),
        ("\u0301owls", "mark without a letter"),
        ("owls \u0301", "mark without a letter"),
        (" \u00a0 ", "name is not valid"),
        ("\ufdfa" * 5, "name is not valid"),
    ],
    ids=[
        *(
            "greek",
            "cyrillic",
            "arabic",
            "no latin",
            "filler",
            "zero width",
            "braille blank",
            "variation",
            "right to left",
            "zalgo",
            "twice",
        ),
        *("first", "on a blank", "blanks", "too long"),
    ],
)
def test_it_rejects_a_misleading_name(alice: User, name: str, problem: str) -> None:
    with pytest.raises(Refusal, match=problem):
        create_team(slug="owls", name=name, captain=alice)
    assert not Team.objects.exists()


@pytest.mark.parametrize(
    "name",
    ["The 0wls", "The Ow1s", "The OwIs", "the owls", "\uff34he Owls", "The \u039f\u1d21\u217c\u0455"],
    ids=["zero", "one", "capital i", "case", "full width", "other letters"],
)
def test_it_rejects_a_name_that_looks_like_another(owls: Team, charlie: User, name: str) -> None:
    with pytest.raises(Refusal):
        create_team(slug="others", name=name, captain=charlie)


def test_it_rejects_a_look_alike_in_another_script(alice: User, charlie: User) -> None:
    create_team(slug="soap", name="Cope", captain=alice)
    with pytest.raises(Refusal, match="looks like another team"):
        create_team(slug="others", name="\u0421\u043e\u0440\u0435", captain=charlie)


def test_it_rejects_a_name_that_differs_only_in_case(alice: User, charlie: User) -> None:
    create_team(slug="om", name="\u00d6rm", captain=alice)
    with pytest.raises(Refusal, match=r"is taken|looks like another team"):
        create_team(slug="others", name="\u00f6RM", captain=charlie)


def test_it_rejects_a_short_name_that_looks_like_another(owls: Team, charlie: User) -> None:
    for slug in ("0wls", "ow1s"):
        with pytest.raises(Refusal, match="looks like another team"):
            create_team(slug=slug, name="Others", captain=charlie)
    create_team(slug="corn", name="Corn", captain=charlie)
    with pytest.raises(Refusal, match="looks like another team"):
        create_team(slug="com", name="Others", captain=charlie)


def test_it_rejects_short_names_that_the_site_uses(alice: User) -> None:
    for slug in ("public", "admin", "teams", "new"):
        with pytest.raises(Refusal, match="is reserved"):
            create_team(slug=slug, name="Others", captain=alice)


def test_the_first_part_of_every_address_is_reserved() -> None:
    def first_parts(patterns: list[URLPattern | URLResolver]) -> set[str]:
        found = set()
        for each in patterns:
            part = str(each.pattern).split("/")[0]
            if isinstance(each, URLResolver) and not part:
                found |= first_parts(each.url_patterns)
            else:
                found.add(part)
        return found

    parts = {part for part in first_parts(get_resolver().url_patterns) if part.replace("-", "").isalnum()}
    assert len(parts) >= 8
    assert parts <= RESERVED_SLUGS
