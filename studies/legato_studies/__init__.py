"""Measurements, reproductions and rankings made with Legato; no part of the product imports them."""
