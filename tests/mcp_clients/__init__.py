"""Real MCP clients before the MCP server: an older SDK and the inspector. `make mcp` installs and tries them."""
