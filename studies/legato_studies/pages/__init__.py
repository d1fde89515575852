"""Pages of docs, each written by a program: ``python -m legato_studies.pages NAME``."""
