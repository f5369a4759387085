"""Files are written whole, and names are shown as popliner/utilities.h says.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import os
import shutil
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

    def test_what_was_read_is_not_replaced(self):
        """Neither by its own name nor by a link; a stored analysis may be stored again."""
        report = os.path.join(common.scratch(), "kept")
        shutil.copytree(common.SAMPLE, report)
        profile, debug = (os.path.join(report, it) for it in ("profile.pop", "debug.cbor"))
        soft, hard, table = (os.path.join(report, it) for it in ("soft", "hard", "costs.csv"))
        os.symlink("profile.pop", soft)
        os.link(debug, hard)
        popliner.write_file(table, "name,memory\na,1\nb,2\n")

        def contents():
            result = []
            for path in (profile, debug, table):
                with open(path, "rb") as file:
                    result.append(file.read())
            return result

        before = contents()
        stored = os.path.join(report, "stored")
        with popliner.read(report) as analysis:
            for path in (profile, debug, soft, hard):
                with self.assertRaisesRegex(popliner.UsageError, "would overwrite"):
                    analysis.save(path)
            analysis.save(stored)
        with popliner.load(stored) as analysis:
            analysis.save(stored)
        costs = popliner.Costs.read(table)
        with self.assertRaisesRegex(popliner.UsageError, "would overwrite"):
            costs.write(table, num_ipus=2)
        if popliner.has_glpk():
            costs.write(table + ".lp", num_ipus=2)
        self.assertEqual(contents(), before)

    def test_reports_that_cannot_be_examined_are_listed(self):
        root = os.path.join(common.scratch(), "reports")
        for name in ("a", "b"):
            os.makedirs(os.path.join(root, name))
        os.symlink("nowhere", os.path.join(root, "b", "profile.pop"))
        os.symlink("nowhere", os.path.join(root, "c"))
        self.assertEqual(popliner.reports(root), ["b", "c"])
        for name in ("b", "c"):
            with self.assertRaisesRegex(popliner.InputError,
                                        f"{name}.*(cannot be read|no such file)"):
                popliner.read(os.path.join(root, name))

    def test_names_are_utf8_in_any_locale(self):
        names = {"costs": "co\u00fbts/\u65e5.csv", "model": "mod\u00e8le/config.json"}
        paths = {key: os.path.join(common.scratch(), name) for key, name in names.items()}
        for path, text in zip(paths.values(), ("name,memory\n\u00e9cole,5\n", "{}")):
            os.mkdir(os.path.dirname(path))
            popliner.write_file(path, text)
        program = ("import popliner, sys; from popliner.costs import read_source\n"
                   "def say(text): sys.stdout.buffer.write(text.encode(errors='surrogateescape'))\n"
                   f"costs, model = {ascii(paths['costs'])}, {ascii(paths['model'])}\n"
                   "say(popliner.Costs.read(costs).solve(num_ipus=1).report(is_ascii=True))\n"
                   f"for path in model, {ascii(os.path.dirname(paths['model']))}:\n"
                   "    try: read_source(path)\n"
                   "    except popliner.InputError as error: say(str(error))\n"
                   "try: popliner.read(model)\n"
                   "except popliner.InputError as error: say(str(error))\n")
        for locale in ("C", "C.UTF-8"):
            done = common.python("-c", program, LC_ALL=locale, PYTHONUTF8="0",
                                 PYTHONCOERCECLOCALE="0")
            self.assertEqual(done.stderr, "", locale)
            self.assertIn("\u00e9cole", done.stdout)
            self.assertEqual(done.stdout.count("config.json: model_type"), 2, done.stdout)
            self.assertIn("mod\u00e8le/config.json", done.stdout)

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
