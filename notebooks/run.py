"""Run the notebooks of this folder and keep their outputs: python notebooks/run.py [NAME ...].

Views are shown in their static form, and nothing is kept that is another one on another machine: no times of execution,
no version of the language.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent


def run(path: Path) -> None:
    """Run one from its first cell to its last, and write it back."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


if __name__ == "__main__":
    os.environ["KOOGBOOK_STATIC"] = "1"
    names = sys.argv[1:] or sorted(path.name for path in FOLDER.glob("*.ipynb"))
    for name in names:
        run(FOLDER / name)
        print(f"{name}: run, outputs kept")
