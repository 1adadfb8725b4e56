"""What several checks share: claims, recorded figures, who published what, papers' systems."""
