"""python -m popliner is the command: output, log, input and exit status.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import json
import os
import signal
import stat
import subprocess
import sys
import unittest

import common
from common import COMMAND, SAMPLE


class Command(unittest.TestCase):
    def both(self, *arguments):
        own = common.python("-m", "popliner", *arguments)
        real = subprocess.run([COMMAND, *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf-8", check=False)
        self.assertEqual(own.returncode, real.returncode)
        self.assertEqual(own.stdout, real.stdout)
        self.assertEqual([line[8:] for line in own.stderr.splitlines()],
                         [line[8:] for line in real.stderr.splitlines()])
        return own

    def test_the_same_as_the_command(self):
        self.assertEqual(self.both(SAMPLE, "--solve", "--num-ipus", "2").returncode, 0)
        self.assertEqual(self.both(SAMPLE, "--solve", "--num-ipus", "2", "--mem-per-tile",
                                   "3000").returncode, 1)
        self.assertEqual(self.both("--no-such-option").returncode, 2)
        self.assertEqual(self.both("/nowhere", "--solve").returncode, 3)
        self.assertIn("popliner", self.both("--version").stdout)
        self.both(SAMPLE, "--solve", "--require",
                  "cut:a layer's name; with 'all' \\\\\"sorts\\\\\"", "")

    def test_standard_input(self):
        with open(os.path.join(common.COSTS, "regions.json"), encoding="utf-8") as file:
            text = file.read()
        done = subprocess.run([sys.executable, "-m", "popliner", "-", "--solve"],
                              input=text, env=common.PYTHON_ENVIRONMENT, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", check=True)
        self.assertEqual(done.stdout, common.run(os.path.join(common.COSTS,
                                                                         "regions.json"),
                                                 "--solve"))

    def test_a_reader_that_ended(self):
        ended, output = os.pipe()
        os.close(ended)
        done = subprocess.run([sys.executable, "-m", "popliner", "--version"], stdout=output,
                              env=common.PYTHON_ENVIRONMENT, stderr=subprocess.PIPE, check=False)
        os.close(output)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))

    def test_which_program(self):
        """The one that POPLINER_COMMAND names; it is run in the place of Python."""
        path = os.path.join(common.scratch(), "popliner")
        with open(path, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "$$ $0 $*"\n[ "$1" != kill ] || kill -TERM $$\nexit 77\n')
        os.chmod(path, stat.S_IRWXU)
        running = subprocess.Popen([sys.executable, "-m", "popliner", "a b", "c"],
                                   env={**common.PYTHON_ENVIRONMENT, "POPLINER_COMMAND": path},
                                   stdout=subprocess.PIPE, encoding="utf-8")
        printed = running.communicate()[0]
        self.assertEqual(running.returncode, 77)
        self.assertEqual(printed, f"{running.pid} {path} a b c\n")
        done = common.python("-m", "popliner", "kill", POPLINER_COMMAND=path)
        self.assertEqual(done.returncode, -signal.SIGTERM)

    def test_models(self):
        """The module reads a model that is the INPUT of the command, with the same arguments."""
        path = os.path.join(common.scratch(), "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 4,
                       "intermediate_size": 256, "num_attention_heads": 4, "vocab_size": 100}, file)
        words = ("--devices", "600K,400K", "--tokens", "1K", "-o", "vllm")
        for model in (path, os.path.dirname(path)):
            done = common.python("-m", "popliner", model, *words)
            own = common.python("-m", "popliner.costs", model, *words)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (own.returncode, own.stdout, own.stderr))
            self.assertRegex(done.stdout, "^VLLM_PP_LAYER_PARTITION=[0-9],[0-9]\n$")
        first = common.python("-m", "popliner", *words, path)
        self.assertEqual((first.returncode, first.stdout), (done.returncode, done.stdout))
        refused = common.python("-m", "popliner", path, *words[:-1], "torch")
        self.assertIn("like model.layers.{}, to the command: popliner MODEL >costs.csv",
                      refused.stderr)
        for python, message in (("/nowhere/python3", "No such file"), ("/bin/false", "")):
            done = subprocess.run([COMMAND, path], capture_output=True, encoding="utf-8",
                                  env={**os.environ, "POPLINER_PYTHON": python}, check=False)
            self.assertIn(message, done.stderr)
        done = subprocess.run([COMMAND, path], capture_output=True, encoding="utf-8", env={
            **os.environ, "POPLINER_PYTHON": sys.executable, "PYTHONPATH": "/nowhere"}, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("popliner: the Python module popliner reads models and logs (",
                      done.stderr)
        self.assertIn("python3 -m pip install .), or set POPLINER_PYTHON", done.stderr)
        # the name of a model is enough, also of one that is missing
        missing = os.path.join(common.scratch(), "missing.gguf")
        for words, status, text in ((("--help",), 0, "--sequence N"),
                                    (("--tokens", "8K"), 3, "missing.gguf: No such file")):
            done = common.python("-m", "popliner", missing, *words)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(text, done.stdout + done.stderr)

    def test_no_program(self):
        for path in ("/nowhere/popliner", common.ROOT):
            done = common.python("-m", "popliner", POPLINER_COMMAND=path)
            self.assertEqual(done.returncode, 3)
            self.assertIn(f"{path} cannot be run", done.stderr)


if __name__ == "__main__":
    common.main()
