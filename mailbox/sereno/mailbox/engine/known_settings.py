"""Settings that nobody reads: a slip in a name is refused, instead of leaving the default in force silently."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

PREFIX = "SERENO_"
_ELSEWHERE = frozenset(
    {
        *("config", "data", "fault", "token", "traceback", "url"),
        *("work_concurrency", "work_grace", "work_lease", "work_prefetch"),
    }
)
_IN_FILES = frozenset({"data"})
"""What files hold for `sereno up` alone; a process that reads the same file passes over it."""
# Below it two names have little in common: `nats_token` and `token` are no slip of each other.
_CLOSE = 0.8


class UnknownSettingError(Exception):
    """A setting that does not exist; the message names the nearest that does."""


def check_file(path: str, names: Iterable[str], fields: Collection[str]) -> None:
    """Refuse a name in a configuration file that is no setting. Raises `UnknownSettingError`."""
    known = _IN_FILES.union(fields)
    for name in names:
        if name not in known:
            raise UnknownSettingError(f"{path}: there is no setting {name!r}{_nearest(name, known)}")


def check_environment(names: Iterable[str], fields: Collection[str]) -> None:
    """Refuse a `SERENO_…` variable that is nearly a setting. Raises `UnknownSettingError`.

    One that resembles none is left alone: a secret of an endpoint may have any name, and Kubernetes puts variables
    of its own beside ours (`SERENO_CONTROL_SERVICE_HOST`).
    """
    known = _ELSEWHERE.union(fields)
    for variable in sorted(names):
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name not in known:
            near = get_close_matches(name, known, 1, _CLOSE)
            if near:
                raise UnknownSettingError(
                    f"there is no setting {variable}; did you mean {PREFIX}{near[0].upper()}?"
                )


def _nearest(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(sorted(known))}"
