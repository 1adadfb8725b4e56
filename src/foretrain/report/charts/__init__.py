"""Charts of a page: where everything stands, in per cent of the drawing; templates draw it."""
