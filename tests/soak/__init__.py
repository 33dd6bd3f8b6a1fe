"""A gate at work for a long time: agents, operators and a console, with what must hold and what must not grow."""
