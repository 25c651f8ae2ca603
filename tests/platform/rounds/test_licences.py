"""Which licences are open source."""

from __future__ import annotations

import pytest

from rounds.planning.open_source_licences import is_open_source


@pytest.mark.parametrize(
    "expression",
    [
        "MIT",
        "apache-2.0",
        "GPL-3.0-or-later",
        "GPL-2.0+",
        "Apache-2.0+",
        "AGPL-3.0",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "MIT OR LicenseRef-ours",
        "CC-BY-NC-4.0 OR (BSD-3-Clause AND MIT)",
        "(MIT)",
    ],
)
def test_an_expression_that_offers_an_open_source_licence_is_open_source(expression: str) -> None:
    assert is_open_source(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "CC-BY-NC-4.0",
        "BUSL-1.1",
        "BUSL-1.1+",
        "CC0-1.0",
        "MIT AND CC-BY-NC-4.0",
        "MIT AND LicenseRef-ours",
        "(MIT OR Apache-2.0) AND BUSL-1.1",
        "BUSL-1.1 WITH Classpath-exception-2.0",
        "MIT WITH Ours",
        "LicenseRef-ours",
        "LicenseRef-MIT-Diehl",
        "DocumentRef-x:LicenseRef-MIT",
        "Ours",
        "NOT MIT",
        "MIT Apache-2.0",
        "+",
        "",
        " ",
        "MIT AND",
        "(MIT",
        "MIT)",
        "()",
        "( OR MIT",
        "OR",
        "MIT WITH",
        "MIT\x00",
    ],
)
def test_it_rejects_other_licences(expression: str) -> None:
    assert not is_open_source(expression)
