"""What a plain installation offers, tried in environments of its own."""
