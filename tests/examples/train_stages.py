"""Trains the stages of a PyTorch transformer one after another, and compares their memory with what
popliner.costs.torch predicted. The truth is what the C library has allocated, which knows nothing
of tensors, modules and hooks. It says so, and does nothing, without PyTorch or glibc's mallinfo2.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import ctypes
import gc

import popliner

try:
    import torch
    from popliner.costs.torch import of_modules
except ImportError:
    torch = None

BATCH, TOKENS, WIDTH, HEADS, VOCABULARY = 2, 128, 192, 4, 1000
OPTIMIZERS = {"adam": lambda of: torch.optim.Adam(of),
              "momentum": lambda of: torch.optim.SGD(of, lr=1e-3, momentum=0.9),
              "sgd": lambda of: torch.optim.SGD(of, lr=1e-3)}


class Allocated(ctypes.Structure):
    """What mallinfo2 returns; in use: in arenas, and in mappings of their own."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]


def allocated_bytes():
    gc.collect()
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Allocated
    info = mallinfo2()
    return info.uordblks + info.hblkhd


def layers_of(num_layers):
    """Names and makers of the modules: embedding, layers, head with the loss."""
    class Head(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(WIDTH)
            self.linear = torch.nn.Linear(WIDTH, VOCABULARY)

        def forward(self, x):
            logits = self.linear(self.norm(x)).flatten(0, 1)
            return torch.nn.functional.cross_entropy(logits, torch.arange(len(logits)) % VOCABULARY)

    def layer(i):
        return torch.nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, batch_first=True, norm_first=True,
            activation=["relu", "gelu"][i % 2])

    return [("embedding", lambda: torch.nn.Embedding(VOCABULARY, WIDTH)),
            *((f"layers.{i}", lambda i=i: layer(i)) for i in range(num_layers)), ("head", Head)]


def send(y):
    """The output as a pipeline keeps it once it is sent: without its bytes, as a scalar from which
    the backward pass begins. (Megatron-Core: deallocate_pipeline_outputs.)"""
    class Send(torch.autograd.Function):
        @staticmethod
        def forward(context, y):
            context.shape = y.shape
            return y.new_zeros(())

        @staticmethod
        def backward(context, gradient):
            return torch.full(context.shape, 1e-3)

    return Send.apply(y)


def train(makers, first, optimizer, in_flight, steps=2):
    """Trains a stage for some steps. Returns the bytes that are allocated when `in_flight`
    micro-batches wait for their backward passes, without those from before."""
    def received():
        if first:
            return torch.randint(VOCABULARY, (BATCH, TOKENS))
        return torch.randn(BATCH, TOKENS, WIDTH, requires_grad=True)

    before = allocated_bytes()
    modules = torch.nn.Sequential(*(make() for make in makers))
    steps_of = OPTIMIZERS[optimizer](modules.parameters())
    for step in range(steps):
        steps_of.zero_grad(set_to_none=False)  # gradients stay allocated, as in a pipeline
        waiting = [send(modules(received())) for _ in range(in_flight)]
        allocated = allocated_bytes() - before
        while waiting:
            waiting.pop(0).backward()
        steps_of.step()
    return allocated


def compare(num_layers, num_stages, optimizer, seed=1):
    """A list of (predicted, measured) bytes of each stage."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    makers = layers_of(num_layers)
    tokens = torch.randint(VOCABULARY, (BATCH, TOKENS))
    table = of_modules([(name, make()) for name, make in makers], tokens, optimizer=optimizer,
                       repeats=1)
    answer = table.costs(copies="1f1b+1").solve(num_ipus=num_stages, objectives="balance,memory")
    result = []
    for i, stage in enumerate(answer.stages):
        own = [make for _, make in makers[stage.first_unit:stage.last_unit + 1]]
        train(own, i == 0, optimizer, 1, 1)  # what PyTorch allocates once, for all
        measured = train(own, i == 0, optimizer, len(answer.stages) - i)
        result.append((stage.peak_bytes, measured))
    return result


def main():
    if torch is None or not hasattr(ctypes.CDLL(None), "mallinfo2"):
        print("Skipped: there is no PyTorch, or no mallinfo2")
        return
    print("optimizer\tstage\tpredicted\tmeasured\terror")
    for optimizer in OPTIMIZERS:
        for i, (predicted, measured) in enumerate(compare(2, 2, optimizer)):
            print(f"{optimizer}\t{i}\t{predicted}\t{measured}\t{predicted / measured - 1:+.2%}")


if __name__ == "__main__":
    main()
