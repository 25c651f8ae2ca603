"""What people may call themselves.

People log in by user name or e-mail address, so no user name may look like an address: it could be another person's.
"""

from __future__ import annotations

from django.core.validators import RegexValidator

USERNAME_VALIDATORS = [
    RegexValidator(
        r"^[A-Za-z][A-Za-z0-9_-]{1,29}\Z",
        "Use 2 to 30 unaccented letters, digits, hyphens and underscores, the first a letter, as in robust-owl.",
    )
]
"""Of new user names. Accounts that are there keep theirs."""
