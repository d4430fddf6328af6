"""The boards, one question each."""

from sereno.deploy.dashboards.board import Board
from sereno.deploy.dashboards.boards import (
    dependencies,
    evaluator,
    governance,
    guards,
    integrity,
    mailbox,
    sources,
    wakes,
)

BOARDS: tuple[Board, ...] = tuple(
    part.BOARD for part in (wakes, guards, mailbox, sources, evaluator, governance, integrity, dependencies)
)
