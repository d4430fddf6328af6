"""The export of every public shape from the models that define it (`make schemas`)."""
