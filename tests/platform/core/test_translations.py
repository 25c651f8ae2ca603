"""Every text of the pages has a translation, and the compiled catalogues are those that people edit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import allauth
import django
import polib
import pytest
from django.conf import settings

from core.translations import BORROWED, Message, catalogue, message_of, messages, of_code, of_template, update

PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w*\}")
TAG = re.compile(r"</?\w+")
LANGUAGES = [language for language, _ in settings.LANGUAGES if language != settings.LANGUAGE_CODE]


@pytest.fixture(scope="module")
def found(root: Path) -> Mapping[Message, str]:
    """Every text of the pages."""
    return messages(root)


@pytest.fixture(params=LANGUAGES)
def file(request: pytest.FixtureRequest) -> Path:
    """The catalogue of each language."""
    return Path(settings.LOCALE_PATHS[0]) / str(request.param) / "LC_MESSAGES" / "django.po"


def texts_of(entry: polib.POEntry) -> list[str]:
    """The translation of an entry in all its plural forms."""
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def test_it_works(file: Path, found: Mapping[Message, str]) -> None:
    """If this fails: `manage.py translations`, translate what it names, and run it again."""
    translated = {message_of(entry) for entry in catalogue(file) if entry.translated() and not entry.fuzzy}
    assert set(found) - translated == set()


def test_no_translation_is_left_of_a_text_that_is_gone(file: Path, found: Mapping[Message, str]) -> None:
    kept = [entry for entry in catalogue(file) if not entry.tcomment.startswith(BORROWED)]
    assert [entry.msgid for entry in kept if message_of(entry) not in found] == []


def test_the_compiled_catalogue_is_the_one_that_people_edit(file: Path) -> None:
    compiled = polib.mofile(str(file.with_suffix(".mo")))
    assert {message_of(entry): texts_of(entry) for entry in compiled} == {
        message_of(entry): texts_of(entry) for entry in catalogue(file)
    }


def test_translations_have_the_placeholders_and_the_markup_of_their_texts(file: Path) -> None:
    for entry in catalogue(file):
        one, *more = texts_of(entry)
        for text, original in [(one, entry.msgid), *((each, entry.msgid_plural) for each in more)]:
            assert set(PLACEHOLDER.findall(text)) == set(PLACEHOLDER.findall(original)), original
            assert sorted(TAG.findall(text)) == sorted(TAG.findall(original)), original


def test_a_translation_of_a_library_replaces_one_that_exists(file: Path) -> None:
    borrowed = [entry for entry in catalogue(file) if entry.tcomment.startswith(BORROWED)]
    places = ("conf/locale", "contrib/auth/locale")
    folders = [Path(allauth.__file__).parent / "locale", *(Path(django.__file__).parent / each for each in places)]
    path = Path(file.parent.parent.name, "LC_MESSAGES", "django.mo")
    known = {entry.msgid for folder in folders for entry in polib.mofile(str(folder / path))}
    assert {entry.msgid for entry in borrowed} - known == set()


def test_texts_of_templates_are_found_in_any_tag() -> None:
    source = (
        '{% load i18n gauntlet %}{% oneline as title %}{% translate "95 %" %}{% endoneline %}'
        "{% if a %}{% blocktranslate trimmed count number=b %}\n{{ number }} team{% plural %}{{ number }} teams"
        '{% endblocktranslate %}{% endif %}{{ at|default:_("never") }}{% translate "open" context "audit" %}'
    )
    assert set(of_template(source)) == {
        Message("95 %%"),
        Message("%(number)s team", "%(number)s teams"),
        Message("never"),
        Message("open", context="audit"),
    }


def test_a_text_of_code_that_is_not_constant_is_an_error() -> None:
    assert set(of_code('gettext("One"), ngettext("a", "b", n), gettext(label)')) == {Message("One"), Message("a", "b")}
    with pytest.raises(ValueError, match="line 1"):
        list(of_code("Text(f'{count} teams')"))


def test_an_update_keeps_translations_and_names_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "de" / "LC_MESSAGES" / "django.po"
    file.parent.mkdir(parents=True)
    assert update(file, {Message("Team"): "a.html", Message("Round"): "a.html"}) == [Message("Team"), Message("Round")]
    edited = catalogue(file)
    edited[0].msgstr = "Mannschaft"
    edited.save(str(file))
    assert update(file, {Message("Team"): "a.html", Message("Match"): "b.html"}) == [Message("Match")]
    assert [(each.msgid, each.msgstr) for each in catalogue(file)] == [("Team", "Mannschaft"), ("Match", "")]
