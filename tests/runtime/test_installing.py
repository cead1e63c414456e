"""The lines that install features."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import koogbook as kb
from koogbook import features
from koogbook.runtime.installing import LINES


def feature_classes() -> set[str]:
    """The names of the classes of the package that ``agent.install`` takes."""
    found = set()
    for module in pkgutil.walk_packages(features.__path__, f"{features.__name__}."):
        for name, one in inspect.getmembers(import_module(module.name), inspect.isclass):
            if one.__module__ == module.name and inspect.isfunction(getattr(one, "install", None)):
                found.add(name)
    return found


def test_each_feature_of_the_package_has_a_line_that_installs_it() -> None:
    """And no line is for one that is not there [AGT-02a]."""
    assert set(LINES) == feature_classes()
    for name, line in LINES.items():
        assert line.startswith(f"agent.install(kb.{name}(")
        assert inspect.isclass(getattr(kb, name))
