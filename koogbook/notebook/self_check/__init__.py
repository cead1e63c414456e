"""Whether koogbook works here: Python, kernel, views, JupyterLab, a browser, stores; and what to do where not."""
