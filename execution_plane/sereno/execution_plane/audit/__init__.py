"""The audit chain of the execution plane: what was decided, and what people did to messages."""

PLANE = "execution"
