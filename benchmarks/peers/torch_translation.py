# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The training step of benchmarks/translation_step.cpp in PyTorch, eager, with the same commands.

usage: torch_translation.py base|tiny SENTENCES SOURCE_LENGTH TARGET_LENGTH THREADS DROPOUT

`load FILE` takes the parameters that weft saved, so that both begin with the same numbers.
"""
import math
import resource
import sys
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

SHAPES = {
    "base": dict(C=512, H=8, F=2048, N=6, V=32000, norm_first=True, attention_bias=False,
                 tied=False),
    "tiny": dict(C=128, H=4, F=256, N=4, V=9712, norm_first=False, attention_bias=True, tied=True),
}


def words(rows, length, side, vocabulary, shift=0):
    i = torch.arange(rows * length).reshape(rows, length) + shift
    return 4 + (i * 7919 + side * 104729 + 13) % (vocabulary - 4)


class Model(nn.Module):
    def __init__(self, s, dropout):
        super().__init__()
        self.s = s
        self.source = nn.Embedding(s["V"], s["C"])
        self.target = self.source if s["tied"] else nn.Embedding(s["V"], s["C"])
        settings = dict(d_model=s["C"], nhead=s["H"], dim_feedforward=s["F"], dropout=dropout,
                        batch_first=True, norm_first=s["norm_first"])
        norm = lambda: nn.LayerNorm(s["C"]) if s["norm_first"] else None
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**settings), s["N"],
                                             norm(), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**settings), s["N"], norm())
        self.generator = nn.Linear(s["C"], s["V"], bias=False)
        if s["tied"]:
            self.generator.weight = self.source.weight
        self.dropout = nn.Dropout(dropout)
        t = torch.arange(512).unsqueeze(1)
        rates = torch.exp(torch.arange(0, s["C"], 2) * (-math.log(10000.0) / s["C"]))
        table = torch.zeros(512, s["C"])
        table[:, 0::2], table[:, 1::2] = torch.sin(t * rates), torch.cos(t * rates)
        self.register_buffer("positions", table)
        if not s["attention_bias"]:  # torch has no switch for these alone
            for name, parameter in self.named_parameters():
                if "attn" in name and "bias" in name:
                    parameter.data.zero_()
                    parameter.requires_grad_(False)

    def embed(self, table, ids):
        return self.dropout(table(ids) * math.sqrt(self.s["C"]) + self.positions[:ids.shape[1]])

    def forward(self, source, target):
        memory = self.encoder(self.embed(self.source, source))
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        out = self.decoder(self.embed(self.target, target), memory, tgt_mask=mask,
                           tgt_is_causal=True)
        return self.generator(out)

    @torch.no_grad()
    def load(self, path):
        weights = load_file(path)

        def attention(module, prefix):
            parts = [weights[f"{prefix}.{part}.weight"] for part in ("query", "key", "value")]
            module.in_proj_weight.copy_(torch.cat(parts))
            module.out_proj.weight.copy_(weights[f"{prefix}.output.weight"])
            if self.s["attention_bias"]:
                parts = [weights[f"{prefix}.{part}.bias"] for part in ("query", "key", "value")]
                module.in_proj_bias.copy_(torch.cat(parts))
                module.out_proj.bias.copy_(weights[f"{prefix}.output.bias"])

        def linear(module, prefix):
            module.weight.copy_(weights[f"{prefix}.weight"])
            module.bias.copy_(weights[f"{prefix}.bias"])

        self.source.weight.copy_(weights["source_embedding.weight"])
        if not self.s["tied"]:
            self.target.weight.copy_(weights["target_embedding.weight"])
            self.generator.weight.copy_(weights["generator.weight"])
        for side, stack in (("encoder", self.encoder), ("decoder", self.decoder)):
            for i, layer in enumerate(stack.layers):
                at = f"{side}.layers.{i}"
                attention(layer.self_attn, f"{at}.self_attention")
                linear(layer.norm1, f"{at}.self_attention.norm")
                last = layer.norm2
                if side == "decoder":
                    attention(layer.multihead_attn, f"{at}.cross_attention")
                    linear(layer.norm2, f"{at}.cross_attention.norm")
                    last = layer.norm3
                linear(layer.linear1, f"{at}.feed_forward.inner")
                linear(layer.linear2, f"{at}.feed_forward.outer")
                linear(last, f"{at}.feed_forward.norm")
            if stack.norm is not None:
                linear(stack.norm, f"{side}.norm")


def main():
    shape, sentences, source_length, target_length, threads, dropout = sys.argv[1:7]
    s = SHAPES[shape]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    model = Model(s, float(dropout))
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-4,
                                 betas=(0.9, 0.98), eps=1e-9)
    B, S, T = int(sentences), int(source_length), int(target_length)
    source = words(B, S, 0, s["V"])
    target, labels = words(B, T, 1, s["V"]), words(B, T, 1, s["V"], 1)

    def loss():
        logits = model(source, target)
        return F.cross_entropy(logits.reshape(-1, s["V"]), labels.reshape(-1), label_smoothing=0.1)

    for line in sys.stdin:
        command = line.split()
        if command[0] == "load":
            model.load(command[1])
            answer = "loaded"
        elif command[0] == "loss":
            model.eval()
            # With gradients on: without them torch takes another path through its layers.
            answer = f"{loss().item():.9g}"
            model.train()
        elif command[0] == "step":
            begin = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            loss().backward()
            optimizer.step()
            answer = f"{1000 * (time.perf_counter() - begin):.3f}"
        else:
            answer = str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        print(answer, flush=True)


if __name__ == "__main__":
    main()
