"""Variants of the product's recipes that reproductions train; ``legato train`` finds them by entry point."""
