"""How well: sets of coefficients; intervals and nearest measured runs that are read from them."""
