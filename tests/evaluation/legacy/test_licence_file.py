"""The licence of a repository, from its licence file."""

from __future__ import annotations

import pytest

from evaluation.legacy.licence_file import licence_in


def test_a_licence_is_known_by_its_text() -> None:
    assert licence_in("Apache License\n  Version 2.0, January 2004\n http://www.apache.org/licenses/") == "Apache-2.0"


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        (
            "Permission is hereby granted, free of\ncharge ... The above copyright notice and this permission notice",
            "MIT",
        ),
        ("Redistribution and use in source and binary forms ... Neither the name of", "BSD-3-Clause"),
        ("Redistribution and use in source and binary forms", "BSD-2-Clause"),
        ("GNU LESSER GENERAL PUBLIC LICENSE Version 3", "LGPL-3.0-only"),
        ("GNU GENERAL PUBLIC LICENSE Version 3", "GPL-3.0-only"),
        ("All rights reserved.", "unknown"),
    ],
)
def test_each_licence_is_known_by_its_phrases(text: str, licence: str) -> None:
    assert licence_in(text) == licence


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        (
            "GNU GENERAL PUBLIC LICENSE Version 3 ... 13. Use with the GNU Affero General Public License ... under "
            "version 3 of the GNU Affero General Public License ... use the GNU Lesser General Public License instead",
            "GPL-3.0-only",
        ),
        (
            "Mozilla Public License Version 2.0 ... the GNU General Public License, Version 2.0, the GNU Lesser "
            "General Public License, Version 2.1, the GNU Affero General Public License, Version 3.0",
            "MPL-2.0",
        ),
        (
            "GNU GENERAL PUBLIC LICENSE Version 2 ... use the GNU Lesser General Public License instead",
            "GPL-2.0-only",
        ),
        (
            "GNU LESSER GENERAL PUBLIC LICENSE Version 2.1 ... the ordinary GNU General Public License, version 2",
            "LGPL-2.1-only",
        ),
    ],
)
def test_a_licence_that_names_others_is_known(text: str, licence: str) -> None:
    assert licence_in(text) == licence
