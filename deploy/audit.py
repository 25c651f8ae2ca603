"""Prints the vulnerabilities of locked packages that PyPI lists; fails where there is one, or no answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCKS = Path(__file__).resolve().parent / "locks"
UNANSWERED = 2
"""The exit status where some package could not be asked about."""


def report(packages: list[dict[str, Any]]) -> tuple[str, int]:
    """Return what an answer of pip-audit says about packages, with the exit status."""
    found = [
        f"{each['name']} {each['version']}: {known['id']}, fixed in {', '.join(known['fix_versions']) or 'no version'}"
        for each in packages
        for known in each.get("vulns", ())
    ]
    unknown = [each["name"] for each in packages if "skip_reason" in each]
    asked = len(packages) - len(unknown)
    lines = [f"audit: {len(found)} known vulnerabilities of the {asked} packages that were asked about", *found]
    if unknown:
        why = "the index has no advisories for these, or does not answer"
        lines.append(f"audit: NOT ASKED about {len(unknown)} packages, {why}: {', '.join(unknown)}")
    return "\n".join(lines) + "\n", 1 if found else UNANSWERED if unknown else 0


def main() -> int:
    """Ask about every lock, print the answer and return the exit status."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    packages: dict[str, dict[str, Any]] = {}
    for lock in sorted(LOCKS.glob("*.txt")):
        done = subprocess.run(
            [*command, "--format", "json", "--requirement", lock], capture_output=True, text=True, check=False
        )
        if not done.stdout.startswith("{"):
            why = done.stderr.strip()[-300:]
            sys.stderr.write(f"audit: NOT ASKED, pip-audit could not ask about {lock.name}: {why}\n")
            return UNANSWERED
        packages |= {each["name"]: each for each in json.loads(done.stdout)["dependencies"]}
    text, status = report(list(packages.values()))
    sys.stdout.write(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
