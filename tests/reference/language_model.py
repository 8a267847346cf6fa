# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The language model of examples/language_model in PyTorch: what its perplexities are held against.

    python3 language_model.py train.txt valid.txt test.txt [--epochs 3] [--mask causal|none] [--state FILE]

The same model and recipe: post-norm layers, the starting values' distributions, dropout everywhere,
columns and chunks of the corpus, SGD with clipping, the rate's decay. Dropout's and the starting
values' random numbers are PyTorch's own. With --state, a run that was interrupted goes on from the
last 500 batches' end. Needs torch.
"""

import argparse
import gzip
import math
import os
import time

import torch
from torch import nn

from basic_english import basic_english


def words_of(path):
    opened = gzip.open(path, "rt", encoding="utf-8", newline="\n") if path.endswith(".gz") else open(
        path, encoding="utf-8", newline="\n")
    with opened as lines:
        return [word for line in lines for word in basic_english(line)]


def columns_of(words, ids, columns):
    length = len(words) // columns
    flat = torch.tensor([ids.get(word, 0) for word in words[:length * columns]])
    return flat.view(columns, length)


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, options):
        super().__init__()
        width = options.d_model
        self.embedding = nn.Embedding(vocabulary, width)
        position = torch.arange(options.bptt).unsqueeze(1)
        divisor = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        sinusoids = torch.zeros(options.bptt, width)
        sinusoids[:, 0::2] = torch.sin(position * divisor)
        sinusoids[:, 1::2] = torch.cos(position * divisor)
        self.register_buffer("sinusoids", sinusoids)
        self.dropout = nn.Dropout(options.dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, options.heads, options.d_ff, options.dropout,
                                       batch_first=True) for _ in range(options.layers))
        self.generator = nn.Linear(width, vocabulary)
        self.causal = options.mask == "causal"
        for weight in (self.embedding.weight, self.generator.weight):
            nn.init.uniform_(weight, -0.1, 0.1)
        nn.init.zeros_(self.generator.bias)

    def forward(self, tokens):
        width = self.embedding.weight.shape[1]
        x = self.embedding(tokens) * math.sqrt(width) + self.sinusoids[:tokens.shape[1]]
        x = self.dropout(x)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1]) if self.causal else None
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=self.causal)
        return self.generator(x)


def chunks(columns, bptt, most):
    last = columns.shape[1] - 1
    for number, begin in enumerate(range(0, last, bptt)):
        if most and number == most:
            return
        end = min(begin + bptt, last)
        yield columns[:, begin:end], columns[:, begin + 1:end + 1].reshape(-1)


def loss_of(model, columns, options):
    """The mean loss of a token."""
    model.eval()
    total, tokens = 0.0, 0
    with torch.no_grad():
        for inputs, targets in chunks(columns, options.bptt, 0):
            logits = model(inputs).flatten(0, 1)
            total += nn.functional.cross_entropy(logits, targets, reduction="sum").item()
            tokens += targets.numel()
    return total / tokens


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs=3)
    parser.add_argument("--mask", choices=["causal", "none"], default="causal")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batches", type=int, default=0, help="an epoch at most; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    for name, value in dict(d_model=256, heads=4, d_ff=256, layers=4, bptt=25, batch=20).items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=value)
    for name, value in dict(dropout=0.2, rate=5.0, decay=0.95, clip=0.5).items():
        parser.add_argument("--" + name, type=float, default=value)
    parser.add_argument("--state", default="")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)

    train_words, valid_words, test_words = map(words_of, options.corpora)
    ids = {"<unk>": 0}
    for word in train_words:
        ids.setdefault(word, len(ids))
    train = columns_of(train_words, ids, options.batch)
    valid, test = columns_of(valid_words, ids, 10), columns_of(test_words, ids, 10)
    model = LanguageModel(len(ids), options)
    print(len(train_words), "words,", len(ids), "distinct,",
          sum(p.numel() for p in model.parameters()), "parameters", flush=True)

    optimizer = torch.optim.SGD(model.parameters(), lr=options.rate)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=options.decay)
    best = None
    first_epoch, done = 1, 0
    if options.state and os.path.exists(options.state):
        state = torch.load(options.state)
        first_epoch, done, best = state["epoch"], state["batch"], state["best"]
        model.load_state_dict(state["model"])
        schedule.load_state_dict(state["schedule"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])

    def save(epoch, batch):
        if options.state:
            torch.save({"epoch": epoch, "batch": batch, "best": best, "model": model.state_dict(),
                        "schedule": schedule.state_dict(), "optimizer": optimizer.state_dict(),
                        "random": torch.get_rng_state()}, options.state + ".new")
            os.replace(options.state + ".new", options.state)

    for epoch in range(first_epoch, options.epochs + 1):
        began = since = time.time()
        total = 0.0
        model.train()
        for batch, (inputs, targets) in enumerate(chunks(train, options.bptt, options.batches), 1):
            if epoch == first_epoch and batch <= done:
                continue
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), options.clip)
            optimizer.step()
            total += loss.item()
            if batch % 100 == 0:
                print(f"epoch {epoch} batch {batch} ms {10 * (time.time() - since):.1f} "
                      f"loss {total / 100:.3f}", flush=True)
                since, total = time.time(), 0.0
            if batch % 500 == 0:
                save(epoch, batch)
        loss = loss_of(model, valid, options)
        print(f"epoch {epoch} seconds {time.time() - began:.0f} valid loss {loss:.4f} "
              f"perplexity {math.exp(loss):.2f}", flush=True)
        if best is None or loss < best[0]:
            best = loss, {name: value.clone() for name, value in model.state_dict().items()}
        schedule.step()
        save(epoch + 1, 0)
    model.load_state_dict(best[1])
    loss = loss_of(model, test, options)
    print(f"test loss {loss:.4f} perplexity {math.exp(loss):.2f}")


if __name__ == "__main__":
    main()
