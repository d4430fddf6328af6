"""What gauges of this plane show, looked up when they are asked for."""
