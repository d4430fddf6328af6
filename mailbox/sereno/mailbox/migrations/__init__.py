"""Alembic history of the schema `mailbox`: messages, work, closed work, event log, notices."""
