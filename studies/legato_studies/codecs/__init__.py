"""Encoders and decoders measured on clips: each program writes the tables of a page of docs."""
