"""Runs the revisions on the connection that `sereno.mailbox.engine.migrate` hands over."""

from sereno.mailbox.engine.migrate import run_environment

run_environment()
