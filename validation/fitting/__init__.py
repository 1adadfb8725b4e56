"""How the shipped coefficients are fitted, and what residuals say of intervals."""
