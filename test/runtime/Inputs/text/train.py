"""Makes the tokenizers that the oracle test compares: SmolLM2's own, and small
ones trained here, each with another pipeline. Training is deterministic."""

import json
import os
import random
import tarfile

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, processors, trainers)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def corpus():
    import oracle
    rng = random.Random(1)
    return [oracle.random_text(rng, []) for _ in range(3000)] + [
        "the time has come to make a long day of it ", "hello world  hello"
    ] * 20


def train(tokenizer, size, specials=(), alphabet=(), **options):
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False,
                                  special_tokens=list(specials),
                                  initial_alphabet=list(alphabet), **options)
    tokenizer.train_from_iterator(corpus(), trainer)


def byte_level(pattern, normalizer=None):
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    train(tokenizer, 1500, alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>",
                                  "<|eot_id|>"])
    tokenizer.add_tokens(["<tool>", AddedToken("Cafe\u0301", normalized=True)])
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(
            single="<|begin_of_text|> $A", special_tokens=[
                ("<|begin_of_text|>",
                 tokenizer.token_to_id("<|begin_of_text|>"))])])
    return tokenizer


def byte_tokens():
    return ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]


def sentencepiece(metaspace):
    """Llama 2 and its kin: no words, marks for spaces, bytes as a fallback."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>",
                                     fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    train(tokenizer, 1200, specials=byte_tokens(), limit_alphabet=80)
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
            prepend_scheme="first")
        # The decoder of the package takes all marks off the first token.
        tokenizer.decoder = decoders.Sequence([
            decoders.Replace("\u2581", " "), decoders.ByteFallback(),
            decoders.Fuse()])
    else:
        tokenizer.pre_tokenizer = None
        tokenizer.normalizer = normalizers.Sequence([
            normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
        tokenizer.decoder = decoders.Sequence([
            decoders.Replace("\u2581", " "), decoders.ByteFallback(),
            decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.add_tokens([AddedToken("<left>", lstrip=True),
                          AddedToken("<right>", rstrip=True),
                          AddedToken("word", single_word=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    return tokenizer


def steps():
    """Many steps at once, and an unknown token."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFKC(), normalizers.Replace(Regex(r"\s{2,}"), " "),
        normalizers.StripAccents(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(" ", "merged_with_previous"),
        pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.Digits(individual_digits=True)])
    tokenizer.decoder = decoders.Fuse()
    train(tokenizer, 900, specials=["<unk>"], limit_alphabet=120)
    tokenizer.add_special_tokens(["<unk>", "[PAD]"])
    return tokenizer


def words():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.NFD()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(),
        pre_tokenizers.Split(Regex(r"\d{2}+|[a-f&&[^c]]+x?"), "merged_with_next"),
        pre_tokenizers.Split(Regex(r"\b[\p{Han}\p{Hiragana}]|[^\w\s]"), "removed",
                             invert=False)])
    train(tokenizer, 900, specials=["<unk>"], limit_alphabet=150)
    tokenizer.add_tokens([AddedToken("the", single_word=True, lstrip=True,
                                     rstrip=True)])
    return tokenizer


def make(name, data, folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "tokenizer.json")
    if name == "smollm2":
        archive = os.path.join(data, "..", "..", "..", "Inputs",
                               "smollm2.tar.xz")
        with tarfile.open(archive) as files, open(path, "wb") as out:
            out.write(files.extractfile("smollm2/tokenizer.json").read())
        return
    tokenizer = {
        "llama3": lambda: byte_level(LLAMA3),
        "qwen2": lambda: byte_level(QWEN2, normalizers.NFC()),
        "gpt4o": lambda: byte_level(GPT4O),
        "sentencepiece": lambda: sentencepiece(False),
        "metaspace": lambda: sentencepiece(True),
        "steps": steps, "words": words}[name]()
    tokenizer.save(path, pretty=False)
    if name == "metaspace":
        # Merges as they were written until 2024.
        root = json.load(open(path, encoding="utf-8"))
        root["model"]["merges"] = [" ".join(m) for m in root["model"]["merges"]]
        with open(path, "w", encoding="utf-8") as out:
            json.dump(root, out)
