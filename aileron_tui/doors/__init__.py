"""How coding agents reach the gate: hooks that their programs run before and after a tool call."""
