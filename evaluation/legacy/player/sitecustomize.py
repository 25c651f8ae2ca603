"""Give current packages their names of 2017 and 2018. Python imports this module at its start."""

from __future__ import annotations

from legacy_compatibility import install
from legacy_compatibility.started_script import restart_if_old

restart_if_old()
install()
