"""Sources that are polled: items of MCP tools, each observed once for all who want to know."""
