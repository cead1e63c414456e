"""One module per command: ``add`` says what it takes, and what it does is a function of that."""
