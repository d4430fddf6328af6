"""Times as senders sign them: whole seconds since 1970, in decimal digits and nothing else."""

import re

_SECONDS = re.compile(r"[0-9]{1,12}\Z", re.ASCII)


def seconds(text: str | None) -> int | None:
    """The number in the text, or None where it is missing or anything else, such as a sign, blanks or milliseconds."""
    return int(text) if text is not None and _SECONDS.match(text) else None
