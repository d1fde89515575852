"""One file a paper: how its policy is trained. ``RECIPE`` in each is a :class:`legato.train.recipe.Recipe`."""
