"""The live form of the views: one widget for all, and the changes that it is sent."""
