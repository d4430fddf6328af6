"""The webhook gateway: authenticates what strangers send, makes it durable, and only then answers 202."""
