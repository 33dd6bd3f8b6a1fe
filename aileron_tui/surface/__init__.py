"""What every surface shares: sources, listening to them, the board of what waits, answers, arming and history."""
