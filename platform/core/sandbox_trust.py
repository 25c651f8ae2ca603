"""Whether the chosen sandbox may run what people push here. A pure rule: the settings read it while they are made."""

from __future__ import annotations

from collections.abc import Collection

PROCESS = "process"
"""The sandbox that does not contain hostile code."""

# the last is how Django's test client calls its site
_THIS_HOST_ALONE = frozenset({"localhost", "127.0.0.1", "[::1]", "testserver"})


def trust_problem(sandbox: str, hosts: Collection[str], *, proxied: bool, trust_everybody: bool) -> str:
    """Why `sandbox` must not run what people push, and how to mend it; empty where it may.

    `hosts` are the host names that are answered. A site that is `proxied` counts as reached by others whatever they
    are: a proxy may ask for it by a name of this host.
    """
    if sandbox != PROCESS or trust_everybody:
        return ""
    strangers = sorted(set(hosts) - _THIS_HOST_ALONE)
    if strangers:
        cause = f"the site answers to {', '.join(strangers)}"
    elif proxied:
        cause = "the site stands behind a proxy (GAUNTLET_PROXIES or GAUNTLET_HTTPS)"
    else:
        return ""
    return (
        f"GAUNTLET_SANDBOX is process, which does not contain hostile code, and {cause}: anybody who can push runs "
        "code on this host. Set GAUNTLET_SANDBOX=docker; or unset GAUNTLET_HOSTS, GAUNTLET_PROXIES and GAUNTLET_HTTPS, "
        "for a site that this host alone reaches; or set GAUNTLET_TRUST_EVERYBODY=true where you would give everybody "
        "who can push an account on this host."
    )
