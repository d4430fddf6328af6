"""Places where a test may kill the process, to prove that nothing is lost or doubled there.

`SERENO_FAULT=pipeline.after_commit:3` ends the process with SIGKILL at the third passage of that point.
Without the variable a point costs one comparison.
"""

import os
import signal
from collections import Counter

_WANTED, _, _COUNT = os.environ.get("SERENO_FAULT", "").partition(":")
_AT = int(_COUNT or 1)
_passages: Counter[str] = Counter()


def point(name: str) -> None:
    """Die here when the environment names this point; otherwise do nothing."""
    if name != _WANTED:
        return
    _passages[name] += 1
    if _passages[name] == _AT:
        os.kill(os.getpid(), signal.SIGKILL)
