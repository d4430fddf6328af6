"""The HTTP face of the mailbox (contract §4): claims, lease verbs, and what people look at."""

from sereno.mailbox.http.authentication import Authenticate
from sereno.mailbox.http.router import router

__all__ = ["Authenticate", "router"]
