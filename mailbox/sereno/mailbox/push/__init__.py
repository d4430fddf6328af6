"""The push adapter: POSTs each message to an agent's URL, and ends the run as the answer or a callback says."""

from sereno.mailbox.push.adapter import Push
from sereno.mailbox.push.credentials import Bearer, Signature
from sereno.mailbox.push.template import Template

__all__ = ["Bearer", "Push", "Signature", "Template"]
