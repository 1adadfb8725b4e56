"""Event simulations that check the closed forms."""
