"""The module has all of the library, hints that mean something, and words for everything.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import inspect
import os
import re
import typing
import unittest

import common
import popliner
from popliner import (_declared, analysis, changes, costs, diagnosis, files, plans, profile,
                      records, request, together)
from popliner.request import MEMBERS

MODULES = (analysis, changes, costs, diagnosis, files, plans, profile, records, request, together)

# what Python has no use for: names of enumerators, and what is there in another way
LEFT_OUT = {
    "popliner_reserve_memory",  # the inverse of a subtraction
    "popliner_analysis_evaluate_plan",  # evaluate() takes the cuts of a plan
    "popliner_error_fill",  # Python has exceptions
    "popliner_misspelling",  # Python has difflib
    "popliner_solver_options_complete",  # the library does it with each request
    *("popliner_document_" + name for name in ("parse", "free", "number", "text", "count")),
}


def public(module):
    for name, it in vars(module).items():
        if not name.startswith("_") and getattr(it, "__module__", None) == module.__name__:
            yield name, it


def members(kind):
    for name, it in vars(kind).items():
        if name.startswith("_") and (name != "__init__" or hasattr(kind, "_fields")):
            continue
        if isinstance(it, property):
            yield name, it.fget
        elif isinstance(it, (classmethod, staticmethod)):
            yield name, it.__func__
        elif inspect.isfunction(it):
            yield name, it


class Interface(unittest.TestCase):
    def test_every_function_of_the_library_is_used(self):
        folder = os.path.dirname(popliner.__file__)
        text = ""
        for below, _, names in os.walk(folder):
            for name in names:
                if name.endswith(".py") and name != "_declared.py":
                    with open(os.path.join(below, name), encoding="utf-8") as file:
                        text += file.read()
        used = set(re.findall(r"library\.(popliner_\w+)", text))
        self.assertEqual(set(_declared.FUNCTIONS) - used, LEFT_OUT)

    def test_hints_can_be_looked_up(self):
        count = 0
        for module in MODULES:
            for _, it in public(module):
                if inspect.isclass(it):
                    typing.get_type_hints(it)
                    for name, function in members(it):
                        # what plans.py imports for type checkers alone
                        names = {"Costs": costs.Costs, **function.__globals__}
                        hints = typing.get_type_hints(function, names)
                        self.check_hints(f"{it.__name__}.{name}", function, hints)
                        count += 1
                elif inspect.isfunction(it):
                    self.check_hints(it.__name__, it, typing.get_type_hints(it))
                    count += 1
        self.assertGreater(count, 120)

    def check_hints(self, name, function, hints):
        parameters = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
        # shown by name, so that help() and completion list them
        if hints.get("members") is typing.Any:
            self.assertLessEqual(MEMBERS, set(parameters), name)
            parameters = set(parameters) - MEMBERS
        for parameter in parameters:
            self.assertIn(parameter, hints, name)
        if not name.endswith(("__enter__", "__init__")):
            self.assertIn("return", hints, name)

    def test_everything_public_is_described(self):
        for name in popliner.__all__:
            it = getattr(popliner, name)
            if inspect.isclass(it) or inspect.isfunction(it):
                if not issubclass(it, int) if inspect.isclass(it) else True:
                    self.assertTrue(inspect.getdoc(it), name)

    def test_what_is_public(self):
        for name in ("Analysis", "Answer", "Costs", "Error", "Plan", "Request", "Schedule", "read",
                     "load", "solve", "compare", "Section", "UsageError", "__version__"):
            self.assertIn(name, popliner.__all__)
        own = {name for name, it in vars(popliner).items() if not name.startswith("_")
               and getattr(it, "__module__", "").startswith("popliner")}
        self.assertEqual(own - set(popliner.__all__), set())
        self.assertEqual(len(set(popliner.__all__)), len(popliner.__all__))
        self.assertFalse([name for name in popliner.__all__
                          if name.startswith("_") and name != "__version__"])


if __name__ == "__main__":
    common.main()
