"""The command line, the catalogue, the doctor and the schema."""
