"""What the control plane keeps in Postgres: the event store and what is derived from it."""
