#!/usr/bin/env python3
"""The examples in the comments of public headers, and those in C and Python of the README, run.

    header_examples_test.py COMPILER SOURCE LIBRARY PYTHON_MODULE SAMPLE

SPDX-License-Identifier: GPL-3.0-or-later
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import textwrap

compiler, source, library, module, sample = sys.argv[1:]

# what an example uses and does not declare
BEFORE = {
    "analysis": "popliner_analysis *analysis = NULL;",
    "answer": "popliner_certificate *answer = NULL;",
    "text": "char *text = NULL;",
    "request": "popliner_request request = POPLINER_REQUEST_INIT;",
    "first_units": "const size_t first_units[] = {2};",
    "model": 'popliner_analysis *model = NULL;\nCHECK(popliner_analysis_read("report", NULL, NULL, '
             "&model, &error));",
    "compiled": "popliner_analysis *compiled[] = {model, model};",
    "profile": "const popliner_profile *profile = popliner_analysis_profile(model);",
}
NEEDS = {"compiled": ("model",), "profile": ("model",)}

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
#include "popliner/popliner.h"

popliner_error error;
#define CHECK(call) \\
    ((call) == POPLINER_OK ? (void)0 : (fprintf(stderr, "%s\\n", error.message), exit(1)))

int main(void) {{
{}
    return 0;
}}
"""


def examples():
    """(where, lines) of each."""
    for path in sorted(glob.glob(os.path.join(source, "include", "popliner", "*.h"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for found in re.finditer(r"(?:^ \*       .*;\n)+", text, re.M):
            yield os.path.basename(path), [line[2:].strip() for line in found[0].splitlines()]
    with open(os.path.join(source, "README.md"), encoding="utf-8") as file:
        text = file.read()
    for found in re.finditer(r"(?:^    popliner_\w+\(.*;\n)+", text, re.M):
        yield "README.md", [line.strip() for line in found[0].splitlines()]


def program(lines):
    text = "\n".join(lines)
    used = {name for name in BEFORE if re.search(rf"\b{name}\b", text)
            and not re.search(rf"\*{name};", text)}
    used |= {other for name in used for other in NEEDS.get(name, ())}
    before = [text_ for name, text_ in BEFORE.items() if name in used]
    order = sorted(before, key=lambda it: "= {model" in it or "(model)" in it)
    body = [re.sub(r"^(popliner_\w+\(.*\));$", r"CHECK(\1);", line) for line in lines]
    return PROGRAM.format(textwrap.indent("\n".join([*order, *body]), "    "))


def main():
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(sample), os.path.join(folder, "report"))
        for where, lines in examples():
            path = os.path.join(folder, f"example{count}")
            with open(path + ".c", "w", encoding="utf-8") as file:
                file.write(program(lines))
            subprocess.run([compiler, "-std=c17", "-Wall", "-Werror", "-I",
                            os.path.join(source, "include"), path + ".c", library, "-o", path,
                            "-Xlinker", "-rpath", "-Xlinker", os.path.dirname(library)],
                           check=True)
            done = subprocess.run([path], cwd=folder, capture_output=True, text=True,
                                  encoding="utf-8", check=False)
            if done.returncode != 0:
                sys.exit(f"{where}: {lines}: {done.stderr}")
            count += 1
        with open(os.path.join(source, "README.md"), encoding="utf-8") as file:
            found = re.search(r"(?:^    .*\n)*^    import popliner\n(?:^    .*\n)+",
                              file.read(), re.M)
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(found[0])], cwd=folder,
                              env={**os.environ, "PYTHONPATH": module, "POPLINER_LIBRARY": library},
                              capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode != 0 or "Proven: no split" not in done.stdout:
            sys.exit(f"README.md: {done}")
    if count < 4:
        sys.exit(f"only {count} examples of C were found")
    print(f"{count} examples of C, one of Python")


if __name__ == "__main__":
    main()
