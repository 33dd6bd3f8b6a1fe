"""Real coding agents behind a real gate: `python -m tests.agents`, or one case with `--agent claude --case deny`.

Each agent is the program from the npm registry, in the version that `setup` was tried with. It gets a home of its own,
`aileron-tui setup` writes its settings on a terminal, and a scripted model on this machine asks it for calls. The gate
and the hooks are processes; the test plays the approver. What counts is what is on disk afterwards, what the model was
told, and what the history says.

A case that is known to be open is listed in `open_cases`, and fails if the agent no longer behaves so.
"""
