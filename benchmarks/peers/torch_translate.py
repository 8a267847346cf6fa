# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The translations of benchmarks/translate.cpp in PyTorch, eagerly. Keys and values of earlier words
are kept, and follow their translations by index_select; those of the source are made once, and read
by all translations of it, as queries of one sequence. torch_cached_bfloat16 holds the model in
bfloat16: under autocast weights would be rounded again for each word."""
import torch
import torch.nn.functional as F

from peer import Clock, memory, serve, settings
from torch_translation import SHAPES, Model, words

BOS, EOS = 2, 3
S = SHAPES["base"]
C, H, N, V = S["C"], S["H"], S["N"], S["V"]


def heads(x):
    """(B, T, C) as (B, H, T, C / H)."""
    return x.unflatten(-1, (H, C // H)).transpose(1, 2)


class CachedLayer:
    """A decoder layer of one more word at a time, with its keys and values."""

    def __init__(self, layer):
        self.layer = layer

    def begin(self, encoded, rows, longest):
        _, weight, bias = self.cross_projection()
        k, v = F.linear(encoded, weight, bias).chunk(2, -1)
        self.memory = heads(k).contiguous(), heads(v).contiguous()  # (B, H, S, C / H) each
        self.cache = encoded.new_empty(2, rows, H, longest, C // H)

    def cross_projection(self):
        weight, bias = (self.layer.multihead_attn.in_proj_weight,
                        self.layer.multihead_attn.in_proj_bias)
        return (weight[:C], bias[:C]), weight[C:], bias[C:]

    def reorder(self, parents, length):
        self.cache[:, :, :, :length] = self.cache[:, :, :, :length].index_select(1, parents)

    def step(self, x, length):
        """x: (rows, C), of which each source has as many."""
        layer = self.layer
        rows = x.shape[0]
        attention = layer.self_attn
        q, k, v = F.linear(layer.norm1(x), attention.in_proj_weight,
                           attention.in_proj_bias).view(rows, 3, H, C // H).unbind(1)
        self.cache[0, :rows, :, length], self.cache[1, :rows, :, length] = k, v
        keys, values = self.cache[:, :rows, :, :length + 1]
        y = F.scaled_dot_product_attention(q.unsqueeze(2), keys, values)
        x = x + attention.out_proj(y.reshape(rows, C))
        k, v = self.memory
        sources = k.shape[0]
        (weight, bias), _, _ = self.cross_projection()
        q = heads(F.linear(layer.norm2(x), weight, bias).view(sources, rows // sources, C))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        x = x + layer.multihead_attn.out_proj(y.reshape(rows, C))
        return x + layer.linear2(F.relu(layer.linear1(layer.norm3(x))))


class Translator:
    def __init__(self, model, beam, most_words):
        self.model, self.beam, self.most_words = model, beam, most_words
        self.layers = [CachedLayer(layer) for layer in model.decoder.layers]
        self.scale = C ** 0.5

    def logits(self, tokens, length):
        """(rows, V), of the next word of each translation."""
        x = self.model.target(tokens) * self.scale + self.model.positions[length]
        for layer in self.layers:
            x = layer.step(x, length)
        return self.model.generator(self.model.decoder.norm(x)).float()

    def begin(self, source):
        encoded = self.model.encoder(self.model.embed(self.model.source, source))
        for layer in self.layers:
            layer.begin(encoded, source.shape[0] * self.beam, self.most_words)
        return torch.full((source.shape[0],), BOS)

    def greedy(self, source, scored):
        """(B, words), and the sums of their logarithms if they are wanted."""
        tokens = self.begin(source)
        scores = torch.zeros(len(tokens))
        ended = torch.zeros(len(tokens), dtype=torch.bool)
        found = []
        for length in range(self.most_words):
            logits = self.logits(tokens, length)
            best, tokens = logits.max(-1)
            if scored:
                scores += torch.where(ended, 0.0, best - logits.logsumexp(-1))
            tokens = torch.where(ended, EOS, tokens)
            found.append(tokens)
            ended |= tokens == EOS
            if ended.all():
                break
        return torch.stack(found, 1), scores

    def search(self, source):
        """The same by beam search. A translation that ended keeps its place, and its score."""
        beam = self.beam
        tokens = self.begin(source)
        B = len(tokens)
        first_rows = torch.arange(B).unsqueeze(1) * beam
        scores, ended, found = torch.zeros(B, 1), None, None
        only_end = torch.full((V,), -torch.inf)
        only_end[EOS] = 0.0
        for length in range(self.most_words):
            logs = self.logits(tokens, length).log_softmax(-1).view(B, -1, V)
            if ended is not None and ended.any():
                logs = torch.where(ended.view(B, beam, 1), only_end, logs)
            scores, best = (logs + scores.unsqueeze(-1)).flatten(1).topk(beam)
            tokens = (best % V).flatten()
            if length == 0:  # from one translation of each source to `beam`
                found = tokens.unsqueeze(1)
                ended = tokens == EOS
                parents = torch.arange(B).repeat_interleave(beam)
            else:
                parents = (first_rows + best // V).flatten()
                found = torch.cat([found.index_select(0, parents), tokens.unsqueeze(1)], 1)
                ended = ended.index_select(0, parents) | (tokens == EOS)
            if ended.all():
                break
            for layer in self.layers:
                layer.reorder(parents, length + 1)
        return found.view(B, beam, -1)[:, 0], scores[:, 0]

    @torch.inference_mode()
    def __call__(self, source, scored=False):
        return self.greedy(source, scored) if self.beam == 1 else self.search(source)


def main():
    s = settings()
    source = words(s["sentences"], s["source_length"], 0, V)
    model = Model(S, 0.0).eval()
    translate = Translator(model, s["beam"], s["most_words"])

    def load(path):
        model.load(path)
        if s["variant"].endswith("bfloat16"):
            model.bfloat16()
        return True

    def check():
        found, scores = translate(source, scored=True)
        return {"translations": found.tolist(), "scores": scores.tolist()}

    def repeat():
        clock = Clock()
        translate(source)
        return {"translate": clock.lap()}

    serve({"load": load, "check": check, "repeat": repeat, "memory": memory})


main()
