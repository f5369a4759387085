"""Structures, enumerations and functions of the module against what a C compiler makes of the
headers.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import ctypes
import os
import re
import subprocess
import unittest

import common
import popliner
from popliner import _declared, _library, enums

INCLUDE = os.path.join(common.ROOT, "include")


def headers():
    texts = []
    for name in sorted(os.listdir(os.path.join(INCLUDE, "popliner"))):
        with open(os.path.join(INCLUDE, "popliner", name), encoding="utf-8") as file:
            texts.append(re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S))
    return "\n".join(texts)


def in_main(body):
    return ("#include <stdio.h>\n#include <popliner/popliner.h>\n"
            "int main(void) {\n" + body + "    return 0;\n}\n")


def compiled(source, compiler=("cc", "-std=c17", "-x", "c")):
    """The lines that a program prints."""
    program = os.path.join(common.scratch(), "layout")
    subprocess.run([*compiler, "-I", INCLUDE, "-", "-o", program], input=source,
                   encoding="utf-8", check=True)
    return subprocess.run([program], stdout=subprocess.PIPE, encoding="utf-8",
                          check=True).stdout.splitlines()


class Layout(unittest.TestCase):
    def test_every_structure_is_there(self):
        found = set(re.findall(r"typedef struct (\w+) \{", headers()))
        self.assertGreater(len(found), 50)
        self.assertEqual(found, set(_declared.STRUCTURES))

    def test_the_library_tells_of_every_structure(self):
        found = []
        while True:
            name = _library.library.popliner_structure_at(len(found), None, None)
            if not name:
                break
            found.append(name.decode())
        self.assertEqual(found, sorted(_declared.STRUCTURES))

    def test_structures_that_have_a_macro_have_what_it_makes(self):
        macros = {name.lower() for name in re.findall(r"#define (POPLINER_\w+)_INIT", headers())}
        begun = {name for name, kind in _declared.STRUCTURES.items() if _library.INITIAL[kind]}
        self.assertEqual(macros, begun)

    def test_members_are_where_the_compiler_puts_them(self):
        lines = []
        expected = []
        for name, kind in sorted(_declared.STRUCTURES.items()):
            lines.append(f'    printf("{name} %zu\\n", sizeof({name}));\n')
            expected.append(f"{name} {ctypes.sizeof(kind)}")
            for member, _ in kind._fields_:
                lines.append(f'    printf("{name}.{member} %zu %zu\\n", offsetof({name}, {member}),'
                             f" sizeof((({name} *)0)->{member}));\n")
                field = getattr(kind, member)
                expected.append(f"{name}.{member} {field.offset} {field.size}")
        self.assertGreater(len(expected), 400)
        self.assertEqual(compiled(in_main("".join(lines))), expected)

    def test_members_are_all_there(self):
        """A member that was left out would leave a gap, unless another took its place."""
        for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", headers(), flags=re.S):
            members = []
            for item in filter(str.strip, body.split(";")):
                function = re.search(r"\(\*(\w+)\)", item)
                members.append(function.group(1) if function
                               else re.search(r"(\w+)(?:\[\w+\])*\s*$", item).group(1))
            self.assertEqual(members, [m for m, _ in _declared.STRUCTURES[name]._fields_], name)

    def test_members_are_of_the_kind_that_the_compiler_says(self):
        """Whole numbers without a sign, with one, of floating point, or pointers."""
        lines = []
        expected = []
        kinds = {ctypes.c_double: "double", ctypes.c_bool: "bool", ctypes.c_char_p: "text",
                 ctypes.c_int64: "int64"}
        for name, structure in sorted(_declared.STRUCTURES.items()):
            for member, kind in structure._fields_:
                lines.append(
                    f'    printf("{name}.{member} %s\\n", _Generic((({name} *)0)->{member}, '
                    'double: "double", bool: "bool", char *: "text", const char *: "text", '
                    'int64_t: "int64", default: "other"));\n')
                expected.append(f"{name}.{member} {kinds.get(kind, 'other')}")
        # an array of characters becomes a pointer to one
        expected[expected.index("popliner_error.message other")] = "popliner_error.message text"
        self.assertEqual(compiled(in_main("".join(lines))), expected)

    def test_functions_are_those_of_the_headers(self):
        bare = re.sub(r"^\s*#.*?(?<!\\)$", "", headers(), flags=re.S | re.M)
        names = set(re.findall(r"\b(popliner_\w+)\(", bare))
        self.assertGreater(len(names), 100)
        self.assertEqual(names, set(_declared.FUNCTIONS))

    def test_functions_have_parameters_as_the_compiler_sees_them(self):
        """By C++, whose templates can look at parameters."""
        source = """#include <popliner/popliner.h>
#include <cstdio>
#include <type_traits>
template <class T> void show() {
    if constexpr (std::is_void_v<T>) std::printf(" void");
    else if constexpr (std::is_pointer_v<T>) std::printf(" pointer");
    else if constexpr (std::is_same_v<T, bool>) std::printf(" bool");
    else if constexpr (std::is_floating_point_v<T>) std::printf(" float%zu", sizeof(T));
    else if constexpr (std::is_enum_v<T>) std::printf(" enum%zu", sizeof(T));
    else std::printf(" %s%zu", std::is_signed_v<T> ? "int" : "unsigned", sizeof(T));
}
template <class T> struct all;
template <class R, class... A> struct all<R(A...)> {
    static void show_of(const char *name) {
        std::printf("%s", name);
        show<R>();
        (show<A>(), ...);
        std::printf("\\n");
    }
};
int main() {
"""
        kinds = {None: "void", ctypes.c_bool: "bool", ctypes.c_double: "float8",
                 ctypes.c_int: "enum4", ctypes.c_uint: "unsigned4", ctypes.c_size_t: "unsigned8",
                 ctypes.c_uint64: "unsigned8", ctypes.c_char_p: "pointer",
                 ctypes.c_void_p: "pointer"}
        expected = []
        for name, (result, parameters) in sorted(_declared.FUNCTIONS.items()):
            source += f'    all<decltype({name})>::show_of("{name}");\n'
            expected.append(" ".join([name] + [kinds.get(kind, "pointer")
                                               for kind in (result, *parameters)]))
        found = compiled(source + "}\n", ["c++", "-std=c++17", "-x", "c++"])
        self.assertEqual(found, expected)

    def test_enumerators_have_their_values(self):
        found = {}
        for body in re.findall(r"\benum(?: \w+)? \{(.*?)\}", headers(), flags=re.S):
            for item in filter(str.strip, body.split(",")):
                found[item.split("=")[0].strip()] = None
        lines = compiled(in_main("".join(f'    printf("{name} %lld\\n", (long long){name});\n'
                                 for name in found)))
        values = dict((name, int(value)) for name, value in (line.split() for line in lines))
        self.assertGreater(len(values), 150)
        for name, value in values.items():
            self.assertEqual(_declared.CONSTANTS[name], value, name)
        own = sorted(int(it) for kind in vars(enums).values() if isinstance(kind, type)
                     and kind.__module__ == enums.__name__ for it in kind.__members__.values())
        left_out = {"POPLINER_MAX_LISTED_COPIES", "POPLINER_LEAST_SPEED", "POPLINER_MOST_SPEED",
                    "POPLINER_SPEED_ONE"}
        self.assertEqual(own, sorted(value for name, value in values.items()
                                     if not name.startswith("POPLINER_NUM_")
                                     and name not in left_out))

    def test_enumerators_are_in_the_class_of_their_type(self):
        self.assertEqual(enums.Schedule.TF_GROUPED, 3)
        self.assertEqual(enums.ProgramType.ANY, -1)
        self.assertEqual(enums.Effect.LAYOUT | enums.Effect.PASSING | enums.Effect.BUFFERS,
                         _declared.CONSTANTS["POPLINER_EFFECTS_ALL"])
        self.assertEqual(enums.Status.USAGE, 1)
        self.assertEqual([it.name for it in enums.PlanStatus], ["OPTIMAL", "FEASIBLE",
                                                                "INFEASIBLE"])

    def test_constants_have_their_values(self):
        wanted = ["POPLINER_TARGET_BYTES", "POPLINER_PEAK_FORBIDDEN", "POPLINER_ALL_TILES",
                  "POPLINER_MAX_CYCLES", "POPLINER_EFFECTS_ALL", "POPLINER_MAX_COPIES",
                  "POPLINER_LINK_BYTES_PER_SECOND"]
        lines = compiled(in_main("".join(f'    printf("%llu\\n", (unsigned long long){name});\n'
                                 for name in wanted)))
        self.assertEqual([int(line) for line in lines],
                         [_declared.CONSTANTS[name] for name in wanted])

    def test_regexes_are_those_of_the_header(self):
        lines = compiled(in_main('    puts(POPLINER_LAYER_NAME_REGEX);\n'
                                 '    puts(POPLINER_FIRST_LAYER_REGEX);\n'))
        self.assertEqual(lines, [popliner.LAYER_NAME_REGEX, popliner.FIRST_LAYER_REGEX])


class OtherLibraries(unittest.TestCase):
    """A library of other structures is refused when the module is imported."""

    def refused(self, source, expected):
        path = os.path.join(common.scratch(), "libother.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path],
                       input=source, encoding="utf-8", check=True)
        done = common.python("-c", "import popliner", POPLINER_LIBRARY=path)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ImportError", done.stderr)
        self.assertIn(expected, done.stderr)

    def other(self, version, structures):
        functions = "".join(f"void {name}(void) {{}}\n" for name in _declared.FUNCTIONS
                            if name not in ("popliner_version", "popliner_structure_at"))
        rows = "".join(f'    {{"{name}", {size}, 0}},\n' for name, size in structures)
        return (f'{functions}const char *popliner_version(void) {{ return "{version}"; }}\n'
                "typedef struct { const char *name; unsigned long size; void *p; } row;\n"
                f"static row rows[] = {{\n{rows}    {{0, 0, 0}} }};\n"
                "const char *popliner_structure_at(unsigned long i, unsigned long *size, void **p) "
                f"{{ if (i >= {len(structures)}) return 0; *size = rows[i].size; *p = rows[i].p; "
                "return rows[i].name; }\n")

    def sizes(self):
        return [(name, ctypes.sizeof(kind)) for name, kind in sorted(_declared.STRUCTURES.items())]

    def test_a_larger_structure(self):
        sizes = [(name, size + 8 * (name == "popliner_request")) for name, size in self.sizes()]
        self.refused(self.other(popliner.__version__, sizes), "has a structure popliner_request of")

    def test_a_structure_that_is_missing(self):
        self.refused(self.other(popliner.__version__, self.sizes()[1:]),
                     f"has no structure {self.sizes()[0][0]}")

    def test_a_structure_that_is_unknown(self):
        self.refused(self.other(popliner.__version__, self.sizes() + [("popliner_zzz", 8)]),
                     "has a structure popliner_zzz that this module does not know")

    def test_another_version(self):
        self.refused(self.other("99.0.0", self.sizes()), "is version 99.0.0")

    def test_a_library_without_the_functions(self):
        self.refused("int nothing;", "has no function popliner_")

    def test_no_library(self):
        done = common.python("-c", "import popliner", POPLINER_LIBRARY="/nowhere/libpopliner.so")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Set POPLINER_LIBRARY", done.stderr)


if __name__ == "__main__":
    common.main()
