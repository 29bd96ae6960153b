"""Compares the flags of every verb's --help with a table in Markdown.

    check-help.py SDC README.md
"""

import re
import subprocess
import sys

FLAG = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)")


def table_of(path):
    """{verb: flags} of the fenced block; "" holds those of every verb."""
    block = open(path).read().split("```")[1]
    table, verb = {}, None
    for line in block.splitlines():
        if line.startswith("every verb"):
            verb = ""
        elif line.startswith("sdc "):
            verb = line.split()[1]
        if verb is not None:
            # -O0 and -O2 are values of one option.
            flags = {re.sub(r"^-O\d$", "-O", f) for f in FLAG.findall(line)}
            table.setdefault(verb, set()).update(flags)
    return table


def help_of(sdc, verb):
    text = subprocess.run([sdc, verb, "--help"], check=True,
                          capture_output=True, text=True).stdout
    flags = set()
    for line in text.splitlines():
        # An option's line begins with its names; the rest is prose.
        match = re.match(r"\s+((?:--?[\w-]+,?)+)", line)
        if match:
            flags.update(FLAG.findall(match.group(1)))
    return flags


def main():
    sdc, path = sys.argv[1:3]
    table = table_of(path)
    common = table.pop("")
    text = subprocess.run([sdc, "--help"], check=True, capture_output=True,
                          text=True).stdout
    listed = set(re.findall(r"^  ([a-z]+) ", text, re.M))
    failed = False
    if listed != set(table):
        print("verbs:", sorted(listed ^ set(table)), "are in one place only")
        failed = True
    for verb, flags in sorted(table.items()):
        wanted, got = flags | common, help_of(sdc, verb)
        for flag in sorted(wanted - got):
            print(f"sdc {verb}: {flag} is in the table, not in the help")
            failed = True
        for flag in sorted(got - wanted):
            print(f"sdc {verb}: {flag} is in the help, not in the table")
            failed = True
    sys.exit(1 if failed else 0)


main()
