"""Named models, one file per family; each exports a tuple ENTRIES."""
