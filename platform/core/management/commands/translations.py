"""`manage.py translations`: write the catalogues of translations after a text of the pages changed."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.translations import messages, update


class Command(BaseCommand):
    """Collect the texts of templates and code, and compile the translations."""

    help = "Write the catalogues of translations: add new texts, remove old ones, and compile them."

    def handle(self, *args: Any, **options: Any) -> None:
        """Update every catalogue. Raise `CommandError` with the texts that have no translation."""
        found = messages(settings.ROOT)
        missing = [
            f"{language}: {message.message}"
            for language, _ in settings.LANGUAGES
            if language != settings.LANGUAGE_CODE
            for message in update(settings.LOCALE_PATHS[0] / language / "LC_MESSAGES" / "django.po", found)
        ]
        if missing:
            raise CommandError("\n".join(["Translate these texts in the catalogue, then run this again:", *missing]))
        self.stdout.write(f"{len(found)} texts, all translated")
