"""pip install . into virtual environments, without a network: the wheel holds the library and the
command, and needs nothing of the source tree. In a clean one, the guide for GPUs; without GLPK, a
file of costs.

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
    def setUp(self):
        self.program = builder()
        if self.program is None or common.PRELOAD:
            self.skipTest("no Python with setuptools, wheel and venv, or the library has a "
                          "sanitizer")

    def run_in(self, *arguments, **environment):
        """What a program writes, without what the tests set, in the scratch folder."""
        done = subprocess.run(arguments, capture_output=True, check=False, cwd=common.scratch(),
                              env={**CLEAN, **environment})
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def environment(self, name, *options):
        """The folder of programs of a new virtual environment."""
        folder = os.path.join(common.scratch(), name)
        self.run_in(self.program, "-m", "venv", *options, folder)
        return os.path.join(folder, "bin")

    def pip(self, programs, *arguments, **environment):
        self.run_in(os.path.join(programs, "python"), "-m", "pip", "--quiet",
                    "--disable-pip-version-check", *arguments, **environment)

    def wheel(self, programs, name, tree, **environment):
        """Makes the wheel of a tree, in a new folder, and installs it."""
        wheels = os.path.join(common.scratch(), name)
        self.pip(programs, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels,
                 tree, **environment)
        self.install(programs, wheels)
        return wheels

    def install(self, programs, wheels):
        self.pip(programs, "install", "--no-index", "--find-links", wheels, "popliner")

    def built(self, name, *arguments):
        """A wheel that CMake builds from the sources: the folder of programs of an environment that
        has it, the wheel's files by name, and the library."""
        tree = os.path.join(common.scratch(), name + "-sources")
        shutil.copytree(common.ROOT, tree, ignore=shutil.ignore_patterns(
            "build", ".git", "golden", "__pycache__"))
        programs = self.environment(name, "--system-site-packages")
        arguments = [*arguments, "-DCMAKE_BUILD_TYPE=Debug"]  # quickly
        if shutil.which("ccache"):
            arguments.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        wheels = self.wheel(programs, "wheels-" + name, tree, CCACHE_BASEDIR=tree,
                            CCACHE_NOHASHDIR="1", POPLINER_CMAKE_ARGUMENTS=" ".join(arguments))
        shutil.rmtree(tree)
        with zipfile.ZipFile(os.path.join(wheels, *os.listdir(wheels))) as archive:
            names = archive.namelist()
            library, = [name for name in names if ".so" in name]
            return programs, names, archive.read(library)

    def test_without_glpk(self):
        """3 + 4 | 5 is the smallest largest part."""
        programs, _, library = self.built("without", "-DPOPLINER_GLPK=OFF")
        self.assertNotIn(b"glpk.so", library)
        with open(os.path.join(common.scratch(), "abc.csv"), "w", encoding="utf-8") as file:
            file.write("name,memory\na,3\nb,4\nc,5\n")
        show = ("import popliner; costs = popliner.Costs.read('abc.csv'); "
                "answer = costs.solve(num_ipus=2); "
                "print(popliner.has_glpk(), answer.split, answer.peak_bytes, answer.is_optimal)")
        self.assertEqual(self.run_in(os.path.join(programs, "python"), "-c", show),
                         "False [ a b | c ] 7 True\n")

    def test_pip_install(self):
        tree = os.path.join(common.scratch(), "tree")
        os.makedirs(os.path.join(tree, "src"))
        for name in ("pyproject.toml", "setup.py", "CMakeLists.txt"):
            shutil.copy(os.path.join(common.ROOT, name), tree)
        shutil.copytree(os.path.join(common.ROOT, "src", "python"),
                        os.path.join(tree, "src", "python"))
        programs = self.environment("environment", "--system-site-packages")
        wheels = self.wheel(programs, "wheels", tree, POPLINER_BUILD=BUILD)
        (wheel,) = os.listdir(wheels)
        self.assertRegex(wheel, r"^popliner-[\d.]+-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
            names = archive.namelist()
        self.assertIn("popliner/costs/gguf.py", names)
        self.assertIn("popliner/py.typed", names)
        shutil.rmtree(tree)
        self.check_guide(wheels)
        if shutil.which("mypy") is not None:
            user = os.path.join(common.scratch(), "script.py")
            with open(user, "w", encoding="utf-8") as file:
                file.write(USER)
            # before mypy 1.7 keywords are checked on demand
            checker = ["mypy", "--strict", "--enable-incomplete-feature=Unpack",
                       "--python-executable", os.path.join(programs, "python"), user]
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

    def check_guide(self, wheels):
        """In an environment of nothing else: install, import, the ten lines, and a plan."""
        programs = self.environment("clean")
        self.install(programs, wheels)
        environment = {"PATH": programs + os.pathsep + CLEAN["PATH"]}
        split, path = self.run_in("python3", "-c", SHOW, **environment).splitlines()
        self.assertEqual(split, "[ 0 1 2 ]")
        self.assertTrue(os.path.realpath(path).startswith(os.path.realpath(
            os.path.dirname(programs))), path)
        with open(os.path.join(common.ROOT, "docs", "guide-gpu.md"), encoding="utf-8") as file:
            guide = file.read()
        for name in ("config.json", "longest.py"):
            lines = re.search(rf"^\$ cat > {name} <<'END'\n((?:> .*\n)*?)> END$", guide, re.M)[1]
            with open(os.path.join(common.scratch(), name), "w", encoding="utf-8") as file:
                file.write(re.sub("^> ", "", lines, flags=re.M))
        # a command with its documented output; "…" stands for the rest of a line
        for start in ("python3 -m popliner.costs config.json --sequence 8192 >",
                      "python3 longest.py",
                      "popliner costs.csv -q --solve --num-ipus 3 --mem-per-tile 8G --output vllm"):
            command, output = re.search(rf"^\$ ({re.escape(start)}.*)\n((?:[^$`].*\n)?)", guide,
                                        re.M).groups()
            printed = self.run_in("sh", "-c", command, **environment)
            self.assertRegex(printed, "^" + re.escape(output.strip()).replace("…", ".*") + "$")
        self.assertEqual(self.run_in("popliner", "--version", **environment),
                         common.run("--version"))


if __name__ == "__main__":
    common.main()
