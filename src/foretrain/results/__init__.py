"""What each verb answers."""
