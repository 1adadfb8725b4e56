"""Networks of convolutions: pictures, the blocks between them, and the published networks."""
