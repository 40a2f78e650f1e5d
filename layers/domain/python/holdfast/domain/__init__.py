"""One file per aggregate: commands, and planners that turn each into a plan. Pure."""
