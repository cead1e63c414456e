"""Views: values and events to plain view states, then to text, HTML and SVG."""
