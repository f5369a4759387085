"""Objects print well, and a session as in a notebook works: what is shown is escaped.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import html.parser
import os
import unittest

import common
import popliner
from common import SAMPLE
from popliner import _html

EVIL = "<script>alert('&')</script>\""


class Checking(html.parser.HTMLParser):
    """Every tag is closed, and there are none but those of tables."""

    ALLOWED = {"table", "caption", "thead", "tbody", "tr", "td", "th", "p"}

    def __init__(self):
        super().__init__()
        self.open = []
        self.texts = []

    def handle_starttag(self, tag, attributes):
        assert tag in self.ALLOWED, tag
        assert all(name == "style" for name, _ in attributes), attributes
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.texts.append(data)


def shown(it):
    """The texts of what a notebook shows."""
    checking = Checking()
    checking.feed(it._repr_html_())
    checking.close()
    assert not checking.open
    return checking.texts


class Showing(unittest.TestCase):
    def test_a_session(self):
        cells = {}
        session = [
            "import popliner",
            f"analysis = popliner.read({SAMPLE!r})",
            "analysis",
            "analysis.profile",
            "analysis.profile.info",
            "analysis.chain()",
            "analysis.layer_pairs()",
            "answer = analysis.solve(num_ipus=2, require='layers:1..')",
            "answer",
            "answer.details[0]",
            "analysis.sweep('num_ipus', range(1, 4), require='layers:1..')",
            "analysis.pareto('memory,traffic')",
            "analysis.solve_replicas(4, micro_batches=4)",
            "analysis.diagnose()",
            "popliner.compare(analysis, analysis)",
            "analysis.costs()",
            "answer.close(); analysis.close(); analysis",
        ]
        found = {}
        for cell in session:
            *statements, last = cell.split("; ")
            for statement in statements:
                exec(statement, cells)
            try:
                code = compile(last, "cell", "eval")
            except SyntaxError:
                exec(last, cells)
                continue
            value = eval(code, cells)
            text = repr(value)
            self.assertTrue(text)
            self.assertNotIn(" object at 0x", text)
            found[cell] = (text, shown(value))
        text, texts = found["answer"]
        self.assertEqual(text, "<Answer: optimal, [ Head 0 1 | 2 3 Tail ], 34127 bytes>")
        self.assertIn("34127", texts)
        self.assertIn("optimal: [ Head 0 1 | 2 3 Tail ]", texts)
        self.assertIn("<Analysis of ", found["analysis"][0])
        self.assertIn("8 tiles of 638976 bytes", found["analysis"][0])
        self.assertEqual(found["analysis.chain()"][0], "<Chain: Head 0 1 2 3 Tail>")
        self.assertIn("closed", found[session[-1]][0])

    def test_texts_are_escaped(self):
        costs = popliner.Costs(2, unit_names=[EVIL, "b"], time_unit=EVIL)
        costs.set_cycles(0, 1, 7)
        answer = costs.solve()
        for it in (costs, answer, costs.sweep("num_ipus", [1], title=EVIL),
                   costs.pareto("memory,cycles"), costs.solve_replicas(2)):
            texts = shown(it)  # a tag of the name's own would not be allowed
            self.assertTrue(any(EVIL in text for text in texts), it)
            self.assertNotIn("<script", it._repr_html_())
        link = os.path.join(common.scratch(), "<b>x&")
        os.symlink(SAMPLE, link)
        with popliner.read(link) as analysis:
            self.assertIn("<b>x&", shown(analysis))

    def test_what_may_be_in_a_cell(self):
        checking = Checking()
        checking.feed(_html.table(EVIL, (EVIL, "b"), [(EVIL, None), (1.5, True),
                                                      (popliner.Proof.SEARCH, b"<b>")]))
        self.assertEqual(checking.texts, [EVIL, EVIL, "b", EVIL, "1.5", "True", "search",
                                          "b'<b>'"])

    def test_long_tables_are_cut(self):
        checking = Checking()
        checking.feed(_html.table("", ("a",), [(i,) for i in range(1000)]))
        self.assertLess(len(checking.texts), 150)
        self.assertEqual(checking.texts[-1], "… and 900 more rows")
        self.assertTrue(len(popliner.Costs(500)._repr_html_()) < 50000)

    def test_items(self):
        with popliner.read(SAMPLE) as analysis:
            self.assertEqual(repr(analysis.profile.tiles), "<8 tiles>")
            tile = analysis.profile.tiles[0]
            self.assertTrue(repr(tile).startswith("TileMemory(total_bytes="))
            self.assertEqual(repr(analysis.operations),
                             f"<{len(analysis.operations)} operations>")


if __name__ == "__main__":
    common.main()
