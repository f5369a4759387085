"""Files are written whole, and names are shown as popliner/printable.h says.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import os
import stat
import unittest

import common
import popliner


class FilesTest(unittest.TestCase):
    def test_files_are_replaced(self):
        path = os.path.join(common.scratch(), "plan.json")
        popliner.write_file(path, "é\n")
        os.chmod(path, 0o640)
        with open(path, "rb") as before:
            popliner.write_file(path, b"a\0b")
            self.assertEqual(before.read(), "é\n".encode())  # what was open is another file
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"a\0b")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o640)
        with self.assertRaises(popliner.OutputError):
            popliner.write_file(os.path.join(path, "below"), "")
        with self.assertRaises(TypeError):
            popliner.write_file(path, 5)
        popliner.write_file(path, "")
        self.assertEqual(os.path.getsize(path), 0)
        self.assertEqual([it for it in os.listdir(common.scratch()) if it.endswith(".part")], [])

    def test_names_are_shown(self):
        for name, shown in (("", ""), ("Layer0/é\U0001f642", "Layer0/é\U0001f642"),
                            ("a\n\r\tb", "a\\n\\r\\tb"), ("\x1b[31m", "\\u001b[31m"),
                            ("\x9b\u2028\u202e", "\\u009b\\u2028\\u202e"), (b"\xe9", "\\xe9"),
                            ("\udce9", "\\xe9")):
            self.assertEqual(popliner.printable(name), shown)
        with self.assertRaises(popliner.UsageError):
            popliner.printable("a\0b")
        with self.assertRaises(TypeError):
            popliner.printable(5)


if __name__ == "__main__":
    common.main()
