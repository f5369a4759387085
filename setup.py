"""Builds the wheel: the module, with the shared library and the command inside.

pip install . runs CMake. POPLINER_CMAKE_ARGUMENTS has further arguments, such as
-DPOPLINER_GLPK=OFF;
POPLINER_BUILD names a build folder whose files are taken as they are.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import os
import re
import shlex
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel  # since 70.1
except ImportError:
    try:
        from wheel.bdist_wheel import bdist_wheel
    except ImportError:
        raise SystemExit("popliner: the package wheel is missing; run pip install wheel, or leave "
                         "out --no-build-isolation") from None

ROOT = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
    VERSION = re.search(r"project\(popliner VERSION ([\d.]+)", file.read())[1]
LIBRARY = "libpopliner.so." + ".".join(VERSION.split(".")[:2])


class Build(build_py):
    """Takes the module from the build folder, which has what is made from the headers."""

    def run(self):
        folder = os.environ.get("POPLINER_BUILD")
        arguments = shlex.split(os.environ.get("POPLINER_CMAKE_ARGUMENTS", ""))
        if not folder:
            folder = os.path.abspath(os.path.join(self.get_finalized_command("build").build_temp,
                                                  "cmake"))
            subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
                            "-DPOPLINER_TESTS=OFF", "-DPOPLINER_BENCH=OFF",
                            *arguments], check=True)
            subprocess.run(["cmake", "--build", folder, "--parallel", str(os.cpu_count() or 1),
                            "--target", "popliner", "popliner_shared", "popliner_python"],
                           check=True)
        package = os.path.join(self.build_lib, "popliner")
        shutil.copytree(os.path.join(folder, "python", "popliner"), package, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__"))
        for name in (LIBRARY, "popliner"):
            shutil.copy(os.path.join(folder, name), os.path.join(package, name))
        with open(os.path.join(package, "_installed.py"), "w", encoding="utf-8") as made:
            made.write('"""The library and the command lie in this folder."""\n\n'
                       f'VERSION = "{VERSION}"\nLIBRARY = "{LIBRARY}"\nCOMMAND = "popliner"\n')


class Wheel(bdist_wheel):
    """For any Python of this machine: the library is not compiled for one."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class Platform(Distribution):
    """A wheel with files of a machine."""

    def has_ext_modules(self):
        return True


setup(version=VERSION, distclass=Platform, cmdclass={"build_py": Build, "bdist_wheel": Wheel})
