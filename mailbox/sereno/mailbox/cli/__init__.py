"""What every `sereno` command shares: where the planes are, how to ask them, how to answer and to fail."""
