"""The magics: one table, and a small file for what each theme of it does."""
