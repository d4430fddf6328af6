"""The emergency stop as the execution plane carries it out: the row, what is told of it, and its end."""
