"""What an agent can ask of Sereno over MCP: its subscriptions, its mailbox, and why something was so."""
