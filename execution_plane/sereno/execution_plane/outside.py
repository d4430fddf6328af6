"""What the gateway notes in `outside` of an envelope besides the attributes that it took from the sender.

The names carry an underscore, which no CloudEvents attribute can, so a sender can write none of them.
"""

BODY_SHA256 = "body_sha256"
"""Hex hash of the signed body, present when its scheme signs no timestamp: kept 7 days per endpoint (contract, 3.1).

An event of a batch has a hash of its own, made of that of the body and its place. Absent where the same body may
come again on purpose, since it carries no id at all; its dedup key then counts inside a shorter window.
"""

DELIVERY_ID = "delivery_id"
"""The sender's id of this delivery, from an unsigned header."""

CLAIMED = "claimed"
"""What unsigned headers said about type and source, by header; not believed where the body does not confirm it."""
