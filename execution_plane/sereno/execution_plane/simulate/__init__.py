"""The simulator: the live matcher, guards and leases in virtual time, without a server."""
