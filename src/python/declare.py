"""Writes the declarations of the Python module from the public headers: structures, functions and
enumerations. The build runs it, so that the module matches the headers that it was built with.

    python3 declare.py INCLUDE_DIRECTORY OUTPUT_DIRECTORY

The members of a request become keywords of the functions that take one.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import ast
import os
import re
import sys
import textwrap

SCALARS = {
    "size_t": "c_size_t",
    "uint64_t": "c_uint64",
    "int64_t": "c_int64",
    "uint32_t": "c_uint32",
    "uint8_t": "c_uint8",
    "unsigned": "c_uint",
    "int": "c_int",
    "bool": "c_bool",
    "double": "c_double",
    "char": "c_char",
}
NUMBERS = {"UINT64_MAX": 2**64 - 1, "SIZE_MAX": 2**64 - 1}


class Headers:
    """What the headers declare, in an order in which nothing is used before it is declared."""

    def __init__(self, directory):
        self.directory = directory
        self.seen = set()
        self.constants = {}
        self.enums = {}  # name: (comment, [(enumerator, value, comment)], is a set of bits)
        self.structs = {}  # name: [(member, type)]
        self.functions = {}  # name: (result, [types])
        self.callbacks = {}  # name: (result, [types])
        self.order = []  # of structures and callbacks
        self.owned = set()  # names of structures that have a function to free them
        for name in sorted(os.listdir(directory)):
            if name.endswith(".h"):
                self.take(name)

    def take(self, name):
        if name in self.seen:
            return
        self.seen.add(name)
        with open(os.path.join(self.directory, name), encoding="utf-8") as file:
            text = file.read()
        for included in re.findall(r'#include "popliner/(\w+\.h)"', text):
            self.take(included)
        self.owned.update(re.findall(r"void (popliner_\w+)_free\(", text))
        self.take_constants(text)
        declarations = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
        bare = re.sub(r"/\*.*?\*/", " ", declarations, flags=re.S)
        self.take_enums(declarations)
        found = [(m.start(), self.take_struct, m) for m in re.finditer(
            r"typedef struct (\w+) \{(.*?)\} \1;", bare, flags=re.S)]
        found += [(m.start(), self.take_callback, m) for m in re.finditer(
            r"typedef ([\w\s]+?) ?\(\*(\w+)\)\s*\(([^)]*)\);", bare)]
        for _, take, match in sorted(found, key=lambda item: item[0]):
            take(match)
        rest = re.sub(r"(?:typedef|enum)[^;{]*(?:\{.*?\}[^;]*)?;", "", bare, flags=re.S)
        for m in re.finditer(r"([\w\s]+?[\s*]+)(popliner_\w+)\s*\(([^)]*)\);", rest):
            parameters = self.parameters(m.group(3))
            self.functions[m.group(2)] = (self.type_of(m.group(1), is_result=True), parameters)

    # ---- constants and enumerations ----

    def value_of(self, text):
        """A constant expression of integers, or None."""
        text = re.sub(r"\b(?:UINT64_C|INT64_C)\((\w+)\)", r"\1", text.strip())
        text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
        known = {**NUMBERS, **self.constants}
        text = re.sub(r"[A-Z]\w+", lambda m: str(known.get(m.group(), m.group())), text)
        if not re.fullmatch(r"[0-9a-fx\s()*/+<-]+", text):
            return None
        return eval(text.replace("/", "//"), {"__builtins__": {}})  # digits and operators alone

    def take_constants(self, text):
        for name, value in re.findall(r"^#define (POPLINER_\w+) ([^\\\n]+)$", text, flags=re.M):
            number = self.value_of(re.sub(r"/\*.*?\*/", "", value))
            if number is not None:
                self.constants[name] = number
        bare = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        for body in re.findall(r"^enum \{(.*?)\};", bare, flags=re.S | re.M):
            for item in filter(str.strip, body.split(",")):
                name, value = item.split("=")
                self.constants[name.strip()] = self.value_of(value)

    def take_enums(self, text):
        pattern = r"(?:/\*((?:(?!\*/).)*?)\*/\n)?typedef enum (\w+) \{(.*?)\} \2;"
        for comment, name, body in re.findall(pattern, text, flags=re.S):
            items = []
            pending = []
            value = -1
            tokens = re.findall(r"/\*.*?\*/|(?:\w+\s*(?:=\s*-?\w+)?)\s*,?|\n", body, flags=re.S)
            is_flag = False
            after = False  # whether a comment on this line belongs to the enumerator before it
            for token in tokens:
                if token == "\n":
                    after = False
                elif token.startswith("/*"):
                    if after:
                        items[-1] = (*items[-1][:2], join([items[-1][2], words(token)]))
                    else:
                        pending.append(words(token))
                else:
                    enumerator, _, number = token.rstrip(", \n").partition("=")
                    value = self.value_of(number) if number else value + 1
                    is_flag = is_flag or number.strip() == "4"
                    items.append((enumerator.strip(), value, join(pending)))
                    self.constants[enumerator.strip()] = value
                    pending = []
                    after = True
            self.enums[name] = (words(comment), items, is_flag)

    # ---- types ----

    def type_of(self, text, is_result=False, is_member=False):
        """The ctypes expression of a C type."""
        text = re.sub(r"\bconst\b", " ", text)
        stars = text.count("*")
        base = " ".join(text.replace("*", " ").split())
        if base == "char" and stars == 1:
            return "c_char_p"
        if base == "char" and stars == 0:
            return "c_char"
        if base == "void":
            return "None" if stars == 0 else "c_void_p"
        if base == "va_list":  # Python has none: what takes it is for C
            return "c_void_p"
        if base in SCALARS:
            result = SCALARS[base]
        elif base in self.enums:
            result = "c_int"
        elif (base in self.structs or base in self.callbacks) and base not in self.owned:
            result = base
        else:  # opaque or owned, and only ever by a pointer
            if stars == 0:
                raise SystemExit(f"declare.py: unknown type {text!r}")
            result = "c_void_p"
            stars -= 1
        if base == "char":
            # what comes back is to be freed; what goes in are texts
            result, stars = ("c_char_p" if is_member else "c_void_p"), stars - 1
        for _ in range(stars):
            result = f"POINTER({result})"
        return result

    def parameters(self, text):
        if text.strip() in ("void", ""):
            return []
        types = []
        for item in text.split(","):
            item = item.strip()
            m = re.fullmatch(r"(.*?)(\w+)((?:\[\w*\])?)", item, flags=re.S)
            is_texts = item.startswith("const char *const *")
            types.append("POINTER(c_char_p)" if is_texts
                         else self.type_of(m.group(1) + ("*" if m.group(3) else "")))
        return types

    def take_callback(self, m):
        result, name, parameters = m.groups()
        self.callbacks[name] = (self.type_of(result), self.parameters(parameters))
        self.order.append(name)

    def take_struct(self, m):
        name, body = m.groups()
        members = []
        for item in filter(str.strip, body.split(";")):
            item = " ".join(item.split())
            callback = re.fullmatch(r"([\w\s]+?) ?\(\*(\w+)\)\((.*)\)", item)
            if callback:
                own = f"{name}_{callback.group(2)}"
                self.callbacks[own] = (self.type_of(callback.group(1)),
                                       self.parameters(callback.group(3)))
                self.order.append(own)
                members.append((callback.group(2), own))
                continue
            m = re.fullmatch(r"(.*?)(\w+)((?:\[\w+\])*)", item)
            kind = self.type_of(m.group(1), is_member=True)
            for size in reversed(re.findall(r"\w+", m.group(3))):
                kind = f"({kind}) * {self.value_of(size)}"
            members.append((m.group(2), kind))
        self.structs[name] = members
        self.order.append(name)


def words(comment):
    """A comment in one line."""
    lines = re.sub(r"^/\*|\*/$", "", comment.strip()).split("\n")
    return " ".join(" ".join(re.sub(r"^\s*\*", "", line).split()) for line in lines).strip()


def join(texts):
    return " ".join(text for text in texts if text)


def wrapped(text, first, others):
    lines = textwrap.wrap(text, 100, initial_indent=first, subsequent_indent=others,
                          break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def class_name(name):
    return "".join(word.capitalize() for word in name.split("_")[1:])


HEAD = '"""{}\n\nMade from the public headers when the library was built: do not edit.\n"""\n\n'


def write_declarations(headers, path):
    lines = [HEAD.format("Structures and functions of libpopliner, for ctypes."),
             "from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p,"
             "\n                    c_double, c_int, c_int64, c_size_t, c_uint, c_uint8, c_uint32,"
             "\n                    c_uint64, c_void_p)\n\n"]
    for name in headers.order:
        if name in headers.callbacks:
            result, parameters = headers.callbacks[name]
            lines.append(f"{name} = CFUNCTYPE({', '.join([result, *parameters])})\n\n")
            continue
        lines.append(f"\nclass {name}(Structure):\n    _fields_ = [\n")
        lines += [f"        ({member!r}, {kind}),\n" for member, kind in headers.structs[name]]
        lines.append("    ]\n\n")
    lines.append("\nSTRUCTURES = {\n")
    lines += [f"    {name!r}: {name},\n" for name in headers.order if name in headers.structs]
    lines.append("}\n\nFUNCTIONS = {\n")
    for name, (result, parameters) in sorted(headers.functions.items()):
        lines.append(f"    {name!r}: ({result}, [{', '.join(parameters)}]),\n")
    lines.append("}\n\nCONSTANTS = {\n")
    lines += [f"    {name!r}: {value},\n" for name, value in sorted(headers.constants.items())]
    lines.append("}\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(lines))


def write_enums(headers, path):
    lines = [HEAD.format("Enumerations of libpopliner. Their texts are those of the C headers."),
             "from enum import IntEnum, IntFlag\n"]
    for name, (comment, items, is_flag) in sorted(headers.enums.items()):
        items = [item for item in items if not item[0].startswith("POPLINER_NUM_")]
        prefix = os.path.commonprefix([item[0] for item in items])
        prefix = prefix[:prefix.rindex("_") + 1]
        lines.append(f"\n\nclass {class_name(name)}({'IntFlag' if is_flag else 'IntEnum'}):\n")
        if comment:
            lines.append(wrapped(f'"""{comment}"""', "    ", "    ") + "\n")
        for enumerator, value, text in items:
            member = enumerator[len(prefix):]
            if name == "popliner_status":
                member = member.replace("ERROR_", "")
            if text:
                lines.append(wrapped(text, "    #: ", "    #: "))
            lines.append(f"    {member if member.isidentifier() else 'RULE_' + member} = {value}\n")
    lines.append("\n\n__all__ = [\n")
    lines += [f"    {class_name(name)!r},\n" for name in sorted(headers.enums)]
    lines.append("]\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(lines))


def write_members(request, path):
    """The fields of the class Request as a TypedDict, for type checkers."""
    with open(request, encoding="utf-8") as file:
        text = file.read()
    body = ast.parse(text).body
    imports = [ast.get_source_segment(text, it) for it in body
               if isinstance(it, ast.ImportFrom) and it.module not in (None, "__future__")]
    (members,) = [it for it in body if isinstance(it, ast.ClassDef) and it.name == "Request"]
    fields = [(it.target.id, ast.get_source_segment(text, it.annotation)) for it in members.body
              if isinstance(it, ast.AnnAssign)]
    used = {name for _, annotation in fields for name in re.findall(r"\w+", annotation)}
    own = {it.name if isinstance(it, ast.ClassDef) else it.targets[0].id for it in body
           if isinstance(it, (ast.Assign, ast.ClassDef))}
    with open(path, "w", encoding="utf-8") as out:
        out.write('"""The keywords of functions that take a request, written from request.py."""'
                  "\n\n"
                  "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n")
        for line in imports:
            out.write(line + "\n")
        out.write(f"from .request import {', '.join(sorted(own & used))}\n\n"
                  "if TYPE_CHECKING:\n    from typing_extensions import TypedDict, Unpack\nelse:\n"
                  "    from typing import TypedDict\n\n    class Unpack:\n"
                  '        """For older Pythons: any keyword."""\n\n'
                  "        def __class_getitem__(cls, item):\n            return Any\n\n\n"
                  "class Members(TypedDict, total=False):\n"
                  '    """The members of Request, by name."""\n\n')
        for name, annotation in fields:
            out.write(f"    {name}: {annotation}\n")


def main():
    include, output = sys.argv[1:]
    headers = Headers(os.path.join(include, "popliner"))
    write_declarations(headers, os.path.join(output, "_declared.py"))
    write_enums(headers, os.path.join(output, "enums.py"))
    write_members(os.path.join(os.path.dirname(os.path.abspath(__file__)), "popliner",
                               "request.py"), os.path.join(output, "_members.py"))


main()
