"""`gauntlet login`, `logout` and `whoami`: the token for a site, in a file that only its owner reads."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import re
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluation.cli.output import print_facts, print_json, say
from evaluation.cli.site_client import SiteClient
from evaluation.cli.site_device_login import token_by_code
from evaluation.domain.errors import Refusal

SITE_VARIABLE, TOKEN_VARIABLE = "GAUNTLET_SITE", "GAUNTLET_TOKEN"
"""They replace what `gauntlet login` stored, for machines."""

_ADDRESS = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#@]*)?")
_LOCAL = re.compile(r"http://(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?")


def add_parser(subcommands: Any) -> None:
    login: argparse.ArgumentParser = subcommands.add_parser(
        "login",
        help="store an access token for a site",
        description="Shows a code, which you type on the site in any browser, or reads an access token from "
        "standard input, and stores the token with mode 0600. The site becomes the one that other commands use.",
    )
    login.add_argument("site", metavar="SITE", help="the address of the site, such as https://arena.example")
    login.add_argument("--paste", action="store_true", help="ask for a token of your account page in place of the code")
    login.set_defaults(run=run_login)
    logout: argparse.ArgumentParser = subcommands.add_parser("logout", help="remove the stored token of a site")
    add_site(logout)
    logout.set_defaults(run=run_logout)
    whoami: argparse.ArgumentParser = subcommands.add_parser("whoami", help="show who you are on a site")
    add_site(whoami)
    add_json(whoami)
    whoami.set_defaults(run=run_whoami)


def add_site(command: argparse.ArgumentParser) -> None:
    """Add the option that names the site."""
    command.add_argument("--site", help=f"the site (default ${SITE_VARIABLE}, or that of the last login)")


def add_json(command: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    command.add_argument("--json", action="store_true", help="print the answer of the site as JSON")


def run_login(given: argparse.Namespace) -> int:
    site = site_address(given.site)
    if site.startswith("http://") and not _LOCAL.match(site):
        say("Warning: this address begins with http://, so anybody on the way can read the token.")
    try:
        token = _asked_token(site, paste=given.paste)
    except KeyboardInterrupt:
        say("Nobody is signed in. A code that was shown expires by itself.")
        return 130
    if not token:
        raise Refusal("no token was given", fix=f"copy one from {site}/account")
    profile = SiteClient(site, token).profile()
    kept = _stored()
    sites = {**kept.get("sites", {}), site: {"token": token, "username": profile.username}}
    path = _store({"default": site, "sites": sites})
    say(f"Signed in to {site} as {profile.username}. The token is in {path}.")
    return 0


def _asked_token(site: str, *, paste: bool) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    if paste:
        say(f"Create a token with the scopes read and submit at {site}/account, and paste it here.")
        return getpass.getpass("Token: ").strip()
    return token_by_code(site)


def run_logout(given: argparse.Namespace) -> int:
    kept = _stored()
    site = site_address(given.site) if given.site else kept.get("default", "")
    sites = {name: login for name, login in kept.get("sites", {}).items() if name != site}
    if sites == kept.get("sites", {}):
        raise Refusal(f"no token is stored for {site or 'any site'}", fix="no action needed")
    default = kept["default"] if kept["default"] in sites else next(iter(sites), "")
    _store({"default": default, "sites": sites})
    say(f"The token for {site} is removed from this computer. Revoke it at {site}/account if nobody shall use it.")
    return 0


def run_whoami(given: argparse.Namespace) -> int:
    client = site_client(given)
    profile = client.profile()
    if given.json:
        print_json({"site": client.site, **asdict(profile)})
        return 0
    token = profile.token
    rows = [
        ("site", client.site),
        ("user", profile.username),
        ("teams", ", ".join(profile.teams) or "none"),
        *([("token", token.name), ("scopes", ", ".join(token.scopes)), ("expires", token.expires_at)] if token else []),
    ]
    print_facts(rows)
    return 0


def site_client(given: argparse.Namespace) -> SiteClient:
    """Return the client of the chosen site. Raise `Refusal` if nobody is signed in there."""
    client = public_client(given)
    if not client.token:
        raise Refusal(f"you are not signed in to {client.site}", fix=f"run: gauntlet login {client.site}")
    return client


def public_client(given: argparse.Namespace, site: str = "") -> SiteClient:
    """Return the client of `site`, else of the chosen one, with the token for it if there is one."""
    variable, token = os.environ.get(SITE_VARIABLE, ""), os.environ.get(TOKEN_VARIABLE, "")
    # with both, no file is read: a machine may have no home
    kept = {} if variable and token else _stored()
    site = site or given.site or variable or kept.get("default", "")
    if not site:
        raise Refusal("no site is known", fix="run: gauntlet login SITE")
    site = site_address(site)
    if token and not (variable and site_address(variable) == site):
        raise Refusal(
            f"{TOKEN_VARIABLE} is a token of no known site", fix=f"set {SITE_VARIABLE} to its site, or unset the token"
        )
    return SiteClient(site, token or kept.get("sites", {}).get(site, {}).get("token", ""))


def site_address(text: str) -> str:
    """Return the address of a site, without a trailing slash. Raise `Refusal` for anything else."""
    if not _ADDRESS.fullmatch(text):
        raise Refusal(f"{text} is not the address of a site", fix="write it as https://arena.example")
    return text.rstrip("/")


def config_path() -> Path:
    """Return the file of the tokens, in the user's folder for configuration."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA") or Path.home() / ".config"
    return Path(base) / "gauntlet" / "sites.json"


def _stored() -> dict[str, Any]:
    path = config_path()
    try:
        kept: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Refusal(f"{path} cannot be read ({error})", fix="delete it, and sign in again") from None
    return kept


def _store(content: dict[str, Any]) -> Path:
    """Replace the file of the tokens; it is readable by its owner alone from the first byte on."""
    path = config_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # a new file has the mode 0600
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as copy:
            json.dump(content, copy, indent=1)
        Path(copy.name).replace(path)
    except OSError as error:
        raise Refusal(
            f"cannot write {path}: {error.strerror}", fix="set XDG_CONFIG_HOME to a folder of yours"
        ) from None
    return path
