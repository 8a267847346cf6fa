# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what Hugging Face's Llama computes: for small layers under weft's names, and a small model.
And what layers of its Qwen2 compute.

    python3 llama.py        writes tests/nn/data/{llama,qwen2}.safetensors and tests/tools/data/llama*

Made with torch 2.15.0, transformers 5.24.0, numpy 2.4.6 and safetensors 0.8.0. The layers are those of
transformers' LlamaModel and Qwen2Model: RMS normalisation, rotary positions, groups of queries that share keys, gated
feed-forward networks. See parity.py, whose batches and random parameters these are.
"""
import shutil
import subprocess
import sys
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM, LlamaModel, Qwen2Config, Qwen2Model

from parity import (C, D_FF, HEADS, TESTS, VOCABULARY, gradients, normal, packed, padded, padding_mask,
                    plain, randomised, values, write)

WEFT_NAMES = {
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.o_proj",
    "self_attention.norm": "input_layernorm",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.up": "mlp.up_proj",
    "feed_forward.down": "mlp.down_proj",
    "feed_forward.norm": "post_attention_layernorm",
}


def entries_of(model):
    for i, layer in enumerate(model.layers):
        for name, theirs in WEFT_NAMES.items():
            yield from plain(f"layers.{i}.{name}", layer.get_submodule(theirs))
    yield from plain("norm", model.norm)


# Llama 3.1's way to longer texts; with this length each kind of pair is there.
SLOWED = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 512}


def config(key_heads, rope, kind=LlamaConfig, epsilon=1e-5):
    return kind(
        vocab_size=VOCABULARY, hidden_size=C, intermediate_size=D_FF, num_hidden_layers=2,
        num_attention_heads=HEADS, num_key_value_heads=key_heads, rms_norm_eps=epsilon,
        max_position_embeddings=64, rope_parameters=dict(rope), attn_implementation="eager")


def plain_rope(theta):
    return {"rope_type": "default", "rope_theta": theta}


def llama(key_heads, rope):
    return lambda: LlamaModel(config(key_heads, rope))


def qwen2():
    """Its epsilon is larger than any model's, so that it is seen."""
    return Qwen2Model(config(HEADS // 2, plain_rope(10000.0), Qwen2Config, epsilon=1e-2))


LLAMAS = {"grouped": llama(HEADS // 2, plain_rope(10000.0)), "plain": llama(HEADS, plain_rope(10000.0)),
          "slowed": llama(1, SLOWED)}


def layers(batches, cases):
    for batch, lengths, names in batches:
        yield f"{batch}/lengths", torch.tensor(lengths)
        yield f"{batch}/x", (x := normal(sum(lengths), C))
        yield f"{batch}/dy", (dy := normal(sum(lengths), C))
        for case in names:
            model = randomised(cases[case](), True)
            entries = list(entries_of(model))
            read = padded(x, lengths).requires_grad_()
            y = model(inputs_embeds=read, attention_mask=(~padding_mask(lengths)).long(),
                      use_cache=False).last_hidden_state
            y.backward(padded(dy, lengths))
            yield from values(entries, f"{batch}/{case}/value/").items()
            yield f"{batch}/{case}/y", packed(y, lengths)
            yield f"{batch}/{case}/dx", packed(read.grad, lengths)
            yield from gradients(entries, f"{batch}/{case}/gradient/").items()


def run(model):
    """The logits of some tokens."""
    lengths = [7, 1, 12]
    tokens = torch.arange(sum(lengths)) * 7 % VOCABULARY
    logits = model.double()(padded(tokens, lengths),
                            attention_mask=(~padding_mask(lengths)).long()).logits
    yield "tokens", tokens.int()
    yield "tokens_lengths", torch.tensor(lengths)
    yield "logits", packed(logits, lengths)


def main():
    torch.set_num_threads(1)
    write("nn/data/llama.safetensors", layers((("short", [7, 3, 5], ("grouped", "plain")),
                                               ("long", [130, 1, 67], ("grouped", "slowed"))), LLAMAS))
    # A folder as a user has it, and as tools/convert makes it weft's. The base is Llama 3's.
    folder = TESTS / "tools" / "data" / "llama"
    model = randomised(LlamaForCausalLM(config(HEADS // 2, plain_rope(500000.0))), True).float()
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    write("tools/data/llama.run.safetensors", run(model))
    with tempfile.TemporaryDirectory() as converted:
        subprocess.run([sys.executable, TESTS.parent / "tools" / "convert", "llama-to-weft", folder,
                        converted], check=True)
        shutil.copy(f"{converted}/model.safetensors", TESTS / "tools" / "data" / "llama.weft.safetensors")
    write("nn/data/qwen2.safetensors", layers((("short", [7, 3, 5], ("grouped",)),), {"grouped": qwen2}))


if __name__ == "__main__":
    main()
