"""popliner: where to cut a large neural network so that it fits, and runs well, on several IPUs.

    analysis = popliner.read("report")
    answer = analysis.solve(num_ipus=2)
    print(answer.text())

The solver also takes costs of your own:

    costs = popliner.Costs(6)
    costs.fill_peaks(lambda first, last: sum(layer_bytes[first:last + 1]))
    print(costs.solve(num_ipus=3).split)

docs/python.md is a map. The module is libpopliner, by ctypes; `popliner.path` is the library.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from . import changes, costs, enums, records, request, together
from ._installed import VERSION as __version__
from ._library import path
from .analysis import (Analysis, Chain, FIRST_LAYER_REGEX, LAYER_NAME_REGEX, Words, check_options,
                       compare, load, locate, read, reports)
from .changes import Changes, Comparison
from .chains import FORBIDDEN, MAX_CYCLES, Costs, has_glpk, solve, solve_ways
from .diagnosis import Diagnosis
from .enums import *  # noqa: F401,F403
from .emit import check_emit
from .errors import (Error, InputError, InternalError, OutOfMemoryError, OutputError, StoppedError,
                     UsageError)
from .files import printable, write_file
from .plans import Answer, Candidate, Pareto, Plan, Replicas, Sweep
from .profile import Profile
from .records import Interval
from .request import (Copies, Order, Request, bytes_of, copies_at,
                      copies_max_stages)
from .together import Together, evaluate_together, solve_together

# Explicit, as type checkers want it.
__all__ = [
    "Analysis", "Answer", "Candidate", "Chain", "Changes", "Comparison", "Copies",
    "Costs", "Diagnosis", "Error", "FIRST_LAYER_REGEX", "FORBIDDEN", "InputError",
    "InternalError", "Interval", "LAYER_NAME_REGEX", "MAX_CYCLES", "OutOfMemoryError",
    "Order", "OutputError", "Pareto", "Plan", "Profile", "Replicas", "Request", "StoppedError",
    "Sweep", "Together", "UsageError", "Words", "__version__", "bytes_of", "check_emit",
    "check_options", "compare", "copies_at", "copies_max_stages", "costs", "enums",
    "evaluate_together", "has_glpk", "load", "locate", "path", "printable", "read",
    "records", "reports", "solve", "solve_together", "solve_ways",
    "write_file",
]
__all__ += enums.__all__

request.show_members(Analysis, Costs, costs, changes, together)
