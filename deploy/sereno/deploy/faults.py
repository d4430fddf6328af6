"""What can stop a server or a process from starting, as a sentence a person can act on."""


class StartError(Exception):
    """Something does not start; the message is one sentence fit for a person."""


class PortInUseError(StartError):
    """Another program listens on the port."""
