"""The account PostgreSQL runs as: PostgreSQL refuses to run as root."""

import os
import pwd
from dataclasses import dataclass

from sereno.deploy.faults import StartError

# The first that exists is taken; `sereno` is for those who make an account of its own.
_CANDIDATES = ("sereno", "postgres", "nobody")


@dataclass(frozen=True, slots=True)
class ServiceUser:
    """An unprivileged account of this system."""

    name: str
    uid: int
    gid: int


def service_user() -> ServiceUser | None:
    """The account to drop to when we are root; None when we are an ordinary user and run it ourselves."""
    if os.geteuid() != 0:
        return None
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServiceUser(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise StartError(
        "PostgreSQL does not run as root and this system has none of the users "
        f"{', '.join(_CANDIDATES)}: create one (useradd --system sereno)."
    )
