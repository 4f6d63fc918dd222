"""Make names.txt.gz and nfkc.txt.gz from the Unicode 15.0 data of Python 3.12.

usage: python3.12 generate.py [FILE]

FILE, of any form, holds candidates for name aliases (the UCD file
NameAliases.txt will do); those that Python knows are taken. The data are those
of the Unicode Character Database, under the Unicode License v3.

names.txt holds "NAME;hex" lines, sorted by name, without the CJK ideographs
and Hangul syllables, whose names are made by rule. nfkc.txt holds the full
compatibility decompositions ("d code codes..."), the combining classes
("c code class") and the primary composites ("p first second composite"),
without Hangul.
"""

import gzip
import re
import sys
import unicodedata

BY_RULE = ("CJK UNIFIED IDEOGRAPH-", "HANGUL SYLLABLE ")


def characters():
    for c in range(0x110000):
        if not 0xD800 <= c < 0xE000:
            yield chr(c)


def names(candidates):
    table = {}
    for ch in characters():
        name = unicodedata.name(ch, None)
        if name is not None and not name.startswith(BY_RULE):
            table[name] = ord(ch)
    for name in map(str.strip, re.split(r"[\n\t;]", candidates)):
        if re.fullmatch(r"[A-Z0-9 \-]+", name) and not name.startswith(BY_RULE):
            try:
                found = unicodedata.lookup(name)
            except KeyError:
                continue
            if len(found) == 1:
                table[name] = ord(found)
    return ["%s;%x" % item for item in sorted(table.items())]


def nfkc():
    decomposed, classes, composites = [], [], []
    for ch in characters():
        hangul = 0xAC00 <= ord(ch) <= 0xD7A3
        full = unicodedata.normalize("NFKD", ch)
        if full != ch and not hangul:
            decomposed.append("d %x %s" % (ord(ch), " ".join("%x" % ord(x) for x in full)))
        if unicodedata.combining(ch):
            classes.append("c %x %x" % (ord(ch), unicodedata.combining(ch)))
        pair = unicodedata.decomposition(ch).split()
        if len(pair) == 2 and pair[0][0] != "<" and not hangul and unicodedata.normalize("NFC", ch) == ch:
            composites.append("p %s %s %x" % (pair[0].lower(), pair[1].lower(), ord(ch)))
    return decomposed + classes + composites


def write(path, lines):
    with open(path, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as g:
        g.write(("\n".join(lines) + "\n").encode())


assert unicodedata.unidata_version == "15.0.0"
write("names.txt.gz", names(open(sys.argv[1]).read() if len(sys.argv) > 1 else ""))
write("nfkc.txt.gz", nfkc())
