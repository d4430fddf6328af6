"""The mailbox's HTTP verbs, typed: for workers, for commands, and for programs of one's own."""

from sereno.mailbox.client.answers import MailboxError, MailboxRefusedError, MailboxUnansweredError
from sereno.mailbox.client.client import MailboxClient, Selection
from sereno.mailbox.client.leased_message import LeasedMessage

__all__ = [
    "LeasedMessage",
    "MailboxClient",
    "MailboxError",
    "MailboxRefusedError",
    "MailboxUnansweredError",
    "Selection",
]
