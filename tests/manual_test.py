"""The manual page and the completion of bash and zsh, by those who read them, against what --help
prints, and the tables of docs/options.md. Arguments: the command, both files, debian/changelog,
docs. A reader that is not installed is named, and left out.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import email.utils
import os
import re
import shutil
import subprocess
import sys
import tempfile


def run(*words, **more):
    return subprocess.run(words, capture_output=True, encoding="utf-8", **more)


def options_of(popliner):
    """[(name, letter, value, text)] of the help, by its layout alone."""
    options = []
    for line in run(popliner, "--help", "all").stdout.split("\n"):
        found = re.match(r"  (?:-(\w), )?--([a-z0-9-]+)(?: (\S+))?$", line)
        if found:
            letter, name, value = found.groups()
            options.append([name, letter, value, ""])
        elif re.match(" {6}\\S", line) and options:
            options[-1][3] += " " + line.strip()
    assert len(options) >= 50, options
    return options


def choices_of(value):
    """The words that are all of a value, by its name in the help."""
    return value.split("|") if value and re.match(r"[a-z-]+(\|[a-z-]+)+$", value) else None


def own_choices(popliner):
    """{option: what it takes}, from what the command says of a wrong value."""
    def told(pattern, *words):
        return re.search(pattern, run(popliner, "missing", "--solve", *words).stderr).group(1)

    def listed(*words):
        # the log folds lines
        return re.split(r",\s+", told(r"expected some of ([a-z,\s]+),\s+each once", *words))
    rules = told(r"expected ([a-z0-9, -]+) \(", "--schedule", "none:no").replace(" or ", ", ")
    return {"objective": listed("--objective", "no"),
            "pareto": listed("--pareto", "no,no"),
            "effects": told(r"some of ([a-z, ]+)", "--effects", "no").split(", ") + ["all", "none"],
            "format": ["text", "tsv", "csv", "json", "plot"],
            "solver": ["auto", "ilp", "dp", "popliner"],
            "recompute": ["none", "standard", "full", "auto"],
            "device-map": ["interleaved:", "v", "any", "replicas"],
            "require": ["cut:", "no-cut:", "together:", "place:", "layers:"],
            "fail-on": ["growth="] + [f"growth.{what}=" for what in (
                "tiles", "categories", "layers", "stages", "cycles")] + [
                "unexplained=", "contradiction"],
            "reserve": ["gaps"], "bandwidth": ["replicas="], "report": ["all"],
            "layers": ["all", "only:"], "evaluate": ["whole"],
            "schedule": ["none", "inference", "sequential", "popart", "tf-grouped",
                         "tf-interleaved",
                         *rules.split(", ")]}


def words_of(text):
    return " ".join(text.split())


def check_heading(popliner, path, changelog):
    """Version and date are those of the packages, not of the build."""
    with open(changelog, encoding="utf-8") as file:
        text = file.read()
    version = re.match(r"popliner \(([0-9.]+)-[0-9]+\)", text).group(1)
    assert run(popliner, "--version").stdout == f"popliner {version}\n"
    when = email.utils.parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", text, re.M).group(1))
    with open(path, encoding="utf-8") as file:
        heading = file.readline()
    assert f'"{when:%Y-%m-%d}" "popliner {version}"' in heading, heading


def check_manual(options, path):
    rendered = None
    if shutil.which("mandoc"):
        lint = run("mandoc", "-T", "lint", "-W", "warning", path).stdout
        assert not lint, lint
        rendered = run("mandoc", "-T", "utf8", "-O", "width=1000", path).stdout
    if shutil.which("man"):
        told = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path).stderr
        assert not told, told
    if rendered is None:
        return print("Left out: mandoc is not there")
    page = words_of(re.sub(r".\x08", "", rendered))
    for name, letter, value, text in options:
        begin = ("-%s, " % letter if letter else "") + "--" + name + (" " + value if value else "")
        assert words_of(begin + " " + text) in page, (begin, text)
    for part in ("NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS", "1 no split fits"):
        assert part in page, part
    print("manual page: %d options" % len(options))


BASH = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
compopt() { :; }
_popliner
printf '%s\n' "${COMPREPLY[@]}"
"""


def check_bash(popliner, options, path, own):
    folder = os.path.dirname(path)

    def complete(*words):
        told = run("bash", "-c", BASH, "bash", path, popliner, *words, cwd=folder)
        assert not told.stderr, told.stderr
        return told.stdout.split()
    everything = ["--" + o[0] for o in options] + ["-" + o[1] for o in options if o[1]]
    assert sorted(complete("-")) == sorted(everything)
    assert complete("--solv") == ["--solve", "--solver"]
    assert sorted(complete("")) == sorted(os.listdir(folder)), complete("")
    for name, _, value, _ in options:
        choices = choices_of(value)
        if choices:
            assert complete("--" + name, "") == choices, name
            assert complete("--" + name, "=") == choices, name
            assert complete("--" + name, "=", choices[0]) == [
                c for c in choices if c.startswith(choices[0])], name
    for name, choices in own.items():
        assert complete("--" + name, "") == choices, name
    assert complete("-o", "plan") == complete("--output", "plan") == ["plan"]
    assert {"solving", "exit-status", "num-ipus", "all"} < set(complete("--help", ""))
    assert "--solve" in complete("--help", "--s")  # a topic may be left out
    assert complete("--fail-on", "growth=2%,unex") == ["growth=2%,unexplained="]
    for name in ("objective", "pareto"):
        assert complete("--" + name, "memory,c") == ["memory,cycles"], name
    assert complete("--effects", "layout,p") == ["layout,passing"]
    assert complete("--save-to-file", "manual") == ["manual.sh"]
    assert complete("--solve", "manual") == complete("manual") == ["manual.sh"]
    assert complete("--num-ipus", "") == []
    assert "tiles" in complete("--output", "t"), complete("--output", "t")
    assert complete("--output", "opt") == ["optimum"]  # a file may follow
    print("bash: %d words" % len(everything))


ZSH = r"""
autoload -U compinit bashcompinit; compinit -u -d "$2"; bashcompinit
source "$1"
print -r -- "$_comps[popliner]"
"""


def check_zsh(path, folder):
    if not shutil.which("zsh"):
        return print("Left out: zsh is not there")
    told = run("zsh", "-f", "-c", ZSH, "zsh", path, os.path.join(folder, "zcompdump"))
    assert told.stdout == "_bash_complete -F _popliner\n" and not told.stderr, told


def check_documents(options, docs):
    """The tables of options.md have each option once, with what the help says of it."""
    with open(os.path.join(docs, "options.md"), encoding="utf-8") as file:
        tables = file.read().partition("<!-- options: begin")[2].partition("<!-- options: end")[0]
    rows = []
    for cells in re.findall(r"^\| (.*?)\| (.*) \|$", tables.replace("\\|", "\0"), re.M):
        name, text = (cell.replace("\0", "|").replace("\\", "") if "`(" not in cell else
                      cell.replace("\0", "|").replace("`", "") for cell in cells)
        if name.startswith("`"):
            rows.append([name.replace("`", "").strip(), text])
        elif not name:
            rows[-1][1] += f" ({text})"
    for (name, letter, value, text), row in zip(options, rows, strict=True):
        begin = ("-%s, " % letter if letter else "") + "--" + name + (" " + value if value else "")
        assert row == [begin, words_of(text)], (row, begin, text)


def main(popliner, manual, completion, changelog, docs):
    options = options_of(popliner)
    own = own_choices(popliner)
    check_heading(popliner, manual, changelog)
    check_manual(options, manual)
    check_documents(options, docs)
    check_bash(popliner, options, completion, own)
    with tempfile.TemporaryDirectory() as place:
        check_zsh(completion, place)


if __name__ == "__main__":
    main(*sys.argv[1:])
