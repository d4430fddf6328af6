"""Run by Alembic: the revisions of schema `mailbox`, on the connection that `engine.migrate` handed over."""

from sereno.mailbox.engine.migrate import run_environment

run_environment()
