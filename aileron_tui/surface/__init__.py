"""What every surface shares: sources, listening to them, the board of waiting requests, answers, arming and history."""
