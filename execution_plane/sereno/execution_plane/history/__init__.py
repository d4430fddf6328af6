"""History: the events that were received, with the clock by which each was decided, for a simulation to run again."""
