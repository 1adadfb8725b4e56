"""What a step takes on two kinds of devices, by replica and by stage."""
