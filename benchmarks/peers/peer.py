# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""What the programs have in common that tools/bench times beside weft's (see serve.hpp).

A program is started with a JSON object of settings, whose "variant" is

  torch_eager    as most programs are written
  torch_compile  forward and backward by torch.compile
  torch_flat     eager, with all parameters in one tensor and all gradients in another, and the
                 fused optimizer over them
  torch_bfloat16 torch_flat, with forward passes under torch.autocast to bfloat16
"""
import json
import resource
import sys
import time

import torch


def settings():
    """The JSON object that the program was started with; its threads are set."""
    values = json.loads(sys.argv[1])
    torch.set_num_threads(values["threads"])
    torch.manual_seed(1)
    return values


def serve(commands):
    """Answers each line of the input, a command and perhaps an argument, with a line of JSON."""
    for line in sys.stdin:
        name, _, argument = line.strip().partition(" ")
        print(json.dumps(commands[name](*([argument] if argument else []))), flush=True)


def memory():
    """The most memory of the process so far."""
    return {"peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


class Clock:
    """Milliseconds since it was asked before, or made."""

    def __init__(self):
        self.last = time.perf_counter()

    def lap(self):
        now = time.perf_counter()
        elapsed, self.last = now - self.last, now
        return 1000 * elapsed


class Trainer:
    """The optimizer of a variant over a model's parameters, and gradients that are clipped."""

    def __init__(self, model, variant, optimizer, clip_norm=None, **options):
        self.clip_norm = clip_norm
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.flat = None
        if variant in ("torch_flat", "torch_bfloat16"):
            self.flat = self.flatten()
            options["fused"] = True
        self.optimizer = optimizer([self.flat] if self.flat is not None else self.parameters,
                                   **options)

    def flatten(self):
        """One tensor of all parameters, of which each is a view; gradients likewise."""
        flat = torch.cat([p.detach().reshape(-1) for p in self.parameters]).requires_grad_()
        flat.grad = torch.zeros_like(flat)
        place = 0
        for p in self.parameters:
            p.data = flat.data[place:place + p.numel()].view(p.shape)
            p.grad = flat.grad[place:place + p.numel()].view(p.shape)
            place += p.numel()
        return flat

    def step(self):
        if self.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(
                self.parameters if self.flat is None else [self.flat], self.clip_norm)
        self.optimizer.step()
        self.clear()

    def clear(self):
        self.optimizer.zero_grad(set_to_none=self.flat is None)

    def gradient_norm(self):
        return torch.linalg.vector_norm(
            torch.stack([torch.linalg.vector_norm(p.grad, dtype=torch.float64)
                         for p in self.parameters])).item()


def compiled(function, variant):
    """The function as the variant runs it."""
    if variant == "torch_bfloat16":
        return torch.autocast("cpu", dtype=torch.bfloat16)(function)
    return torch.compile(function) if variant == "torch_compile" else function


@torch.no_grad()
def load_linear(module, weights, path):
    module.weight.copy_(weights[f"{path}.weight"])
    if module.bias is not None and f"{path}.bias" in weights:
        module.bias.copy_(weights[f"{path}.bias"])


@torch.no_grad()
def load_attention(module, weights, path):
    """Query, key and value lie behind each other in torch's module."""
    parts = ("query", "key", "value")
    module.in_proj_weight.copy_(torch.cat([weights[f"{path}.{part}.weight"] for part in parts]))
    if f"{path}.query.bias" in weights:
        module.in_proj_bias.copy_(torch.cat([weights[f"{path}.{part}.bias"] for part in parts]))
    load_linear(module.out_proj, weights, f"{path}.output")


def load_encoder_layer(layer, weights, path):
    """The parameters of a weft encoder layer into a torch.nn.TransformerEncoderLayer."""
    load_attention(layer.self_attn, weights, f"{path}.self_attention")
    load_linear(layer.norm1, weights, f"{path}.self_attention.norm")
    load_linear(layer.linear1, weights, f"{path}.feed_forward.inner")
    load_linear(layer.linear2, weights, f"{path}.feed_forward.outer")
    load_linear(layer.norm2, weights, f"{path}.feed_forward.norm")


def serve_step(model, loss, variant, make_trainer):
    """Serves whole training steps of a model that loads weft's parameters by `model.load(path)`.

    loss: gives the loss of a batch. make_trainer: makes the Trainer, once the parameters are there.
    """
    loss_of = compiled(loss, variant)
    trainer = None

    def load(path):
        nonlocal trainer
        model.load(path)
        trainer = make_trainer()
        return True

    def check():
        model.eval()
        value = loss().item()  # with gradients on: without them torch takes another path
        model.train()
        return [value]

    def repeat():
        clock = Clock()
        loss_of().backward()
        trainer.step()
        return {"step": clock.lap()}

    serve({"load": load, "check": check, "repeat": repeat, "memory": memory})
