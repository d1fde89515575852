"""The verbs of ``legato`` that this package adds, one file each, found by entry point."""
