"""Compares the text library with the Python packages tokenizers and jinja2.

usage: oracle.py TOOL DATA WORK tokenizers|templates|all
TOOL is the helper TextTool, DATA this folder, WORK a folder for files.
"""

import datetime
import json
import os
import random
import subprocess
import sys


class Tool:
    """The helper, one JSON value a line."""

    def __init__(self, tool, folder):
        self.table = os.path.join(folder, "table.bin")
        subprocess.run([tool, "compile", folder, self.table], check=True,
                       stderr=subprocess.DEVNULL)
        self.command = [tool, "serve", self.table]

    def ask(self, requests):
        text = "\n".join(json.dumps(r, ensure_ascii=False) for r in requests) + "\n"
        done = subprocess.run(self.command, input=text.encode(), check=True,
                              stdout=subprocess.PIPE)
        answers = [json.loads(l) for l in done.stdout.decode().split("\n")[:-1]]
        assert len(answers) == len(requests), (len(answers), len(requests))
        return answers


class Failures:
    def __init__(self):
        self.count = 0

    def check(self, what, got, expected, context):
        if got == expected:
            return
        self.count += 1
        if self.count <= 10:
            print(f"MISMATCH {what}\n  of       {context!r}\n"
                  f"  got      {got!r}\n  expected {expected!r}")


WORDS = """the of and to in is you that it he was for on are as with his they
at be this have from or one had by word but not what all were we when your can
said there use an each which she do how their if will up other about out many
then them these so some her would make like him into time has look two more
write go see number no way could people my than first water been call who oil
its now find long down day did get come made may part""".split()
CODE = ["def f(x):\n    return x ** 2\n", "for (int i = 0; i < n; ++i) {\n",
        "\t\tif (!ptr) return NULL;", "#include <stdio.h>\r\n", "x += 0x1F3a;",
        "SELECT * FROM t WHERE a='b';", "{\"key\": [1, 2.5e-3, null]}",
        "lambda a, b=None, *c: a[b:-1]", "<div class=\"x\">&amp;</div>",
        "    // TODO(me): it's they'll we've I'M YOU'RE don't 'S 'LL"]
SPACES = [" ", "  ", "\t", "\n", "\n\n", " \n ", "\r\n", "\u00a0", "\u2003",
          "\u3000", "\u200b", "\u2028", "   \t  ", "\x0b", "\x85", "\u1680"]
ODD = ["caf\u00e9", "cafe\u0301", "\u1e9b\u0323", "\ufb01", "\u212b", "a\u030a",
       "q\u0323\u0307", "q\u0307\u0323", "\uac00\u11a8", "\u1112\u1161\u11ab",
       "\u0130", "\u00df", "\u01c5", "\u2167", "\u00b2", "\u0663", "\u096a",
       "\U0001d7d8", "\u0e17\u0e35\u0e48", "\u0928\u092e\u0938\u094d\u0924\u0947",
       "\u0645\u0631\u062d\u0628\u0627", "\u05e9\u05dc\u05d5\u05dd", "\u0301",
       "\u09be\u09c7", "\u0958", "\u2126", "\u0344", "\u1fef", "\ufa30",
       "\u0898\u0334", "\u1acf", "\U00011f41\u0334", "\U00016d67\U00016d67"]
EMOJI = ["\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
         "\U0001f1e9\U0001f1ea", "\u2764\ufe0f", "\U0001f44d\U0001f3fd",
         "\U0001faf6", "\u00a9", "\u2122", "\u20bf", "\U0001f9ff"]
CJK = ["\u4f60\u597d\u4e16\u754c", "\u65e5\u672c\u8a9e\u3067\u3059",
       "\ud55c\uad6d\uc5b4", "\u3002\u300c\u300d", "\U00020000\U0002a6d6",
       "\uff28\uff45\uff4c\uff4c\uff4f", "\uff11\uff12"]
NUMBERS = ["1", "12", "123", "1234567", "3.14159", "1,000,000", "2024-05-06",
           "0b1010", "\u0661\u0662\u0663", "\u00bd", "\u2460"]


def random_text(rng, specials):
    def character():
        kind = rng.random()
        if kind < 0.5:
            return chr(rng.randrange(0x20, 0x250))
        top = 0x10000 if kind < 0.9 else 0x110000
        while True:
            code = rng.randrange(top)
            if not 0xD800 <= code < 0xE000:
                return chr(code)

    kinds = [lambda: rng.choice(WORDS), lambda: " " + rng.choice(WORDS),
             lambda: rng.choice(WORDS).upper(), lambda: rng.choice(CODE),
             lambda: rng.choice(SPACES), lambda: rng.choice(ODD),
             lambda: rng.choice(EMOJI), lambda: rng.choice(CJK),
             lambda: rng.choice(NUMBERS), lambda: rng.choice("'\".,;:!?-_()[]"),
             lambda: " " * rng.randrange(1, 9), character,
             lambda: "".join(character() for _ in range(rng.randrange(1, 6))),
             lambda: rng.choice(specials) if specials else " ",
             lambda: rng.choice("ab ") * rng.randrange(1, 30)]
    weights = [8, 12, 2, 2, 3, 3, 2, 3, 3, 4, 2, 3, 1, 2, 1]
    return "".join(k() for k in
                   rng.choices(kinds, weights, k=rng.randrange(1, 14)))


def every_character(rng):
    """Each assigned character once, between letters and spaces."""
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and
             (c < 0x3400 or rng.random() < 0.02)]
    rng.shuffle(codes)
    for i in range(0, len(codes), 40):
        yield "".join(rng.choice(["", " ", "a", "1", "'"]) + chr(c)
                      for c in codes[i:i + 40])


def compare_tokenizer(tool, folder, name, lines, failures):
    import tokenizers
    reference = tokenizers.Tokenizer.from_file(
        os.path.join(folder, "tokenizer.json"))
    config = json.load(open(os.path.join(folder, "tokenizer.json"),
                            encoding="utf-8"))
    specials = [t["content"] for t in config["added_tokens"]]
    rng = random.Random(name)
    texts = [random_text(rng, specials) for _ in range(lines)]
    texts += specials + ["", " ", "a" * 5000, " " * 3000 + "x", "ab" * 3000]
    if lines >= 1000:
        texts += every_character(rng)
    library = Tool(tool, folder)
    requests, expected = [], []
    for i, text in enumerate(texts):
        special, around = i % 4 != 3, i % 3 == 0
        reference.encode_special_tokens = not special
        requests.append({"encode": text, "parse_special": special,
                         "add_special": around})
        expected.append(reference.encode(text, add_special_tokens=around).ids)
    for text, got, want in zip(texts, library.ask(requests), expected):
        failures.check(f"{name} encode", got, want, text)

    # And back: what was encoded, its parts, and ids at random.
    ids = [e[rng.randrange(3) if e and rng.random() < 0.2 else 0:]
           for e in expected]
    size = reference.get_vocab_size(with_added_tokens=True)
    ids += [[rng.randrange(size) for _ in range(rng.randrange(20))]
            for _ in range(lines // 10)]
    requests = [{"decode": e, "skip_special": i % 2 == 0}
                for i, e in enumerate(ids)]
    for e, request, got in zip(ids, requests, library.ask(requests)):
        want = reference.decode(e,
                                skip_special_tokens=request["skip_special"])
        failures.check(f"{name} decode", got, want, e)

    # A stream says the same piece by piece, where the text is whole.
    whole = expected[:lines // 5]
    streams = library.ask([{"stream": e} for e in whole])
    for e, got, text in zip(whole, streams,
                            library.ask([{"decode": e} for e in whole])):
        if "\ufffd" not in text:
            failures.check(f"{name} stream", "".join(got["pieces"]), text, e)
    print(f"{name}: {len(texts)} texts, {len(ids)} id lists")


def compare_templates(tool, data, work, failures):
    import jinja2
    import jinja2.ext
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(jinja2.ext.Extension):
        """As transformers marks what the assistant wrote."""
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"],
                                           drop_needle=True)
            call = self.call_method("_same")
            return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

        def _same(self, caller):
            return caller()

    now = 1718445600  # 15 June 2024

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None,
               sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent,
                          separators=separators, sort_keys=sort_keys)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True,
        extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = (
        lambda f: datetime.datetime.fromtimestamp(now).strftime(f))

    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    folder = os.path.join(data, "templates")
    for file in sorted(os.listdir(folder)):
        source = open(os.path.join(folder, file), encoding="utf-8",
                      newline="").read()
        place = os.path.join(work, "template-" + file)
        os.makedirs(place, exist_ok=True)
        for name in ("tokenizer.json",):
            with open(os.path.join(place, name), "w") as out:
                json.dump({"model": {"type": "BPE", "vocab": {"a": 0},
                                     "merges": []}}, out)
        with open(os.path.join(place, "tokenizer_config.json"), "w") as out:
            json.dump({**tokens, "chat_template": source}, out)
        library = Tool(tool, place)
        template = environment.from_string(source)
        requests = list(conversations(random.Random(file)))
        refused = 0
        for request, got in zip(requests, library.ask(
                [{**r, "now": now} for r in requests])):
            try:
                want = template.render(
                    messages=request["template"], tools=None, documents=None,
                    add_generation_prompt=request["add_generation_prompt"],
                    **tokens, **request["variables"])
            except jinja2.exceptions.TemplateError as error:
                refused += 1
                failures.check(f"{file} refuses", "error" in got, True,
                               (request, str(error), got))
                continue
            failures.check(file, got.get("text", got), want, request)
        print(f"{file}: {len(requests)} conversations, {refused} refused")


def conversations(rng):
    """50 of them: roles in order and out of order, odd contents."""
    contents = ["Hello!", "What is the capital of France?", "", "  spaces  ",
                "\n\nlines\n\n", "It's <b>bold</b> & \"quoted\"", "\u4f60\u597d \U0001f600",
                "<think>\nhmm\n</think>\n\nThe answer is 4.",
                "a\\b\tc {{ braces }} {% tag %}", "</think>x", "0", "\u00e9\u0130"]
    orders = [["user"], ["system", "user"], ["user", "assistant", "user"],
              ["system", "user", "assistant", "user"],
              ["user", "assistant", "user", "assistant"],
              ["system", "user", "assistant", "user", "assistant", "user"],
              ["assistant"], ["user", "user"], ["system"], [],
              ["user", "assistant", "assistant"], ["tool", "user"]]
    extras = [{}, {}, {"enable_thinking": False}, {"enable_thinking": True},
              {"date_string": "26 Jul 2024"}, {"tools_in_user_message": False},
              {"reasoning": "low", "budget": 7, "nothing": None}]
    for i in range(50):
        order = orders[i % len(orders) if i < 40 else rng.randrange(6)]
        yield {"template": [{"role": r, "content": rng.choice(contents)}
                            for r in order],
               "add_generation_prompt": rng.random() < 0.6,
               "variables": rng.choice(extras)}


def main():
    tool, data, work, what = sys.argv[1:5]
    failures = Failures()
    os.makedirs(work, exist_ok=True)
    if what in ("tokenizers", "all"):
        sys.path.insert(0, data)
        sys.dont_write_bytecode = True
        import train
        for name, lines in (("smollm2", 10000), ("sentencepiece", 10000),
                            ("llama3", 2000), ("qwen2", 2000), ("gpt4o", 1000),
                            ("metaspace", 1000), ("steps", 1000),
                            ("words", 1000)):
            folder = os.path.join(work, name)
            train.make(name, data, folder)
            compare_tokenizer(tool, folder, name, lines, failures)
    if what in ("templates", "all"):
        compare_templates(tool, data, work, failures)
    print(f"{failures.count} mismatches")
    return 1 if failures.count else 0


if __name__ == "__main__":
    sys.exit(main())
