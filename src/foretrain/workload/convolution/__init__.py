"""Networks over pictures and volumes, written down from input to output."""
