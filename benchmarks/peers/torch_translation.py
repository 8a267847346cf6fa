# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The training step of benchmarks/translation_step.cpp in PyTorch."""
import math

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

from peer import Trainer, load_attention, load_linear, serve_step, settings
from positions import sinusoids

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
        self.register_buffer("positions", sinusoids(512, s["C"]))
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
        self.source.weight.copy_(weights["source_embedding.weight"])
        if not self.s["tied"]:
            self.target.weight.copy_(weights["target_embedding.weight"])
            self.generator.weight.copy_(weights["generator.weight"])
        for side, stack in (("encoder", self.encoder), ("decoder", self.decoder)):
            for i, layer in enumerate(stack.layers):
                at = f"{side}.layers.{i}"
                load_attention(layer.self_attn, weights, f"{at}.self_attention")
                load_linear(layer.norm1, weights, f"{at}.self_attention.norm")
                last = layer.norm2
                if side == "decoder":
                    load_attention(layer.multihead_attn, weights, f"{at}.cross_attention")
                    load_linear(layer.norm2, weights, f"{at}.cross_attention.norm")
                    last = layer.norm3
                load_linear(layer.linear1, weights, f"{at}.feed_forward.inner")
                load_linear(layer.linear2, weights, f"{at}.feed_forward.outer")
                load_linear(last, weights, f"{at}.feed_forward.norm")
            if stack.norm is not None:
                load_linear(stack.norm, weights, f"{side}.norm")


def main():
    settings_ = settings()
    s = SHAPES[settings_["shape"]]
    model = Model(s, settings_["dropout"])
    B, S, T = (settings_[name] for name in ("sentences", "source_length", "target_length"))
    source = words(B, S, 0, s["V"])
    target, labels = words(B, T, 1, s["V"]), words(B, T, 1, s["V"], 1)

    def loss():
        logits = model(source, target)
        return F.cross_entropy(logits.reshape(-1, s["V"]), labels.reshape(-1), label_smoothing=0.1)

    serve_step(model, loss, settings_["variant"],
               lambda: Trainer(model, settings_["variant"], torch.optim.Adam, lr=1e-4,
                               betas=(0.9, 0.98), eps=1e-9))


if __name__ == "__main__":
    main()
