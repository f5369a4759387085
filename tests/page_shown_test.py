#!/usr/bin/env python3
"""What a browser shows first of a page: whether the plan fits, in the words of the command, with a
sign and a colour that only a plan that fits may have. Chromium prints the page once its scripts are
done.

    page_shown_test.py POPLINER SAMPLE

SPDX-License-Identifier: GPL-3.0-or-later
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases

VERDICTS = ["does not fit", "may not fit", "likely fits", "fits"]  # the worst first, as README.md
SHOWN = {"fits": ("ok", "✓"), "does not fit": ("no", "✕")}  # others: a warning


def answer(popliner, sample, *options):
    done = subprocess.run([popliner, sample, "-q", "--evaluate", "1", "--format", "json", *options],
                          stdout=subprocess.PIPE, check=False)
    assert done.returncode in (0, 1), options
    return json.loads(done.stdout)["stages"]


def shown(browser, page, scratch):
    """Class, sign and sentence of the verdict."""
    for milliseconds in (1e4, 1e5, 1e6, 1e7, 1e8):  # of a clock that waits for no decompression
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={scratch}/user", f"--virtual-time-budget={milliseconds:.0f}",
             "--dump-dom", f"file://{page}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", timeout=300,
            check=True)
        found = re.search(r'class="card verdict v-(\w+)".*?class="head">(.*?)</h3>', done.stdout,
                          re.S)
        if found:
            break
    assert found, f"no verdict: {done.stdout[-2000:]}"
    sign, sentence = re.fullmatch(r"<span [^>]*>(.*?)</span>(.*)", found[2], re.S).groups()
    return found[1], html.unescape(sign), html.unescape(sentence)


def main():
    popliner, sample = sys.argv[1:]
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = os.environ.get("POPLINER_BROWSER") or next(
        filter(None, map(shutil.which, names)), None)
    if browser is None:
        print("Skipped: there is no Chromium")
        return
    needs = [stage["needs"] for stage in answer(popliner, sample)]
    edges = [max(own[key] for own in needs)
             for key in ("at_least_bytes", "expected_bytes", "at_most_bytes")]
    with tempfile.TemporaryDirectory() as scratch:
        page = os.path.join(scratch, "page.html")
        limits = dict(zip(VERDICTS, (edges[0] - 1, edges[1] - 1, edges[1], edges[2])))
        for verdict in cases.some(VERDICTS[:1] + VERDICTS[:0:-1], 2):
            limit = limits[verdict]
            told = answer(popliner, sample, "--mem-per-tile", str(limit),
                          "--output", f"page={page}")
            assert verdict == min((stage["needs"]["verdict"] for stage in told),
                                  key=VERDICTS.index), (verdict, told)
            colour, sign, sentence = shown(browser, page, scratch)
            assert (colour, sign) == SHOWN.get(verdict, ("doubt", "!")), (verdict, colour, sign)
            assert sentence == f"{verdict.capitalize()} on 2 IPUs.", (verdict, sentence)
            print(f"{verdict}: {sign} {sentence}")
        table = os.path.join(scratch, "costs.csv")
        with open(table, "w", encoding="utf-8") as file:
            file.write("# Not counted: the driver.\nname,memory\na,5\nb,5\n")
        subprocess.run([popliner, table, "-q", "--solve", "-n", "2", "--output", f"page={page}"],
                       stdout=subprocess.DEVNULL, check=True)
        assert shown(browser, page, scratch) == (
            "doubt", "!", "Fits on 2 devices, without what is not counted.")


main()
