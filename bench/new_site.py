"""Creates the site that the environment describes.

usage: python -m bench.new_site COMPETITION...
"""

from __future__ import annotations

import os
import sys

import django
from django.core.management import call_command

from bench.static_files import collect_static
from bench.tables import make_tables


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    make_tables()
    collect_static()
    for file in sys.argv[1:]:
        call_command("competition", "import", file, stdout=sys.stderr)


if __name__ == "__main__":
    main()
