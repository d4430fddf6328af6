"""Commands of the mailbox: `work`, `push`, `mailbox list|show|dead|redrive`, `notices`, and what repairs it."""

WORDS = {
    "mailbox": f"{__name__}.lists",
    "notices": f"{__name__}.notices",
    "work": f"{__name__}.work",
    "push": f"{__name__}.push",
    "rebuild": "sereno.mailbox.repair_commands",
    "restore": "sereno.mailbox.repair_commands",
}
"""The module that registers each command."""
