"""With what software: what it does by its own habits, whatever the plan."""
