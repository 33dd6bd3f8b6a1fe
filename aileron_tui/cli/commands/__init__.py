"""The commands: one module each, imported when it is called, and the table that lists them."""

COMMANDS = {
    "demo": "try the console with sample data; needs no setup",
    "gate": "run the gate without a console",
    "setup": "put a coding agent or an MCP server behind the gate, or take that back",
    "run": "call an action as an agent does",
    "result": "fetch the result of a call as an agent does",
    "hook": "answer a hook of a coding agent; agents run it",
    "mcp": "serve the actions to an MCP client; MCP clients run it",
    "mcp-proxy": "put an MCP server behind the gate; MCP clients run it",
    "list": "list the waiting requests",
    "show": "show one request",
    "approve": "approve a waiting request",
    "deny": "deny a waiting request",
    "watch": "print requests as they arrive, change and end",
    "history": "show, search, verify and export the history",
    "agent": "add, list and revoke agents and their tokens",
    "rules": "make, list, explain and end rules, which answer calls without asking",
    "key": "create and manage signing keys and approvers",
    "preview": "print the prompt for a call without making a request",
    "lint": "check manifests of actions, connectors and suites, and policies",
    "doctor": "check the setup and suggest fixes",
}
