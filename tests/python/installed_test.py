"""The module as it is installed: found without a word, with the library and the command that were
installed with it, also when all of it was moved.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import glob
import os
import subprocess
import sys
import unittest

import common

CMAKE = os.environ.get("POPLINER_CMAKE", "cmake")
BUILD = os.environ.get("POPLINER_BUILD", "")
LEFT_OUT = ("PYTHONPATH", "POPLINER_LIBRARY", "POPLINER_COMMAND")
CLEAN = {name: value for name, value in common.PYTHON_ENVIRONMENT.items() if name not in LEFT_OUT}
SHOW = "import popliner; print(popliner.path); print(popliner.Costs(3).solve().split)"


def install(prefix, destination=""):
    subprocess.run([CMAKE, "--install", BUILD, "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": destination})


def python(program, *arguments, **environment):
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", check=False, cwd=common.scratch(),
                          env={**CLEAN, **environment})


def folder_of(prefix):
    (package,) = glob.glob(os.path.join(prefix, "lib", "python*", "*-packages", "popliner"))
    return os.path.dirname(package)


class Installed(unittest.TestCase):
    def test_in_a_virtual_environment(self):
        prefix = os.path.join(common.scratch(), "environment")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
        install(prefix)
        program = os.path.join(prefix, "bin", "python")
        done = python(program, "-c", SHOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        path, split = done.stdout.splitlines()
        self.assertTrue(os.path.realpath(path).startswith(os.path.realpath(prefix)), path)
        self.assertEqual(split, "[ 0 1 2 ]")
        # the command is the one that was installed, not one of the PATH
        done = python(program, "-m", "popliner", "--version", PATH="/nowhere")
        self.assertEqual((done.returncode, done.stdout), (0, common.run("--version")))

    def test_moved(self):
        before = os.path.join(common.scratch(), "before")
        after = os.path.join(common.scratch(), "after")
        install(before)
        os.rename(before, after)
        folder = folder_of(after)
        done = python(sys.executable, "-c", SHOW, PYTHONPATH=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith(os.path.realpath(after)), done.stdout)
        # without that library there is none, unless one is named, or lies beside the modules
        (library,) = glob.glob(os.path.join(after, "lib*", "**", "libpopliner.so.*.*.*"),
                               recursive=True)
        version = ".".join(os.path.basename(library).split(".")[2:4])
        other = os.path.join(common.scratch(), "other.so")
        os.rename(library, other)
        done = python(sys.executable, "-c", SHOW, PYTHONPATH=folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("libpopliner cannot be loaded", done.stderr)
        done = python(sys.executable, "-c", SHOW, PYTHONPATH=folder, POPLINER_LIBRARY=other)
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, other), done.stderr)
        beside = os.path.join(folder, "popliner", f"libpopliner.so.{version}")
        os.rename(other, beside)
        done = python(sys.executable, "-c", SHOW, PYTHONPATH=folder)
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]),
                         (0, os.path.realpath(beside)), done.stderr)
        # and the loader's is taken, where it finds one
        found = os.path.join(common.scratch(), f"libpopliner.so.{version}")
        os.rename(beside, found)
        done = python(sys.executable, "-c", SHOW, PYTHONPATH=folder,
                      LD_LIBRARY_PATH=common.scratch())
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]),
                         (0, f"libpopliner.so.{version}"), done.stderr)

    def test_where_packages_go(self):
        """With the prefix /usr, where Debian's Python has a folder without a version."""
        destination = os.path.join(common.scratch(), "package")
        install("/usr", destination)
        folder = folder_of(os.path.join(destination, "usr"))
        code = ("import sysconfig, sys; print('deb_system' in sysconfig.get_scheme_names(), "
                "'python%d.%d' % sys.version_info[:2])")
        is_debian, version = python(sys.executable, "-c", code).stdout.split()
        expected = ("lib/python3/dist-packages" if is_debian == "True"
                    else f"lib/{version}/site-packages")
        self.assertEqual(os.path.relpath(folder, os.path.join(destination, "usr")), expected)
        names = set(os.listdir(os.path.join(folder, "popliner")))
        self.assertTrue({"__init__.py", "__main__.py", "_declared.py", "_installed.py", "enums.py",
                         "py.typed"} <= names, names)
        self.assertIn("gguf.py", os.listdir(os.path.join(folder, "popliner", "costs")))
        for path, _, files in os.walk(os.path.join(folder, "popliner")):
            for name in (name for name in files if name.endswith((".py", ".typed"))):
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    self.assertNotIn(common.ROOT, file.read(), name)  # no folder of this machine


if __name__ == "__main__":
    common.main()
