"""docs/python.md: its examples do what it says.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import doctest
import os
import unittest

import common


class Documents(unittest.TestCase):
    def test_examples(self):
        os.chdir(common.ROOT)
        path = os.path.join(common.ROOT, "docs", "python.md")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        test = doctest.DocTestParser().get_doctest(text, {}, "docs/python.md", path, 0)
        self.assertGreater(len(test.examples), 30)
        for example in test.examples:
            self.assertNotIn(doctest.SKIP, example.options)
        told = []
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        result = runner.run(test, out=told.append)
        self.assertEqual(result.failed, 0, "".join(told))


if __name__ == "__main__":
    common.main()
