"""Which tests run on the same worker, and which first: the longest, so that no worker is left alone with one at the end."""

from xdist.scheduler import LoadScopeScheduling

ONE_SERENO = "one Sereno"
# A module's tests share its worker, and so its fixtures. These share more: the installation of the fixture `installation`.
TOGETHER = {
    "tests/e2e/test_agent_tools.py": ONE_SERENO,
    "tests/e2e/test_backup.py": ONE_SERENO,
    "tests/e2e/test_condition.py": ONE_SERENO,
    "tests/e2e/test_metrics.py": ONE_SERENO,
    "tests/e2e/test_suspensions.py": ONE_SERENO,
    "tests/e2e/test_webhook_load.py": ONE_SERENO,
    "tests/integration/deploy/test_exec_isolation.py": ONE_SERENO,
}
# Long tests that share nothing: each goes to whoever is free.
APART = {
    "tests/e2e/test_docs.py",
    "tests/integration/control_plane/test_process.py",
    "tests/integration/deploy/test_bad_input.py",
    "tests/integration/pipeline/test_kills.py",
}
LONGEST_FIRST = ("tests/e2e/", "tests/integration/deploy/", "tests/integration/", "tests/")


class LongestFirst(LoadScopeScheduling):
    """Hands out modules in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(nodeid: str) -> str:
    """The name that a test shares with those that must run on its worker."""
    path = nodeid.partition("::")[0]
    return nodeid if path in APART else TOGETHER.get(path, path)


def place(nodeid: str) -> int:
    """What comes first has the lowest place."""
    return next(place for place, folder in enumerate(LONGEST_FIRST) if nodeid.startswith(folder))
