"""Give current packages their names of 2017 and 2018. Python imports this module at its start."""

from __future__ import annotations

from legacy_compatibility import install

install()
