"""Commands as they stand in the docs: found in fenced blocks, run in one shell a page, their output compared.

In a ```` ```console ```` block a line that starts with `$ ` is a command, `> ` continues it, and what follows is its output,
where `...` stands for any text. A block with `title=NAME` in its fence is a file NAME that the commands of the page use.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(?P<language>\w*)(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"\btitle=(\S+)")
_MARK = "\x1e"
PAGE_SECONDS = 900
# A person asks a moment later than a script does: what has just arrived may not be decided yet.
_PATIENCE = """
sereno() {
  [ "$1" = explain ] || { command sereno "$@"; return; }
  local answer try
  for try in 1 2 3 4 5 6 7 8 9 10; do
    answer=$(command sereno "$@" 2>&1) && { printf '%s\\n' "$answer"; return; }
  done
  printf '%s\\n' "$answer"
  return 1
}
"""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    language: str
    title: str | None
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """One command with the output that the page promises; an empty promise is kept by any output."""

    text: str
    output: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    for match in _FENCE.finditer(page):
        title = _TITLE.search(match["info"])
        yield Block(
            match["language"],
            title[1] if title else None,
            match["text"],
            page.count("\n", 0, match.start("text")) + 1,
        )


def files(page: str) -> dict[str, str]:
    return {block.title: block.text for block in blocks(page) if block.title}


def commands(page: str) -> list[Command]:
    return [command for block in blocks(page) if block.language == "console" for command in _in_block(block)]


def _in_block(block: Block) -> Iterator[Command]:
    text: list[str] = []
    output: list[str] = []
    start = block.line
    for number, line in enumerate(block.text.splitlines(), block.line):
        if line.startswith("$ "):
            if text:
                yield Command("\n".join(text), "\n".join(output).strip(), start)
            text, output, start = [line[2:]], [], number
        elif line.startswith("> ") and not output:
            text.append(line[2:])
        elif not text:
            raise ValueError(f"line {number}: output before any command: {line}")
        else:
            output.append(line)
    if text:
        yield Command("\n".join(text), "\n".join(output).strip(), start)


def promised(command: Command, printed: str) -> bool:
    """Whether the command printed what the page says, the width of spaces aside."""
    if not command.output:
        return True
    pattern = ".*".join(re.escape(part) for part in _even(command.output).split("..."))
    return re.fullmatch(pattern, _even(printed), re.DOTALL) is not None


def _even(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def run(steps: Sequence[Command], folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run the commands in one shell and answer what each printed. Raises AssertionError at the first that fails."""
    script = _PATIENCE + "".join(
        f"{step.text}\nsereno_docs_code=$?\nprintf '{_MARK}'\n[ $sereno_docs_code = 0 ] || exit $sereno_docs_code\n"
        for step in steps
    )
    shell = subprocess.run(
        ["bash", "-uo", "pipefail", "-c", script],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PAGE_SECONDS,
        check=False,
    )
    printed = shell.stdout.split(_MARK)
    if shell.returncode:
        failed = steps[max(len(printed) - 2, 0)]
        raise AssertionError(
            f"line {failed.line}: {failed.text}\nended with {shell.returncode}:\n{shell.stdout}"
        )
    return printed[: len(steps)]
