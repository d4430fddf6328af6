"""Alembic history of the schema `control`: what the control plane keeps in Postgres."""
