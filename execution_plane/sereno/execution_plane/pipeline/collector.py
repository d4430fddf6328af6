"""The garbage collector of a process that decides: a batch is thousands of small values that live until its commit."""

import gc

_YOUNG, _MIDDLE, _OLD = 200_000, 20, 100


def collect_seldom() -> None:
    """Leave out what lives as long as the process, and look at the rest after a batch rather than within it.

    With the default of every 700 new values, half of the time of a batch went into walking values that are in use.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
