"""The end of a log file."""

from pathlib import Path

_BYTES = 16_384
NO_REASON = "no reason was given"


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines that are not blank, oldest first; none when there is no such file."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - _BYTES * max(1, count // 64)))
            text = stream.read().decode(errors="replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()][-count:]


def reason(lines: list[str]) -> str:
    """The line that most likely says why a program ended."""
    telling = [line for line in lines if "FATAL" in line or "error:" in line or "[FTL]" in line]
    return (telling or lines or [NO_REASON])[-1]
