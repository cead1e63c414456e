"""Experiments for teaching: what runs in them; ``notebook/views/lab_view`` shows what came out."""
