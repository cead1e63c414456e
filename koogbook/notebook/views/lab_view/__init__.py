"""What came out of a lab, as a table and a picture."""
