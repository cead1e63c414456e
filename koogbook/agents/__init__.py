"""The agent, its runs, and what it says about them."""
