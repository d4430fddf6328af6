"""What the mailbox and both planes need from PostgreSQL, NATS and OpenTelemetry.

It stands in the lowest layer that does I/O, so that neither plane has to import the other for it.
"""
