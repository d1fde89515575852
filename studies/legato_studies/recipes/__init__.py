"""Variants of the product's recipes that reproductions train; ``legato train`` finds them by entry point.

What differs in settings alone needs no recipe: ``legato train r3net-as-printed --set over_weight=12``.
"""

from legato_studies.recipes import clcc, concerto, nvc_cc, r3net

RECIPES = {recipe.name: recipe for recipe in (*clcc.RECIPES, *concerto.RECIPES, *nvc_cc.RECIPES, *r3net.RECIPES)}
