"""Real MCP servers from the package registries, in the versions that were tried."""
