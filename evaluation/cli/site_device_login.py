"""Sign-in by a code that a person types on the site, in a browser on this computer or any other one (RFC 8628)."""

from __future__ import annotations

import os
import socket
import sys
import webbrowser
from time import monotonic, sleep

from evaluation.cli.output import printable, say
from evaluation.cli.site_client import THROTTLED, SiteClient, SiteRefusal, UnavailableSiteError

_SLOWER = 5
"""By how many seconds requests become rarer when the site asks for it."""


def token_by_code(site: str) -> str:
    """Show a code and wait until it is confirmed on the site; return the token. Raise `SiteRefusal`."""
    client = SiteClient(site)
    codes = client.begin_device_login(f"gauntlet on {socket.gethostname()}"[:60])
    say(f"Open {printable(codes.verification_uri)} in a browser, on any device, and type this code:")
    say(f"\n    {printable(codes.user_code)}\n")
    _open_browser(site, codes.verification_uri)
    say(f"Waiting for at most {codes.expires_in // 60} minutes (Ctrl-C to stop) ...")
    interval, end = codes.interval, monotonic() + codes.expires_in
    while monotonic() < end:
        sleep(interval)
        try:
            return client.device_token(codes.device_code)
        except UnavailableSiteError:
            continue  # it may be back before the code expires
        except SiteRefusal as refusal:
            if refusal.code in {"slow-down", THROTTLED}:  # the latter where others at this address ask, too
                interval += _SLOWER
            elif refusal.code != "authorization-pending":
                raise
    raise SiteRefusal("expired-token", "nobody confirmed the code in time", fix=f"run: gauntlet login {site}")


def _open_browser(site: str, address: str) -> None:
    """Open a page of the site where a person sits at this computer; nothing else, whatever the site names."""
    desktop = sys.platform in {"darwin", "win32"} or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    if desktop and "SSH_CONNECTION" not in os.environ and address.startswith(f"{site}/"):
        webbrowser.open(address)
