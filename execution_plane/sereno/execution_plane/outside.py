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

MAPPING_FAULTS = "mapping_faults"
"""Which expressions of the endpoint's mapping could not be evaluated on this body, and why."""

ENDPOINT_PAUSED = "endpoint_paused"
"""Present when a person had paused the endpoint: the event is recorded and wakes nobody."""

REDELIVERY_OF = "redelivery_of"
"""The receipt that a person had delivered again."""

FORCED = "forced_redelivery"
"""Present when a person had it delivered again although it is a duplicate: guard 1 is passed over and says so."""

REDELIVERED_BY = "redelivered_by"
"""The person who had it delivered again."""
