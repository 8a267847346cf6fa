# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The layers of benchmarks/encoder.cpp in PyTorch: nn.TransformerEncoderLayer, pre-norm."""
import torch
from safetensors.torch import load_file
from torch import nn

from peer import Clock, Trainer, compiled, load_encoder_layer, memory, serve, settings

SHAPES = {"small": (128, 16, 512), "base": (512, 8, 2048)}


class Layers(nn.Module):
    def __init__(self, s):
        super().__init__()
        C, H, F = SHAPES[s["shape"]]
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(C, H, F, dropout=s["dropout"], batch_first=True,
                                       norm_first=True) for _ in range(s["layers"]))
        self.causal = s["causal"]

    def forward(self, x):
        # A mask that says that it is causal takes the kernel without a mask in memory.
        mask = (nn.Transformer.generate_square_subsequent_mask(x.shape[1]) if self.causal
                else None)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=self.causal)
        return x


def main():
    s = settings()
    C = SHAPES[s["shape"]][0]
    model = Layers(s)
    i = torch.arange(s["sequences"] * s["length"] * C)
    x = ((i * 7919 + 13) % 2001 / 500.0 - 2.0).float().reshape(s["sequences"], s["length"], C)
    loss_of = compiled(lambda x: model(x).square().mean(), s["variant"])
    trainer = None

    def load(path):
        nonlocal trainer
        weights = load_file(path)
        for number, layer in enumerate(model.layers):
            prefix = f"layers.{number}"
            load_encoder_layer(layer, weights, prefix)
        trainer = Trainer(model, s["variant"], torch.optim.Adam, lr=1e-3)
        return True

    def check():
        model.eval()
        loss = model(x).square().mean()
        loss.backward()
        norm = trainer.gradient_norm()
        trainer.clear()
        model.train()
        return [loss.item(), norm]

    def repeat():
        clock = Clock()
        loss = loss_of(x)
        forward = clock.lap()
        loss.backward()
        backward = clock.lap()
        trainer.step()
        return {"forward": forward, "backward": backward, "step": clock.lap()}

    serve({"load": load, "check": check, "repeat": repeat, "memory": memory})


main()
