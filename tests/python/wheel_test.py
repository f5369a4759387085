"""pip install . into a clean virtual environment, without a network: the wheel holds the library
and the command, and needs nothing of the source tree.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

import common

BUILD = os.environ.get("POPLINER_BUILD", "")
LEFT_OUT = ("PYTHONPATH", "POPLINER_LIBRARY", "POPLINER_COMMAND", "POPLINER_BUILD", "LD_PRELOAD")
CLEAN = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
SHOW = ("import popliner; print(popliner.Costs(3).solve().split); print(popliner.path); "
        "from popliner.costs import read_source")


USER = """
import popliner
from popliner.costs import read_source

table = read_source("model", batch=2)
costs = popliner.Costs(6)
costs.set_cuts([1, 2, 3, 4, 5])
answer = costs.solve(num_ipus=3, schedule=popliner.Schedule.NONE)
print(answer.split, answer.stages[0].peak_bytes, table.csv())
"""


def builder():
    """A Python with what building a wheel needs."""
    for program in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([program, "-c", "import setuptools, wheel, venv, ensurepip"], check=False,
                          capture_output=True, env=CLEAN).returncode == 0:
            return program
    return None


class Wheel(unittest.TestCase):
    def test_pip_install(self):
        program = builder()
        if program is None or common.PRELOAD:
            self.skipTest("no Python with setuptools, wheel and venv, or the library has a "
                          "sanitizer")
        tree = os.path.join(common.scratch(), "tree")
        os.makedirs(os.path.join(tree, "src"))
        for name in ("pyproject.toml", "setup.py", "CMakeLists.txt"):
            shutil.copy(os.path.join(common.ROOT, name), tree)
        shutil.copytree(os.path.join(common.ROOT, "src", "python"),
                        os.path.join(tree, "src", "python"))
        environment = os.path.join(common.scratch(), "environment")
        subprocess.run([program, "-m", "venv", "--system-site-packages", environment], check=True,
                       env=CLEAN)
        pip = [os.path.join(environment, "bin", "python"), "-m", "pip", "--quiet",
               "--disable-pip-version-check"]
        wheels = os.path.join(common.scratch(), "wheels")
        for arguments in (["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, tree],
                          ["install", "--no-index", "--find-links", wheels, "popliner"]):
            done = subprocess.run([*pip, *arguments], capture_output=True, check=False,
                                  env={**CLEAN, "POPLINER_BUILD": BUILD})
            self.assertEqual(done.returncode, 0, done.stderr.decode())
        (wheel,) = os.listdir(wheels)
        self.assertRegex(wheel, r"^popliner-[\d.]+-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
            names = archive.namelist()
        self.assertIn("popliner/costs/gguf.py", names)
        self.assertIn("popliner/py.typed", names)
        shutil.rmtree(tree)
        done = subprocess.run([pip[0], "-c", SHOW], capture_output=True, check=False, env=CLEAN,
                              cwd=common.scratch())
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        split, path = done.stdout.decode().splitlines()
        self.assertEqual(split, "[ 0 1 2 ]")
        self.assertTrue(os.path.realpath(path).startswith(os.path.realpath(environment)), path)
        # the files of the guide for GPUs, and its ten lines
        with open(os.path.join(common.ROOT, "docs", "guide-gpu.md"), encoding="utf-8") as file:
            guide = file.read()
        for name in ("config.json", "longest.py"):
            lines = re.search(rf"^\$ cat > {name} <<'END'\n((?:> .*\n)*?)> END$", guide, re.M)[1]
            with open(os.path.join(common.scratch(), name), "w", encoding="utf-8") as file:
                file.write(re.sub("^> ", "", lines, flags=re.M))
        done = subprocess.run([pip[0], "longest.py"], capture_output=True, check=False, env=CLEAN,
                              cwd=common.scratch())
        self.assertEqual(done.stderr, b"")
        self.assertIn(done.stdout.decode()[:40], guide)
        if shutil.which("mypy") is not None:
            user = os.path.join(common.scratch(), "script.py")
            with open(user, "w", encoding="utf-8") as file:
                file.write(USER)
            # before mypy 1.7 keywords are checked on demand
            checker = ["mypy", "--strict", "--enable-incomplete-feature=Unpack",
                       "--python-executable", pip[0], user]
            done = subprocess.run(checker, capture_output=True, check=False, env=CLEAN,
                                  cwd=common.scratch())
            self.assertIn(b"Success", done.stdout, done.stdout.decode())
            # keywords that there are not, and types that they have not
            wrong = ['costs.solve(max_stages=3)', 'costs.solve(num_ipus="3")',
                     'popliner.solve(costs, objective="cycles")']
            with open(user, "a", encoding="utf-8") as file:
                file.write("\n".join(wrong) + "\n")
            first = USER.count("\n") + 1
            done = subprocess.run(checker, capture_output=True, check=False, env=CLEAN,
                                  cwd=common.scratch())
            found = re.findall(r"script\.py:(\d+): error", done.stdout.decode())
            self.assertEqual(found, [str(first + i) for i in range(len(wrong))],
                             done.stdout.decode())
        command = os.path.join(environment, "bin", "popliner")
        done = subprocess.run([command, "--version"], capture_output=True, check=False, env=CLEAN)
        self.assertEqual((done.returncode, done.stdout.decode()), (0, common.run("--version")))


if __name__ == "__main__":
    common.main()
