#!/usr/bin/env python
"""The site's console: `.venv/bin/python manage.py COMMAND`."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line

from config.stack_room import with_stack_room


@with_stack_room
def main() -> None:
    """Run the Django command named on the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
