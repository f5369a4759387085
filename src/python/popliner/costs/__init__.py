"""Costs of the stages of a chain, and where they come from.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from ..chains import FORBIDDEN, MAX_CYCLES, Costs, FileInfo, has_glpk, solve, solve_ways
from .source import read_source
from .table import Assumed, Table

__all__ = ["Assumed", "Costs", "FORBIDDEN", "FileInfo", "MAX_CYCLES", "Table", "has_glpk",
           "read_source", "solve", "solve_ways"]
