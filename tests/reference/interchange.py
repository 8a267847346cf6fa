# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Writes models of PyTorch and of Hugging Face, and what they compute, for tools/convert's tests.

    python3 interchange.py        writes tests/tools/data/

Made with torch 2.15.0, transformers 5.23.0, numpy 2.4.6 and safetensors 0.8.0. Parameters are
random numbers of float32, and for MarianMT learnt ones of float16. What nn.Transformer computes is computed in float64 and
rounded once; what MarianMT generates is generated in float32, as its users do.
"""
import json
import math
import pathlib
import subprocess
import sys

import numpy
import torch
from safetensors.torch import save_file
from torch import nn
from sentencepiece import sentencepiece_model_pb2
from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

from parity import causal_mask, packed, padded, padding_mask

DATA = pathlib.Path(__file__).resolve().parents[1] / "tools" / "data"
CONVERT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "convert"
C, HEADS, D_FF, VOCABULARY, LONGEST = 12, 2, 20, 17, 9

random = numpy.random.default_rng(2027)


def normal(*shape, scale=1.0):
    return torch.from_numpy((random.standard_normal(shape) * scale).astype(numpy.float32))


def randomise(module):
    """Every parameter, so that none is 0 or 1."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.dim() == 2:
                parameter.copy_(normal(*parameter.shape, scale=1 / math.sqrt(parameter.shape[1])))
            else:
                centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
                parameter.copy_(normal(*parameter.shape, scale=0.2) + centre)
    return module


def convert(*arguments):
    subprocess.run([sys.executable, CONVERT, *arguments], check=True)


def save(name, tensors):
    save_file({key: value.contiguous() for key, value in tensors.items()}, DATA / name)


# nn.Transformer


class Translator(nn.Module):
    """The modules and the names of PyTorch's tutorial on translation with nn.Transformer."""

    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(C, HEADS, 2, 2, D_FF, dropout=0.0, activation="gelu",
                                          batch_first=True, norm_first=True)
        self.generator = nn.Linear(C, VOCABULARY)
        self.src_tok_emb, self.tgt_tok_emb = nn.Module(), nn.Module()
        self.src_tok_emb.embedding = nn.Embedding(VOCABULARY, C)
        self.tgt_tok_emb.embedding = nn.Embedding(VOCABULARY, C)
        angles = torch.arange(LONGEST)[:, None] * 10000.0 ** (-torch.arange(0, C, 2).double() / C)
        table = torch.stack([angles.sin(), angles.cos()], dim=2).reshape(LONGEST, 1, C)
        self.positional_encoding = nn.Module()
        self.positional_encoding.register_buffer("pos_embedding", table)

    def embedded(self, embedding, tokens):
        positions = self.positional_encoding.pos_embedding[:tokens.shape[1], 0]
        return embedding.embedding(tokens) * math.sqrt(C) + positions


def transformed(model, source, target, lengths):
    source_padding = padding_mask(lengths["source"])
    return model(source, target, tgt_mask=causal_mask(target.shape[1]),
                 src_key_padding_mask=source_padding, memory_key_padding_mask=source_padding,
                 tgt_key_padding_mask=padding_mask(lengths["target"]))


def of_transformers():
    lengths = {"source": [5, 3, 7], "target": [4, 7, 2]}
    counts = {name: sum(values) for name, values in lengths.items()}
    inputs = {f"{name}_lengths": torch.tensor(values) for name, values in lengths.items()}

    # As it is by default: norms behind the branches, and behind the stacks too; ReLU.
    model = randomise(nn.Transformer(C, HEADS, 2, 2, D_FF, dropout=0.0, batch_first=True))
    state = {name: value.clone() for name, value in model.state_dict().items()}
    save("nn_transformer.torch.safetensors", state)
    convert("torch-to-weft", DATA / "nn_transformer.torch.safetensors",
            DATA / "nn_transformer.weft.safetensors")
    source, target = normal(counts["source"], C), normal(counts["target"], C)
    output = transformed(model.double(), padded(source.double(), lengths["source"]),
                         padded(target.double(), lengths["target"]), lengths)
    save("nn_transformer.run.safetensors", {
        **inputs, "source": source, "target": target,
        "output": packed(output, lengths["target"]).detach().float()})

    translator = randomise(Translator())
    state = {name: value.float().clone() for name, value in translator.state_dict().items()}
    save("translator.torch.safetensors", state)
    convert("torch-to-weft", DATA / "translator.torch.safetensors",
            DATA / "translator.weft.safetensors", "--prefix", "transformer.",
            "--rename", "source_embedding.weight=src_tok_emb.embedding.weight",
            "--rename", "target_embedding.weight=tgt_tok_emb.embedding.weight",
            "--drop", "positional_encoding.pos_embedding")
    source, target = (torch.from_numpy(random.integers(0, VOCABULARY, counts[side]))
                      for side in ("source", "target"))
    translator.double()
    output = transformed(
        translator.transformer,
        translator.embedded(translator.src_tok_emb, padded(source, lengths["source"])),
        translator.embedded(translator.tgt_tok_emb, padded(target, lengths["target"])), lengths)
    logits = packed(translator.generator(output), lengths["target"])
    save("translator.run.safetensors", {**inputs, "source": source.int(), "target": target.int(),
                                        "logits": logits.detach().float()})

    names = {"nn_transformer": model, "translator": translator}
    (DATA / "names.json").write_text(json.dumps(
        {name: {key: list(value.shape) for key, value in module.state_dict().items()}
         for name, module in names.items()}) + "\n")


# MarianMT

PIECES, END, UNKNOWN, PAD = 40, 0, 1, 39
STEPS = 150


def marian_config(**sizes):
    return MarianConfig(activation_function="swish", scale_embedding=True, pad_token_id=PAD,
                        eos_token_id=END, decoder_start_token_id=PAD, forced_eos_token_id=END,
                        **sizes)


def translation(source):
    """What the model learns: each word becomes one other, or two, or with 2 none."""
    target = []
    for number in source:
        if number != 2:
            target.append(2 + (7 * number) % 37)
        if number % 3 == 0:
            target.append(2 + (11 * number + 5) % 37)
    return target


def random_sources(count):
    return [random.integers(2, PAD, random.integers(1, 13)).tolist() for _ in range(count)]


def batch_of(rows):
    """Token numbers with padding behind their ends, and a mask of what is none."""
    ids = torch.full((len(rows), max(map(len, rows)) + 1), PAD)
    for i, row in enumerate(rows):
        ids[i, :len(row) + 1] = torch.tensor([*row, END])
    lengths = torch.tensor([len(row) for row in rows])[:, None]
    return ids, torch.arange(ids.shape[1])[None, :] <= lengths


def write_marian(folder):
    """A model that has learnt a little: it has an opinion, and its translations end."""
    torch.manual_seed(7)
    model = MarianMTModel(marian_config(
        vocab_size=PIECES, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
        decoder_ffn_dim=48, max_position_embeddings=40, init_std=0.15, dropout=0.0))
    with torch.no_grad():
        model.final_logits_bias.copy_(normal(1, PIECES))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(STEPS):
        sources = random_sources(48)
        ids, mask = batch_of(sources)
        labels, counted = batch_of([translation(source) for source in sources])
        loss = model(input_ids=ids, attention_mask=mask.long(),
                     labels=labels.masked_fill(~counted, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1}: loss {loss.item():.3f}")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # biases that few steps leave near 0
                parameter.add_(normal(*parameter.shape, scale=0.02))
        model.final_logits_bias[0, PAD] += 12.0  # what is forbidden becomes probable
    model.eval()
    # What the generation_config.json of opus-mt models says.
    model.generation_config = GenerationConfig(
        bad_words_ids=[[PAD]], decoder_start_token_id=PAD, eos_token_id=END,
        forced_eos_token_id=END, max_length=24, num_beams=4, pad_token_id=PAD,
        renormalize_logits=True)
    model.half().save_pretrained(folder)
    words = {"</s>": END, "<unk>": UNKNOWN, "<pad>": PAD}
    for number in range(PIECES):
        if number not in (END, UNKNOWN, PAD):
            words[("\u2581" if number % 3 else "") + "ä" * (number % 2) + f"p{number}"] = number
    (folder / "vocab.json").write_text(json.dumps(words, ensure_ascii=False, indent=0) + "\n")


def translations(model, sources, **options):
    ids, mask = batch_of(sources)
    rows = model.generate(input_ids=ids, attention_mask=mask.long(), **options).tolist()
    return [row[1:row.index(END)] for row in rows]


# generate's options, and those of translate_marian that should find the same.
RUNS = [
    ({}, []),
    ({"num_beams": 1}, ["--beam", "1"]),
    ({"length_penalty": 0.6}, ["--length-penalty", "0.6"]),
    ({"num_beams": 3, "length_penalty": 2.0, "max_length": 8},
     ["--beam", "3", "--length-penalty", "2", "--max-length", "8"]),
    ({"num_beams": 6, "length_penalty": 0.0}, ["--beam", "6", "--length-penalty", "0"]),
    ({"renormalize_logits": False}, ["--renormalize", "0"]),
    ({"early_stopping": True, "min_new_tokens": 1, "max_length": 40},
     ["--rules", "fairseq", "--max-length", "40"]),
]


def decided(folder, sources):
    """Those sources whose translations stay when all weights change by some 1e-4 of themselves."""
    def runs(model):
        return [translations(model, sources, **options) for options, _ in RUNS]

    model = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
    found = runs(model)
    keep = set(range(len(sources)))
    for _ in range(4):
        other = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
        with torch.no_grad():
            for parameter in (*other.parameters(), other.final_logits_bias):
                parameter.mul_(1 + normal(*parameter.shape, scale=1e-4))
        for is_, should in zip(runs(other), found):
            keep -= {i for i, (a, b) in enumerate(zip(is_, should)) if a != b}
    # fairseq's rules agree but where the greatest length is reached.
    keep -= {i for i, row in enumerate(found[-1]) if len(row) >= 30}
    return [source for i, source in enumerate(sources) if i in keep], [
        [row for i, row in enumerate(rows) if i in keep] for rows in found]


def write_sentence_piece(path, pieces):
    """A model that cuts a sentence into as few of these pieces as it can."""
    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type = sentencepiece_model_pb2.TrainerSpec.UNIGRAM
    model.normalizer_spec.name = "identity"
    kinds = sentencepiece_model_pb2.ModelProto.SentencePiece
    for special, kind in (("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)):
        model.pieces.add(piece=special, score=0.0, type=kind)
    for piece in pieces:
        model.pieces.add(piece=piece, score=-1.0)
    path.write_bytes(model.SerializeToString())


def of_sentences(folder, sources):
    """Text in, text out: what transformers makes of sentences with the folder's tokenizer."""
    words = json.loads((folder / "vocab.json").read_text())
    names = {number: name for name, number in words.items()}
    pieces = [name for name in words if not name.startswith("<")]
    # One piece that the vocabulary lacks.
    write_sentence_piece(folder / "source.spm", [*pieces, "\u2581q"])
    write_sentence_piece(folder / "target.spm", pieces)
    tokenizer = MarianTokenizer.from_pretrained(folder)
    lines = ["".join(names[number] for number in row).replace("\u2581", " ") for row in sources]
    lines += ["", "  p2   p4 ", "p8 q p10", "p8 Wort p10", ">>de<< p2 p4", ">>de<<p14äp3", ">> p2 p4"]
    rows = [tokenizer(line).input_ids[:-1] for line in lines]
    rows, (found, *_) = decided(folder, rows)
    kept = [line for line in lines if tokenizer(line).input_ids[:-1] in rows]
    print(f"{len(kept)} of {len(lines)} sentences are decided")
    assert len(kept) >= len(lines) - 2 and any(UNKNOWN in row for row in rows)
    (folder / "sentences.json").write_text(json.dumps(
        [{"sentence": line, "pieces": tokenizer.convert_ids_to_tokens(row),
          "translation": tokenizer.decode(translated, skip_special_tokens=True,
                                          use_source_tokenizer=False)}
         for line, row, translated in zip(kept, rows, found, strict=True)],
        ensure_ascii=False, indent=0) + "\n")


def of_marian():
    folder = DATA / "marian"
    write_marian(folder)
    sources = [[2], [2, 2], *random_sources(30)]
    kept, found = decided(folder, sources)
    print(f"{len(kept)} of {len(sources)} sources are decided")
    for (options, _), rows in zip(RUNS, found):
        print(options, "lengths", sorted(map(len, rows)))
    assert len(kept) >= 24 and [] in found[0], "choose other weights"
    assert all(rows != other for i, rows in enumerate(found) for other in found[:i])
    (folder / "translations.json").write_text(json.dumps(
        {"sources": kept, "runs": [{"generate": options, "arguments": arguments, "found": rows}
                                   for (options, arguments), rows in zip(RUNS, found)]}) + "\n")
    of_sentences(folder, kept)
    # The names and shapes of a model as large as opus-mt's, which are many.
    large = MarianMTModel(marian_config(
        vocab_size=PIECES, d_model=512, encoder_layers=6, decoder_layers=6,
        encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048,
        decoder_ffn_dim=2048, max_position_embeddings=512))
    (DATA / "opus_mt_names.json").write_text(json.dumps(
        {name: list(value.shape) for name, value in large.state_dict().items()}) + "\n")


def main():
    torch.set_num_threads(1)
    DATA.mkdir(parents=True, exist_ok=True)
    of_transformers()
    of_marian()
    for path in sorted(DATA.rglob("*.*")):
        print(f"{path.relative_to(DATA)}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
