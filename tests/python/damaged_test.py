"""Damaged model files, of every kind that has an importer. Each has to be refused with one sentence
that names the file, or read as what it still says: its totals are those of second readers, which
were written from the formats' definitions. Damage in bytes that no importer reads changes nothing.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import csv
import itertools
import json
import os
import random
import struct
import unittest

import common
import popliner
from popliner.costs import read_source
import sources_test as made

SEQUENCE = 2048  # tokens, by default
TEST_ALL = common.takes_all()


def damage(content, chance, span):
    """Changes content[span]: bits, a cut, bytes that are lost, new, doubled, zero or exchanged."""
    first, end = span
    at = chance.randrange(first, end)
    to = min(end, at + chance.choice([1, 1, 2, 4, 8, 30]))
    way = chance.randrange(8)
    if way == 0:
        return content[:at]
    if way == 1:
        return content[:at] + content[to:]
    if way == 2:
        return content[:at] + chance.randbytes(chance.randrange(1, 9)) + content[at:]
    if way == 3:
        return content[:to] + content[at:to] + content[to:]
    if way == 4:
        return content[:at] + bytes(to - at) + content[to:]
    if way == 5:  # another digit, sign or quote
        return content[:at] + chance.choice([b"0", b"9", b"-", b'"', b"1e9"]) + content[at + 1:]
    changed = bytearray(content)
    for _ in range(chance.randrange(1, 4)):
        changed[chance.randrange(first, end)] ^= 1 << chance.randrange(8)
    return bytes(changed)


# ---- second readers: the bytes of weights that a file says ----

BITS = {"BF16": 16, "F32": 32, "F8_E4M3": 8, "F16": 16, "F8_E5M2": 8, "I8": 8, "U8": 8, "F64": 64,
        "I16": 16, "I32": 32, "I64": 64, "U16": 16, "U32": 32, "U64": 64, "BOOL": 8}


def safetensors_of(content):
    """README.md of safetensors: the length of the header, and the header."""
    length, = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    sizes = {}
    for name, tensor in header.items():
        bits = BITS[tensor["dtype"]]
        for size in tensor["shape"]:
            bits *= size
        sizes[name] = bits // 8
    return sizes


def gguf_of(content):
    """docs/gguf.md of ggml: pairs, and the type and dimensions of each tensor."""
    at = 4 + 4 + 16
    num_tensors, num_pairs = struct.unpack_from("<QQ", content, 8)

    def take(kind):
        nonlocal at
        value, = struct.unpack_from("<" + kind, content, at)
        at += struct.calcsize("<" + kind)
        return value

    def take_text():
        nonlocal at
        length = take("Q")
        at += length

    def take_value(kind):
        if kind == 8:
            take_text()
        elif kind == 9:
            inner, count = take("I"), take("Q")
            for _ in range(count):
                take_value(inner)
        else:
            take("BbHhIif?__Qqd"[kind])

    for _ in range(num_pairs):
        take_text()
        take_value(take("I"))
    total = 0
    for _ in range(num_tensors):
        take_text()
        elements = 1
        for _ in range(take("I")):
            elements *= take("Q")
        block, size = made.GGUF_BLOCKS[take("I")]
        take("Q")
        total += elements // block * size
    return total


def messages(data):
    """The fields of a message of protobuf: numbers, and numbers or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = 0
        for shift in range(0, 70, 7):
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value & 2 ** 64 - 1
        raise ValueError("no number")

    while at < len(data):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
            continue
        length = {1: lambda: 8, 2: varint, 5: lambda: 4}[kind]()
        at += length
        yield number, data[at - length:at]


def onnx_of(content):
    """onnx.proto: the bytes of the initialisers that each node uses, by their types and shapes."""
    sizes, nodes = {}, []
    graph, = [value for number, value in messages(content) if number == 7]
    for number, value in messages(graph):
        if number == 1:
            nodes.append({name for field, name in messages(value) if field == 1})
        elif number == 5:
            fields = list(messages(value))
            kind = next(it for field, it in reversed(fields) if field == 2 and isinstance(it, int))
            bits = {1: 32, 10: 16, 22: 4}.get(kind) or made.ONNX_BITS[kind]
            for field, it in fields:
                if field == 1:
                    for dim in [it] if isinstance(it, int) else packed(it):
                        bits *= dim
            names = [it for field, it in fields if field == 8]
            sizes[names[-1] if names else b""] = (bits + 7) // 8
    own = [sum(size for name, size in sizes.items() if name in node) for node in nodes]
    used = set().union(*nodes)
    own[0] += sum(size for name, size in sizes.items() if name not in used)
    return own


def packed(data):
    """Repeated numbers in one field: the values of fields that have them alone."""
    numbers = []
    while data:
        length = next(i for i, byte in enumerate(data) if byte < 128) + 1
        (_, number), = messages(b"\x08" + data[:length])
        numbers.append(number)
        data = data[length:]
    return numbers


def statistics_of(content):
    """Weights, and all memory, where rows in a row with one name are a unit."""
    rows = [(row[0], *map(int, row[1:])) for row in
            csv.reader(content.decode().splitlines()[1:])]
    memory = sum(row[2] + row[3] for row in rows)
    memory += sum(max(row[4] for row in own)
                  for _, own in itertools.groupby(rows, lambda row: row[0]))
    return sum(row[2] for row in rows), memory


def config_of(content):
    """Llama, Mistral and Mixtral: attention with fewer heads of keys, a gated MLP or experts, two
    norms; the embedding, a norm and the head; and numbers of the cache of a token."""
    keys = json.loads(content)
    keys = {key: value for key, value in keys.items() if value is not None}
    h, a, n = (keys[key] for key in ("hidden_size", "num_attention_heads", "num_hidden_layers"))
    k, d = keys.get("num_key_value_heads", a), keys.get("head_dim", h // a)
    f = keys.get("intermediate_size", 4 * h)
    experts = keys.get("num_local_experts", 0)
    mlp = 3 * h * f * max(experts, 1) + h * experts
    ends = keys["vocab_size"] * h * (1 if keys.get("tie_word_embeddings") else 2) + h
    dtype = {"bfloat16": 2, "float16": 2, "float32": 4}[keys.get("torch_dtype", "bfloat16")]
    return (n * (h * d * (2 * a + 2 * k) + mlp + 2 * h) + ends) * dtype, 2 * k * d * 2 * n


def times_of(content):
    """The ms of all nodes that began while the model ran."""
    events = json.loads(content)
    runs = [(it["ts"], it["ts"] + it["dur"]) for it in events if it.get("name") == "model_run"]
    return sum(it["dur"] for it in events if it.get("cat") == "Node"
               and str(it.get("name")).endswith("_kernel_time")
               and any(first <= it["ts"] <= last for first, last in runs)) / 1000


class Damaged(unittest.TestCase):
    def check(self, name, content, span, held, others=(), whole=None, **options):
        """Many damaged copies of a file; `held` compares a table with what the copy says. Files
        that come with it are written once."""
        folder = os.path.join("damaged", name)
        for other, its in dict(others).items():
            made.write(os.path.join(folder, other), its)
        chance = random.Random(name)
        read = 0
        for i in range(2000 if TEST_ALL else 50):
            copy = damage(content, chance, span)
            path = made.write(os.path.join(folder, name), copy)
            with self.subTest(name, number=i):
                try:
                    table = read_source(path, **options)
                    table.costs()
                except (popliner.InputError, popliner.UsageError) as error:
                    self.refused(str(error))
                    continue
                read += 1
                held(table, copy)
        whole = whole or made.write(os.path.join(folder, name), content)
        held(read_source(whole, **options), content)
        self.assertLess(read, i + 1)
        print(f"{name}: {i + 1} damaged files, {read} read as what they say, the others refused")

    def refused(self, message):
        """One sentence on one line."""
        self.assertRegex(message, r"^[^\n]+[^\n.]$")
        self.assertNotRegex(message, r"Traceback|object has no attribute|\bself\b")

    def total(self, table, size):
        """Weights and caches, each once."""
        self.assertEqual(sum(it.memory for it in table.units) + sum(it for _, it in table.shared),
                         size + SEQUENCE * sum(it.kv for it in table.units))

    def unread(self, name, content, first, others=()):
        """Damage from byte `first` on, where no importer reads, that keeps the length."""
        folder = os.path.join("unread", name)
        for other, its in dict(others).items():
            made.write(os.path.join(folder, other), its)
        wanted = read_source(made.write(os.path.join(folder, name), content)).csv()
        chance = random.Random(name)
        for _ in range(200 if TEST_ALL else 20):
            at = chance.randrange(first, len(content))
            copy = content[:at] + bytes([chance.randrange(256)]) + content[at + 1:]
            path = made.write(os.path.join(folder, name), copy)
            self.assertEqual(read_source(path).csv(), wanted)

    def test_safetensors(self):
        content = made.safetensors(made.transformer(2))
        data = len(content) - sum(size for *_, size in made.transformer(2))
        self.check("model.safetensors", content, (0, len(content)),
                   lambda table, copy: self.total(table, sum(safetensors_of(copy).values())))
        self.unread("model.safetensors", content, data)

    def test_index_of_safetensors(self):
        tensors = made.transformer(3)
        sizes = {name: size for name, *_, size in tensors}
        shards = {"a": made.safetensors(tensors[:5]), "b": made.safetensors(tensors[5:])}
        index = json.dumps({"metadata": {"total_size": sum(sizes.values())}, "weight_map": {
            name: "a" if i < 5 else "b" for i, (name, *_) in enumerate(tensors)}}).encode()
        self.check("model.safetensors.index.json", index, (0, len(index)),
                   lambda table, copy: self.total(
                       table, sum(sizes[name] for name in json.loads(copy)["weight_map"])), shards)

    def test_checkpoint_with_configuration(self):
        config = json.dumps({"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2,
                             "num_key_value_heads": 1, "num_hidden_layers": 2,
                             "intermediate_size": 12, "vocab_size": 10}).encode()
        content = made.safetensors(made.transformer(2))
        path = made.write("damaged/config.json/model.safetensors", content)
        size = sum(size for *_, size in made.transformer(2))

        def held(table, copy):
            # which is read from its folder: whatever it says, the weights are those of the file
            self.assertEqual(sum(made.weights(table).values()), size)
        folder = os.path.dirname(path)
        chance = random.Random(3)
        for _ in range(1000 if TEST_ALL else 50):
            copy = damage(config, chance, (0, len(config)))
            made.write("damaged/config.json/config.json", copy)
            try:
                held(read_source(folder), copy)
            except (popliner.InputError, popliner.UsageError) as error:
                self.refused(str(error))

    def test_gguf(self):
        content = made.gguf(made.GGUF_PAIRS, made.GGUF_TENSORS)
        data = len(content) - sum(-(-size // 32) * 32 for *_, size in made.GGUF_TENSORS)
        self.check("model.gguf", content, (0, data),
                   lambda table, copy: self.total(table, gguf_of(copy)), embedding="device")
        self.unread("model.gguf", content, data)

    def test_shards_of_gguf(self):
        pairs = dict(made.GGUF_PAIRS, **{"split.count": 2})
        first = made.gguf(pairs, made.GGUF_TENSORS[:3])
        second = made.gguf({"split.count": 2}, made.GGUF_TENSORS[3:])
        self.check("s-00002-of-00002.gguf", second, (0, 400),
                   lambda table, copy: self.total(table, gguf_of(first) + gguf_of(copy)),
                   {"s-00001-of-00002.gguf": first}, embedding="device")

    def test_onnx(self):
        content = made.onnx()
        self.check("model.onnx", content, (0, len(content)),
                   lambda table, copy: self.assertEqual(
                       [unit.weight_bytes for unit in table.units], onnx_of(copy)),
                   group="(nothing)", dims={"batch": 2})
        # the data of w0 are the only run of 128 zeros that a 'J' of field 9 begins
        start = content.index(b"J\x80\x01") + 3
        wanted = read_source(made.write("unread/m.onnx", content)).csv()
        for at in range(start, start + 128):
            copy = content[:at] + b"\xff" + content[at + 1:]
            self.assertEqual(read_source(made.write("unread/m.onnx", copy)).csv(), wanted)

    def test_statistics(self):
        def held(table, copy):
            self.assertEqual((sum(unit.weight_bytes for unit in table.units),
                              sum(unit.memory for unit in table.units)), statistics_of(copy))
        self.check("statistics.csv", made.STATISTICS, (0, len(made.STATISTICS)), held,
                   group="(?s)(.+)")

    def test_profile_of_runs(self):
        def held(table, copy):
            times = [sum(run) for unit in table.units for run in unit.samples or
                     [(unit.forward, unit.backward)]]
            self.assertAlmostEqual(sum(times), times_of(copy), places=3)
        content = json.dumps(made.profile([10, 40, 30, 10, 5], [10, 20, 30, 60, 1])).encode()
        path = made.write("damaged/times/statistics.csv", made.STATISTICS)
        chance = random.Random(5)
        read = 0
        for i in range(2000 if TEST_ALL else 50):
            copy = damage(content, chance, (0, len(content))) if i else content
            runs = made.write("damaged/times/runs.json", copy)
            with self.subTest(number=i):
                try:
                    table = read_source(path, profile=runs)
                    table.costs()
                except popliner.InputError as error:
                    self.refused(str(error))
                    continue
                held(table, copy)
                read += 1
        print(f"profile of runs: {i + 1} files, {read} read as what they say, the others refused")
        self.assertTrue(0 < read < i + 1)

    def test_configurations(self):
        def held(table, copy):
            size, kv = config_of(copy)
            self.assertEqual((sum(unit.weight_bytes for unit in table.units),
                              sum(unit.kv for unit in table.units)), (size, kv))
        for name, config in (("llama.json", made.LLAMA), ("mixtral.json", made.MIXTRAL)):
            content = json.dumps(dict(config, num_hidden_layers=4)).encode()
            self.check(name, content, (0, len(content)), held)
        for name, config in (("deepseek.json", made.DEEPSEEK), ("gpt2.json", made.GPT2),
                             ("qwen3_moe.json", made.QWEN3_MOE), ("gemma2.json", made.GEMMA2)):
            content = json.dumps(config).encode()
            self.check(name, content, (0, len(content)), lambda table, copy: None)


if __name__ == "__main__":
    common.main()
