"""Alembic history of the schema `execution`: what the execution plane keeps in Postgres."""
