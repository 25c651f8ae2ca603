"""The proxy of compose.yaml lets through what the site takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from formats.curves.best_known.proof_uploads import MOST_BYTES


def addresses_of_large_bodies(patterns: Iterable[Any], before: str = "/") -> Iterator[str]:
    """Yield an example of each address whose view limits the bodies that it takes itself."""
    for each in patterns:
        address = before + re.sub(r"<[^>]+>", "1", str(each.pattern))
        if isinstance(each, URLResolver):
            yield from addresses_of_large_bodies(each.url_patterns, address)
        elif isinstance(each, URLPattern):
            view = getattr(each.callback, "view_class", each.callback)
            if getattr(view, "limits_its_body", False):
                yield address


def test_the_proxy_takes_the_largest_proof_at_every_address_of_one(root: Path) -> None:
    rules = (root / "deploy" / "Caddyfile").read_text()
    (proofs,) = re.findall(r"^\t@proofs path_regexp (\S+)$", rules, re.MULTILINE)
    (size,) = re.findall(r"handle @proofs \{\s+request_body \{\s+max_size (\d+)MiB", rules)
    assert int(size) << 20 >= MOST_BYTES
    found = [each for each in addresses_of_large_bodies(get_resolver().url_patterns) if not each.startswith("/git/")]
    assert len(found) >= 2
    assert [each for each in found if not re.search(proofs, each)] == []
